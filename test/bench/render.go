// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/cloudinit"
)

// rendered is how many cloud-configs are rendered.
const rendered = 1000

// node is a node as in Oracle Japan's tutorial on GPU clusters, with all that takes a script.
func node(n int) cloudinit.Config {
	nvme := cloudinit.DefaultNVMe()
	return cloudinit.Config{
		Shape: "BM.GPU4.8", OS: "ol8", Timezone: "Asia/Tokyo", GrowRoot: true,
		Firewall:        &cloudinit.Firewall{},
		NVMe:            &nvme,
		RDMA:            &cloudinit.RDMA{Mode: cloudinit.RDMAManual, Authentication: "image"},
		Limits:          map[string]string{"memlock": "unlimited"},
		ContainerEngine: &cloudinit.ContainerEngine{},
		Runcmd:          []string{"echo node " + strconv.Itoa(n)},
	}
}

// rendering measures cloud_init_config without Terraform.
func (o options) rendering() error {
	t := newTable(fmt.Sprintf("Rendering %d cloud-configs of %d kB (medians)", rendered, len(cloudinit.Render(node(0)).Rendered)/1000),
		"", "s", "processor s")
	for _, form := range []struct {
		name string
		use  func(cloudinit.Config)
	}{
		{"checked", func(c cloudinit.Config) { cloudinit.Validate(c) }},
		{"rendered, base64, sha256", func(c cloudinit.Config) { cloudinit.Render(c) }},
		{"gzip_base64 as well", func(c cloudinit.Config) { cloudinit.Render(c).GzipBase64() }},
	} {
		var elapsed, used []sample
		for range o.runs {
			begun, before := time.Now(), processorSeconds()
			for n := range rendered {
				form.use(node(n))
			}
			elapsed = append(elapsed, sample{seconds: time.Since(begun).Seconds()})
			used = append(used, sample{seconds: processorSeconds() - before})
		}
		t.row(form.name, seconds(median(elapsed)), seconds(median(used)))
	}
	return t.Flush()
}

// processorSeconds is what this process has used: it tells of the work where the machine has other work, too.
func processorSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
