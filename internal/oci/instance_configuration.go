// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// Metadata keys with a meaning to OCI's images.
const (
	sshKeysKey  = "ssh_authorized_keys"
	userDataKey = "user_data"
)

// MaxMetadataBytes is OCI's limit for the metadata of an instance, keys and values together.
const MaxMetadataBytes = 32_000

// rdmaPlugins of the agent configure and authenticate the RDMA interfaces of a node.
var rdmaPlugins = []string{"Compute HPC RDMA Authentication", "Compute HPC RDMA Auto-Configuration"}

// AllMetadata is what an instance is launched with.
func (l Launch) AllMetadata() map[string]string {
	all := maps.Clone(l.Metadata)
	if all == nil {
		all = map[string]string{}
	}
	if l.SSHAuthorizedKeys != "" {
		all[sshKeysKey] = l.SSHAuthorizedKeys
	}
	if l.UserData != "" {
		all[userDataKey] = l.UserData
	}
	return all
}

// createConfiguration makes the instance configuration of a cluster and gives its OCID.
func (s *Clusters) createConfiguration(ctx context.Context, spec Spec) (string, error) {
	details := spec.launchDetails()
	digest, err := launchDigest(*details)
	if err != nil {
		return "", err
	}
	details.FreeformTags[LaunchTag] = digest
	return s.storeConfiguration(ctx, spec, details)
}

func (s *Clusters) storeConfiguration(ctx context.Context, spec Spec, details *core.InstanceConfigurationLaunchInstanceDetails) (string, error) {
	response, err := change(ctx, s.Clients, s.ComputeManagement.CreateInstanceConfiguration, core.CreateInstanceConfigurationRequest{
		CreateInstanceConfiguration: core.CreateInstanceConfigurationDetails{
			CompartmentId:   &spec.CompartmentID,
			DisplayName:     &spec.DisplayName,
			FreeformTags:    spec.tagged(),
			DefinedTags:     spec.DefinedTags,
			InstanceDetails: core.ComputeInstanceDetails{LaunchDetails: details},
		},
		OpcRetryToken: common.String(uuid.NewString()),
	})
	if err != nil {
		return "", fmt.Errorf("create the instance configuration: %w", err)
	}
	return value(response.Id), nil
}

func (s Spec) launchDetails() *core.InstanceConfigurationLaunchInstanceDetails {
	source := core.InstanceConfigurationInstanceSourceViaImageDetails{ImageId: &s.Launch.ImageID}
	if s.Launch.BootVolumeSizeInGBs != 0 {
		source.BootVolumeSizeInGBs = &s.Launch.BootVolumeSizeInGBs
	}
	if s.Launch.BootVolumeVPUsPerGB != 0 {
		source.BootVolumeVpusPerGB = &s.Launch.BootVolumeVPUsPerGB
	}
	details := &core.InstanceConfigurationLaunchInstanceDetails{
		CompartmentId:      &s.CompartmentID,
		AvailabilityDomain: &s.Placement.AvailabilityDomain,
		Shape:              &s.Launch.Shape,
		Metadata:           s.Launch.AllMetadata(),
		SourceDetails:      source,
		CreateVnicDetails:  &core.InstanceConfigurationCreateVnicDetails{NsgIds: s.Launch.NSGIDs},
		FreeformTags:       s.tagged(),
		DefinedTags:        s.DefinedTags,
		InstanceOptions: &core.InstanceConfigurationInstanceOptions{
			AreLegacyImdsEndpointsDisabled: common.Bool(true),
		},
	}
	if s.Interconnect == ClusterNetwork {
		details.AgentConfig = &core.InstanceConfigurationLaunchInstanceAgentConfigDetails{PluginsConfig: rdmaPluginConfig()}
	}
	return details
}

func rdmaPluginConfig() []core.InstanceAgentPluginConfigDetails {
	var plugins []core.InstanceAgentPluginConfigDetails
	for _, name := range rdmaPlugins {
		plugins = append(plugins, core.InstanceAgentPluginConfigDetails{
			Name: &name, DesiredState: core.InstanceAgentPluginConfigDetailsDesiredStateEnabled,
		})
	}
	return plugins
}

// launch reads back how the nodes of a configuration are launched. A configuration that somebody deleted
// gives an empty one.
func (s *Clusters) launch(ctx context.Context, configurationID string) (Launch, error) {
	details, err := s.launchOf(ctx, configurationID)
	if err != nil || details == nil {
		return Launch{}, err
	}
	launch := Launch{
		Shape:             value(details.Shape),
		SSHAuthorizedKeys: details.Metadata[sshKeysKey],
		UserData:          details.Metadata[userDataKey],
		Metadata:          maps.Clone(details.Metadata),
	}
	delete(launch.Metadata, sshKeysKey)
	delete(launch.Metadata, userDataKey)
	if details.CreateVnicDetails != nil {
		launch.NSGIDs = details.CreateVnicDetails.NsgIds
	}
	if source, ok := details.SourceDetails.(core.InstanceConfigurationInstanceSourceViaImageDetails); ok {
		launch.ImageID = value(source.ImageId)
		launch.BootVolumeSizeInGBs = value(source.BootVolumeSizeInGBs)
		launch.BootVolumeVPUsPerGB = value(source.BootVolumeVpusPerGB)
	}
	return launch, nil
}

// deleteConfiguration removes a configuration. OCI refuses while it still counts a pool that uses it,
// for a moment longer than there is one.
func (s *Clusters) deleteConfiguration(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, s.Grace)
	defer cancel()
	var refused error
	err := s.Waiter.Until(ctx, func(ctx context.Context) (bool, error) {
		_, err := change(ctx, s.Clients, s.ComputeManagement.DeleteInstanceConfiguration,
			core.DeleteInstanceConfigurationRequest{InstanceConfigurationId: &id})
		switch KindOf(err) {
		case NotFound:
			return true, nil
		case Conflict:
			refused = err
			return false, nil
		default:
			return err == nil, err
		}
	})
	if err != nil && refused != nil {
		err = refused
	}
	if err != nil {
		return fmt.Errorf("delete instance configuration %s: %w", id, err)
	}
	return nil
}

// configurations gives the OCIDs of the configurations that carry a cluster's token: the current one,
// and what an interrupted change left behind.
func (s *Clusters) configurations(ctx context.Context, compartmentID, token string) ([]string, error) {
	var ids []string
	request := core.ListInstanceConfigurationsRequest{CompartmentId: &compartmentID, Limit: common.Int(pageSize)}
	for token != "" {
		response, err := read(ctx, s.Clients, s.ComputeManagement.ListInstanceConfigurations, request)
		if err != nil {
			return nil, fmt.Errorf("list instance configurations: %w", err)
		}
		for _, item := range response.Items {
			if item.FreeformTags[MarkerTag] == token {
				ids = append(ids, value(item.Id))
			}
		}
		if request.Page = response.OpcNextPage; request.Page == nil {
			break
		}
	}
	return ids, nil
}
