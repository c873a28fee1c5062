// SPDX-License-Identifier: MPL-2.0

package ocisim

import "github.com/oracle/oci-go-sdk/v65/core"

// bootVolumeGB is the size of a boot volume unless a launch asks for another: that of platform images.
const bootVolumeGB = 47

// launchDefaults is an instance as far as its launch need not tell: what OCI shows for every field that
// was left out.
func launchDefaults(o *offeredShape) map[string]any {
	volume, network, mode := core.LaunchOptionsBootVolumeTypeParavirtualized, core.LaunchOptionsNetworkTypeParavirtualized, core.InstanceLaunchModeParavirtualized
	if o.bareMetal() {
		volume, network, mode = core.LaunchOptionsBootVolumeTypeIscsi, core.LaunchOptionsNetworkTypeVfio, core.InstanceLaunchModeNative
	}
	return map[string]any{
		"launchMode": mode,
		"launchOptions": map[string]any{
			"bootVolumeType": volume, "networkType": network, "remoteDataVolumeType": volume,
			"firmware": core.LaunchOptionsFirmwareUefi64, "isPvEncryptionInTransitEnabled": false, "isConsistentVolumeNamingEnabled": true,
		},
		"instanceOptions":    map[string]any{"areLegacyImdsEndpointsDisabled": false},
		"availabilityConfig": map[string]any{"recoveryAction": core.InstanceAvailabilityConfigRecoveryActionRestoreInstance},
		"agentConfig": map[string]any{"isMonitoringDisabled": false, "isManagementDisabled": false, "areAllPluginsDisabled": false,
			"pluginsConfig": []any{}},
		"platformConfig":   platformDefaults(o.PlatformConfigOptions),
		"metadata":         map[string]any{},
		"extendedMetadata": map[string]any{},
		"systemTags":       map[string]any{},
		// Nothing has security attributes here.
		"securityAttributes":      map[string]any{},
		"securityAttributesState": core.InstanceSecurityAttributesStateStable,
	}
}

// newInstance is an instance as its launch asks for it, on the shape's defaults.
func newInstance(p placed) (core.Instance, error) {
	asked, err := convert[map[string]any](p.LaunchInstanceDetails)
	if err != nil {
		return core.Instance{}, err
	}
	i := launchDefaults(p.shape)
	overlay(i, asked)
	i["sourceDetails"] = core.InstanceSourceViaImageDetails{ImageId: p.image} // The volume tells its size itself.
	return convert[core.Instance](i)
}
