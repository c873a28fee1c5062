// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestFindImage(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, func(c *ocisim.Config) {
		c.Images = nil
		for _, name := range []string{"OL8-GPU-2025.01", "OL8-GPU-2025.07", "OL8-2025.09", "OL9-GPU-2025.03"} {
			c.Images = append(c.Images, ocisim.Image{
				ID: "ocid1.image.oc1.us-lab-1." + strings.ToLower(name), DisplayName: name,
				OperatingSystem: "Oracle Linux", OperatingSystemVersion: name[2:3],
			})
		}
	})
	s := clusters(t, region, nil)
	in := func(version, pattern string) oci.ImageSelector {
		return oci.ImageSelector{
			CompartmentID: acctest.CompartmentID, OperatingSystem: "Oracle Linux", OperatingSystemVersion: version,
			DisplayNamePattern: pattern, Shape: acctest.Shape,
		}
	}
	for name, test := range map[string]struct {
		selector oci.ImageSelector
		want     string
		texts    []string // of the error
	}{
		"newest of all":        {oci.ImageSelector{CompartmentID: acctest.CompartmentID}, "OL9-GPU-2025.03", nil},
		"newest of a version":  {in("8", ""), "OL8-2025.09", nil},
		"newest of a name":     {in("8", `^OL8-GPU-\d{4}\.\d{2}$`), "OL8-GPU-2025.07", nil},
		"no such name":         {in("8", "^Ubuntu"), "", []string{`"^Ubuntu"`, "Oracle Linux 8", acctest.Shape, "OL8-2025.09\n  OL8-GPU-2025.07"}},
		"no such system":       {in("7", ""), "", []string{"Oracle Linux 7", "check the operating system"}},
		"not a pattern at all": {in("8", "("), "", []string{"missing closing )"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image, err := s.FindImage(t.Context(), test.selector)
			if image.DisplayName != test.want || (err == nil) != (test.want != "") {
				t.Fatalf("found %+v, error %v", image, err)
			}
			if err == nil && (image.ID == "" || image.TimeCreated.IsZero() || image.OperatingSystem != "Oracle Linux") {
				t.Errorf("found %+v", image)
			}
			for _, text := range test.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
			var none *oci.NoImageError
			if err != nil && errors.As(err, &none) == (name == "not a pattern at all") {
				t.Errorf("error is %v", err)
			}
		})
	}
}
