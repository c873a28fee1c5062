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
	details, err := s.launchDetails(ctx, spec)
	if err != nil {
		return "", err
	}
	return s.storeConfiguration(ctx, spec, core.ComputeInstanceDetails{LaunchDetails: details})
}

// storeConfiguration makes an instance configuration for the spec's cluster.
func (s *Clusters) storeConfiguration(ctx context.Context, spec Spec, instance core.ComputeInstanceDetails) (string, error) {
	response, err := change(ctx, s.Clients, s.ComputeManagement.CreateInstanceConfiguration, core.CreateInstanceConfigurationRequest{
		CreateInstanceConfiguration: core.CreateInstanceConfigurationDetails{
			CompartmentId:   &spec.CompartmentID,
			DisplayName:     &spec.DisplayName,
			FreeformTags:    spec.tagged(),
			DefinedTags:     spec.DefinedTags,
			InstanceDetails: instance,
		},
		OpcRetryToken: common.String(uuid.NewString()),
	})
	if err != nil {
		return "", fmt.Errorf("create the instance configuration: %w", err)
	}
	return value(response.Id), nil
}

func (s *Clusters) launchDetails(ctx context.Context, spec Spec) (*core.InstanceConfigurationLaunchInstanceDetails, error) {
	launch := spec.Launch
	platform, err := s.platformConfig(ctx, spec)
	if err != nil {
		return nil, err
	}
	source := core.InstanceConfigurationInstanceSourceViaImageDetails{ImageId: &launch.ImageID}
	if launch.BootVolumeSizeInGBs != 0 {
		source.BootVolumeSizeInGBs = &launch.BootVolumeSizeInGBs
	}
	if launch.BootVolumeVPUsPerGB != 0 {
		source.BootVolumeVpusPerGB = &launch.BootVolumeVPUsPerGB
	}
	details := &core.InstanceConfigurationLaunchInstanceDetails{
		CompartmentId:      &spec.CompartmentID,
		AvailabilityDomain: &spec.Placement.AvailabilityDomain,
		Shape:              &launch.Shape,
		Metadata:           launch.AllMetadata(),
		SourceDetails:      source,
		CreateVnicDetails:  &core.InstanceConfigurationCreateVnicDetails{NsgIds: launch.NSGIDs},
		FreeformTags:       spec.launchTags(),
		DefinedTags:        spec.DefinedTags,
		InstanceOptions: &core.InstanceConfigurationInstanceOptions{
			AreLegacyImdsEndpointsDisabled: common.Bool(true),
		},
		PlatformConfig: platform,
		AgentConfig:    spec.agentConfig(),
	}
	if spec.Interconnect == ComputeCluster { // A pool says itself in which subnet its nodes are.
		details.CreateVnicDetails.SubnetId = &spec.Placement.SubnetID
	}
	if launch.CapacityReservationID != "" {
		details.CapacityReservationId = &launch.CapacityReservationID
	}
	return details, nil
}

// readLaunch fills in how the nodes of a cluster are launched. Nothing is known of that when somebody
// deleted its configuration, or made it from options that have no one launch.
func (s *Clusters) readLaunch(ctx context.Context, c *Cluster) error {
	details, err := s.detailsOf(ctx, c.ConfigurationID)
	if err != nil || details == nil {
		return err
	}
	c.Launch = launchOf(details)
	c.Launch.Plugins = c.pluginsOf(details.AgentConfig)
	if vnic := details.CreateVnicDetails; c.Interconnect == ComputeCluster && vnic != nil {
		c.Placement.SubnetID = value(vnic.SubnetId)
	}
	return nil
}

func launchOf(details *core.InstanceConfigurationLaunchInstanceDetails) Launch {
	launch := Launch{
		Shape:                 value(details.Shape),
		SSHAuthorizedKeys:     details.Metadata[sshKeysKey],
		UserData:              details.Metadata[userDataKey],
		Metadata:              maps.Clone(details.Metadata),
		CapacityReservationID: value(details.CapacityReservationId),
		Platform:              platformOf(details.PlatformConfig),
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
	return launch
}

// HasConfiguration says whether an instance configuration still exists.
func (s *Clusters) HasConfiguration(ctx context.Context, id string) (bool, error) {
	c, err := s.configuration(ctx, id)
	return c != nil, err
}

// configuration reads an instance configuration; nil when there is none of that OCID, or no OCID.
func (s *Clusters) configuration(ctx context.Context, id string) (*core.InstanceConfiguration, error) {
	if id == "" {
		return nil, nil
	}
	response, err := read(ctx, s.Clients, s.ComputeManagement.GetInstanceConfiguration,
		core.GetInstanceConfigurationRequest{InstanceConfigurationId: &id})
	if KindOf(err) == NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read instance configuration %s: %w", id, err)
	}
	return &response.InstanceConfiguration, nil
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
	if token == "" {
		return nil, nil
	}
	all, err := s.listConfigurations(ctx, compartmentID)
	var ids []string
	for _, item := range all {
		if item.FreeformTags[MarkerTag] == token {
			ids = append(ids, value(item.Id))
		}
	}
	return ids, err
}

func (c *Clients) listConfigurations(ctx context.Context, compartmentID string) ([]core.InstanceConfigurationSummary, error) {
	all, err := collect(pages(func(page *string) ([]core.InstanceConfigurationSummary, *string, error) {
		response, err := read(ctx, c, c.ComputeManagement.ListInstanceConfigurations, core.ListInstanceConfigurationsRequest{
			CompartmentId: &compartmentID, Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	}))
	if err != nil {
		return nil, fmt.Errorf("list instance configurations: %w", err)
	}
	return all, nil
}
