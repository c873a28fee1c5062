// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// images of the lab: its own, and some that are named as Oracle's platform images are, for configurations
// that choose by operating system, version and time. A host's root is this machine's own in any case.
func images(id string) []ocisim.Image {
	list := []ocisim.Image{{ID: id, DisplayName: "ocihpc-lab-gpu", OperatingSystem: "Linux", OperatingSystemVersion: "lab"}}
	var gpu []string
	for _, s := range shape.All() {
		if s.GPUs.V > 0 {
			gpu = append(gpu, s.Name)
		}
	}
	for _, d := range []struct {
		name, os, version string
		shapes            []string
	}{
		{"Oracle-Linux-9.6", "Oracle Linux", "9", nil},
		{"Oracle-Linux-9.6-Gen2-GPU", "Oracle Linux", "9", gpu},
		{"Oracle-Linux-8.10", "Oracle Linux", "8", nil},
		{"Oracle-Linux-8.10-Gen2-GPU", "Oracle Linux", "8", gpu},
		{"Canonical-Ubuntu-24.04", "Canonical Ubuntu", "24.04", nil},
		{"Canonical-Ubuntu-22.04", "Canonical Ubuntu", "22.04", nil},
	} {
		for month := time.June; month <= time.September; month++ {
			at := time.Date(2026, month, 15, 0, 0, 0, 0, time.UTC)
			list = append(list, ocisim.Image{DisplayName: d.name + at.Format("-2006.01.02-0"), OperatingSystem: d.os,
				OperatingSystemVersion: d.version, TimeCreated: at, Shapes: d.shapes})
		}
	}
	return list
}
