// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func addImages(c *ocisim.Config) {
	add := func(name, version string, month time.Month, shapes ...string) {
		c.Images = append(c.Images, ocisim.Image{ID: "ocid1.image.oc1.us-lab-1." + name, DisplayName: name, OperatingSystem: "Oracle Linux",
			OperatingSystemVersion: version, TimeCreated: time.Date(2025, month, 1, 0, 0, 0, 0, time.UTC), Shapes: shapes})
	}
	add("Oracle-Linux-8.10-Gen2-GPU-2025.08.31-0", "8", time.August, gpuShape)
	add("Oracle-Linux-8.10-Gen2-GPU-2025.03.31-0", "8", time.March, gpuShape)
	add("Oracle-Linux-8.10-Gen2-GPU-2025.05.31-0", "8", time.May, gpuShape)
	add("Oracle-Linux-8.10-Gen2-GPU-2025.01.31-0", "8", time.January, gpuShape)
	add("Oracle-Linux-9.6-2025.06.30-0", "9", time.June)
}

func TestListImages(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) {
		c.Images = nil
		addImages(c)
	})
	const gpu = "Oracle-Linux-8.10-Gen2-GPU-2025."
	for what, c := range map[string]struct {
		q    core.ListImagesRequest
		want []string
	}{
		"newest first, three of each distribution": {want: []string{gpu + "08.31-0", "Oracle-Linux-9.6-2025.06.30-0", gpu + "05.31-0", gpu + "03.31-0"}},
		"by version": {q: core.ListImagesRequest{OperatingSystem: common.String("Oracle Linux"), OperatingSystemVersion: common.String("9")},
			want: []string{"Oracle-Linux-9.6-2025.06.30-0"}},
		"by shape": {q: core.ListImagesRequest{Shape: common.String(vmShape)}, want: []string{"Oracle-Linux-9.6-2025.06.30-0"}},
		"by name":  {q: core.ListImagesRequest{DisplayName: common.String(gpu + "05.31-0")}, want: []string{gpu + "05.31-0"}},
		"oldest first": {q: core.ListImagesRequest{SortOrder: core.ListImagesSortOrderAsc, OperatingSystemVersion: common.String("8")},
			want: []string{gpu + "03.31-0", gpu + "05.31-0", gpu + "08.31-0"}},
		"sorted by name": {q: core.ListImagesRequest{SortBy: core.ListImagesSortByDisplayname, SortOrder: core.ListImagesSortOrderDesc},
			want: []string{"Oracle-Linux-9.6-2025.06.30-0", gpu + "08.31-0", gpu + "05.31-0", gpu + "03.31-0"}},
		"by state": {q: core.ListImagesRequest{LifecycleState: core.ImageLifecycleStateDisabled}},
	} {
		c.q.CompartmentId = common.String(compartmentID)
		list, err := r.compute.ListImages(t.Context(), c.q)
		must(t, err)
		var names []string
		for _, i := range list.Items {
			names = append(names, *i.DisplayName)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s: got %v, want %v", what, names, c.want)
		}
	}
}

// TestOldImage is not listed any more, but can be read and launched.
func TestOldImage(t *testing.T) {
	t.Parallel()
	r := newRegion(t, addImages)
	old := common.String("ocid1.image.oc1.us-lab-1.Oracle-Linux-8.10-Gen2-GPU-2025.01.31-0")
	got, err := r.compute.GetImage(t.Context(), core.GetImageRequest{ImageId: old})
	must(t, err)
	wantEqual(t, "month", got.TimeCreated.Month(), time.January)
	d := gpuDetails(nil)
	d.SourceDetails = core.InstanceSourceViaImageDetails{ImageId: old}
	r.launch(t, d)
	d = vmDetails()
	d.SourceDetails = core.InstanceSourceViaImageDetails{ImageId: old}
	_, err = r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	wantError(t, err, 400, "InvalidParameter")
	if text := "Shape " + vmShape + " is not valid for image " + *old; !strings.Contains(err.Error(), text) {
		t.Errorf("%v does not say %s", err, text)
	}
	shapes, err := r.compute.ListImageShapeCompatibilityEntries(t.Context(), core.ListImageShapeCompatibilityEntriesRequest{ImageId: old})
	must(t, err)
	wantEqual(t, "compatible shapes", len(shapes.Items), 1)
	_, err = r.compute.GetImageShapeCompatibilityEntry(t.Context(), core.GetImageShapeCompatibilityEntryRequest{ImageId: old, ShapeName: common.String(vmShape)})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
	entry, err := r.compute.GetImageShapeCompatibilityEntry(t.Context(), core.GetImageShapeCompatibilityEntryRequest{ImageId: old, ShapeName: common.String(gpuShape)})
	must(t, err)
	wantEqual(t, "shape", *entry.Shape, gpuShape)
	compatible, err := r.compute.ListShapes(t.Context(), core.ListShapesRequest{CompartmentId: common.String(compartmentID), ImageId: old})
	must(t, err)
	wantEqual(t, "shapes for the image", len(compatible.Items), 1)
}

func TestPlatformOptions(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Shapes = nil })
	want := map[string]struct{ kind, nps, quotas string }{
		"BM.GPU4.8":           {"AMD_ROME_BM_GPU", "NPS4", "gpu4-count"},
		"BM.GPU.A100-v2.8":    {"AMD_MILAN_BM_GPU", "NPS4", "gpu-a100-v2-count"},
		"BM.GPU.H100.8":       {"GENERIC_BM", "NPS1", "gpu-h100-count"},
		"BM.Optimized3.36":    {"INTEL_ICELAKE_BM", "NPS1", "optimized3-core-count"},
		"BM.HPC2.36":          {"GENERIC_BM", "NPS1", "hpc2-core-count"},
		"VM.Standard.E4.Flex": {"AMD_VM", "", "standard-e4-core-count standard-e4-memory-count"},
	}
	list, err := r.compute.ListShapes(t.Context(), core.ListShapesRequest{CompartmentId: common.String(compartmentID), AvailabilityDomain: common.String(domain)})
	must(t, err)
	for _, s := range list.Items {
		w, found := want[*s.Shape]
		if !found {
			continue
		}
		delete(want, *s.Shape)
		wantEqual(t, *s.Shape, string(s.PlatformConfigOptions.Type), w.kind)
		wantEqual(t, *s.Shape, strings.Join(s.QuotaNames, " "), w.quotas)
		if nps := s.PlatformConfigOptions.NumaNodesPerSocketPlatformOptions; nps != nil {
			wantEqual(t, *s.Shape, *nps.DefaultValue, w.nps)
		} else {
			wantEqual(t, *s.Shape, "", w.nps)
		}
	}
	wantEqual(t, "shapes that are missing", len(want), 0)
}

func TestPlatformDefaults(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	i := r.launch(t, gpuDetails(nil))
	wantEqual(t, "NPS", i.PlatformConfig.(core.AmdRomeBmGpuPlatformConfig).NumaNodesPerSocket, core.AmdRomeBmGpuPlatformConfigNumaNodesPerSocketNps4)
	wantEqual(t, "boot volume type", i.LaunchOptions.BootVolumeType, core.LaunchOptionsBootVolumeTypeIscsi)
	wantEqual(t, "legacy endpoints", *i.InstanceOptions.AreLegacyImdsEndpointsDisabled, false)
	wantEqual(t, "monitoring", *i.AgentConfig.IsMonitoringDisabled, false)
	d := gpuDetails(nil)
	d.PlatformConfig = core.AmdRomeBmGpuLaunchInstancePlatformConfig{IsSymmetricMultiThreadingEnabled: common.Bool(false)}
	got := r.launch(t, d).PlatformConfig.(core.AmdRomeBmGpuPlatformConfig)
	wantEqual(t, "threads", *got.IsSymmetricMultiThreadingEnabled, false)
	wantEqual(t, "NPS", got.NumaNodesPerSocket, core.AmdRomeBmGpuPlatformConfigNumaNodesPerSocketNps4)
	d.PlatformConfig = core.AmdRomeBmGpuLaunchInstancePlatformConfig{NumaNodesPerSocket: core.AmdRomeBmGpuLaunchInstancePlatformConfigNumaNodesPerSocketNps6}
	_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	wantError(t, err, 400, "InvalidParameter")
}
