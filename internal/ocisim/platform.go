// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// flexiblePlatforms are those of the flexible shapes; the shape catalog has those of the fixed ones.
var flexiblePlatforms = map[string]core.ShapePlatformConfigOptionsTypeEnum{
	"VM.Standard.E4.Flex": core.ShapePlatformConfigOptionsTypeAmdVm,
	"VM.Standard.E5.Flex": core.ShapePlatformConfigOptionsTypeAmdVm,
	"VM.Standard3.Flex":   core.ShapePlatformConfigOptionsTypeIntelVm,
}

// numaNodes are the NPS values that a platform takes, its default first.
var numaNodes = map[core.ShapePlatformConfigOptionsTypeEnum][]core.ShapeNumaNodesPerSocketPlatformOptionsAllowedValuesEnum{
	core.ShapePlatformConfigOptionsTypeAmdRomeBmGpu:   {"NPS4", "NPS0", "NPS1", "NPS2"},
	core.ShapePlatformConfigOptionsTypeAmdMilanBmGpu:  {"NPS4", "NPS0", "NPS1", "NPS2"},
	core.ShapePlatformConfigOptionsTypeIntelIcelakeBm: {"NPS1", "NPS2"},
	core.ShapePlatformConfigOptionsTypeIntelSkylakeBm: {"NPS1", "NPS2"},
	core.ShapePlatformConfigOptionsTypeGenericBm:      {"NPS1", "NPS0", "NPS2", "NPS4"},
}

// platformOptions are what a shape with a type of platform lets users choose; that of most hosts is GENERIC_BM.
func platformOptions(kind core.ShapePlatformConfigOptionsTypeEnum) *core.ShapePlatformConfigOptions {
	kind = cmp.Or(kind, core.ShapePlatformConfigOptionsTypeGenericBm)
	both := []bool{false, true}
	o := &core.ShapePlatformConfigOptions{
		Type:                           kind,
		SecureBootOptions:              &core.ShapeSecureBootOptions{AllowedValues: both, IsDefaultEnabled: ptr(false)},
		MeasuredBootOptions:            &core.ShapeMeasuredBootOptions{AllowedValues: both, IsDefaultEnabled: ptr(false)},
		TrustedPlatformModuleOptions:   &core.ShapeTrustedPlatformModuleOptions{AllowedValues: both, IsDefaultEnabled: ptr(false)},
		MemoryEncryptionOptions:        &core.ShapeMemoryEncryptionOptions{AllowedValues: both, IsDefaultEnabled: ptr(false)},
		SymmetricMultiThreadingOptions: &core.ShapeSymmetricMultiThreadingEnabledPlatformOptions{AllowedValues: both, IsDefaultEnabled: ptr(true)},
	}
	if nps, bareMetal := numaNodes[kind]; bareMetal {
		o.NumaNodesPerSocketPlatformOptions = &core.ShapeNumaNodesPerSocketPlatformOptions{AllowedValues: nps, DefaultValue: ptr(string(nps[0]))}
		o.AccessControlServiceOptions = &core.ShapeAccessControlServiceEnabledPlatformOptions{AllowedValues: both, IsDefaultEnabled: ptr(false)}
		o.VirtualInstructionsOptions = &core.ShapeVirtualInstructionsEnabledPlatformOptions{AllowedValues: both, IsDefaultEnabled: ptr(false)}
		o.InputOutputMemoryManagementUnitOptions = &core.ShapeInputOutputMemoryManagementUnitEnabledPlatformOptions{
			AllowedValues: both, IsDefaultEnabled: ptr(false)}
		o.PercentageOfCoresEnabledOptions = &core.PercentageOfCoresEnabledOptions{Min: ptr(1), Max: ptr(100), DefaultValue: ptr(100)}
	}
	return o
}

// platformDefaults are the settings of an instance that asks for none.
func platformDefaults(o *core.ShapePlatformConfigOptions) map[string]any {
	d := map[string]any{
		"type": o.Type, "isSecureBootEnabled": false, "isMeasuredBootEnabled": false, "isTrustedPlatformModuleEnabled": false,
		"isMemoryEncryptionEnabled": false, "isSymmetricMultiThreadingEnabled": true,
	}
	if nps := o.NumaNodesPerSocketPlatformOptions; nps != nil {
		d["numaNodesPerSocket"] = *nps.DefaultValue
		d["isAccessControlServiceEnabled"], d["areVirtualInstructionsEnabled"] = false, false
		d["isInputOutputMemoryManagementUnitEnabled"], d["percentageOfCoresEnabled"] = false, 100
	}
	return d
}

// checkPlatform refuses settings that the shape has not.
func checkPlatform(asked any, o *core.ShapePlatformConfigOptions) error {
	if asked == nil {
		return nil
	}
	const path = "platformConfig"
	settings, err := convert[struct {
		Type               core.ShapePlatformConfigOptionsTypeEnum                      `json:"type"`
		NumaNodesPerSocket core.ShapeNumaNodesPerSocketPlatformOptionsAllowedValuesEnum `json:"numaNodesPerSocket"`
		PercentageOfCores  *int                                                         `json:"percentageOfCoresEnabled"`
	}](asked)
	if err != nil {
		return err
	}
	if settings.Type != o.Type {
		return invalid(path+".type", "the shape has %s, not %s", o.Type, settings.Type)
	}
	if nps := numaNodes[o.Type]; settings.NumaNodesPerSocket != "" && !slices.Contains(nps, settings.NumaNodesPerSocket) {
		return invalid(path+".numaNodesPerSocket", "the shape takes %v, not %s", nps, settings.NumaNodesPerSocket)
	}
	if p := settings.PercentageOfCores; p != nil && (*p < 1 || *p > 100) {
		return invalid(path+".percentageOfCoresEnabled", "%d is not in 1 to 100", *p)
	}
	return nil
}

// quotaNames are the limits that instances of a shape count against: of GPUs, or of OCPUs and, on flexible
// shapes, of memory. Oracle's list of compute quotas has those of older shapes; newer ones follow its pattern.
func quotaNames(shape string, gpus int) []string {
	parts := strings.Split(strings.ToLower(shape), ".")
	series := strings.Join(parts[1:len(parts)-1], "-")
	switch {
	case gpus > 0:
		return []string{series + "-count"}
	case parts[len(parts)-1] == "flex":
		return []string{series + "-core-count", series + "-memory-count"}
	}
	return []string{series + "-core-count"}
}
