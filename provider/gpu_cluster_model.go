// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

type gpuClusterModel struct {
	ID                      types.String   `tfsdk:"id"`
	CompartmentID           types.String   `tfsdk:"compartment_id"`
	AvailabilityDomain      types.String   `tfsdk:"availability_domain"`
	SubnetID                types.String   `tfsdk:"subnet_id"`
	Shape                   types.String   `tfsdk:"shape"`
	Interconnect            types.String   `tfsdk:"interconnect"`
	PlacementConstraint     types.String   `tfsdk:"placement_constraint"`
	ComputeClusterID        types.String   `tfsdk:"compute_cluster_id"`
	HPCIslandID             types.String   `tfsdk:"hpc_island_id"`
	NetworkBlockIDs         types.Set      `tfsdk:"network_block_ids"`
	DisplayName             types.String   `tfsdk:"display_name"`
	Size                    types.Int64    `tfsdk:"size"`
	ImageID                 types.String   `tfsdk:"image_id"`
	Image                   types.Object   `tfsdk:"image"`
	CapacityReservationID   types.String   `tfsdk:"capacity_reservation_id"`
	AgentPlugins            types.Map      `tfsdk:"agent_plugins"`
	PlatformConfig          types.Object   `tfsdk:"platform_config"`
	NSGIDs                  types.Set      `tfsdk:"nsg_ids"`
	SSHAuthorizedKeys       types.String   `tfsdk:"ssh_authorized_keys"`
	UserData                types.String   `tfsdk:"user_data"`
	Metadata                types.Map      `tfsdk:"metadata"`
	BootVolumeSizeInGBs     types.Int64    `tfsdk:"boot_volume_size_in_gbs"`
	BootVolumeVPUsPerGB     types.Int64    `tfsdk:"boot_volume_vpus_per_gb"`
	FreeformTags            types.Map      `tfsdk:"freeform_tags"`
	DefinedTags             types.Map      `tfsdk:"defined_tags"`
	UpdateStrategy          types.String   `tfsdk:"update_strategy"`
	MaxUnavailable          types.Int64    `tfsdk:"max_unavailable"`
	RemoveNodes             types.Set      `tfsdk:"remove_nodes"`
	ReplaceNodes            types.Set      `tfsdk:"replace_nodes"`
	ReportUnhealthy         types.Bool     `tfsdk:"report_unhealthy"`
	Preflight               types.Bool     `tfsdk:"preflight"`
	InstancePoolID          types.String   `tfsdk:"instance_pool_id"`
	InstanceConfigurationID types.String   `tfsdk:"instance_configuration_id"`
	State                   types.String   `tfsdk:"state"`
	TimeCreated             types.String   `tfsdk:"time_created"`
	CurrentSize             types.Int64    `tfsdk:"current_size"`
	StaleNodes              types.List     `tfsdk:"stale_nodes"`
	Nodes                   types.List     `tfsdk:"nodes"`
	Timeouts                timeouts.Value `tfsdk:"timeouts"`
}

// clusterNodeType is the type of one element of nodes.
var clusterNodeType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"id": types.StringType, "display_name": types.StringType, "hostname": types.StringType,
	"private_ip": types.StringType, "fault_domain": types.StringType, "state": types.StringType,
	"time_created": types.StringType,
}}

// platformType is the type of platform_config.
var platformType = map[string]attr.Type{
	"numa_nodes_per_socket": types.StringType, "is_symmetric_multi_threading_enabled": types.BoolType,
}

// toAPI gives the cluster that the user wants.
func (m *gpuClusterModel) toAPI() oci.Spec {
	return oci.Spec{
		CompartmentID: m.CompartmentID.ValueString(),
		DisplayName:   m.DisplayName.ValueString(),
		Interconnect:  oci.Interconnect(m.Interconnect.ValueString()),
		Size:          int(m.Size.ValueInt64()),
		Placement: oci.Placement{
			AvailabilityDomain: m.AvailabilityDomain.ValueString(),
			SubnetID:           m.SubnetID.ValueString(),
			Constraint:         m.PlacementConstraint.ValueString(),
			ComputeClusterID:   m.ComputeClusterID.ValueString(),
			HPCIslandID:        m.HPCIslandID.ValueString(),
			NetworkBlockIDs:    stringsOf(m.NetworkBlockIDs.Elements()),
		},
		Launch: oci.Launch{
			Shape:                 m.Shape.ValueString(),
			ImageID:               m.ImageID.ValueString(),
			SSHAuthorizedKeys:     m.SSHAuthorizedKeys.ValueString(),
			UserData:              m.UserData.ValueString(),
			Metadata:              stringMapOf(m.Metadata),
			NSGIDs:                stringsOf(m.NSGIDs.Elements()),
			BootVolumeSizeInGBs:   m.BootVolumeSizeInGBs.ValueInt64(),
			BootVolumeVPUsPerGB:   m.BootVolumeVPUsPerGB.ValueInt64(),
			CapacityReservationID: m.CapacityReservationID.ValueString(),
			Plugins:               boolMapOf(m.AgentPlugins),
			Platform:              m.platform(),
		},
		FreeformTags: stringMapOf(m.FreeformTags),
		DefinedTags:  m.definedTags(),
	}
}

// change gives what an update shall bring about.
func (m *gpuClusterModel) change(state *gpuClusterModel) oci.Change {
	change := oci.Change{
		Want:            m.toAPI(),
		Managed:         state.tags(),
		Relaunch:        m.relaunches(state),
		Remove:          stringsOf(m.RemoveNodes.Elements()),
		Replace:         stringsOf(m.ReplaceNodes.Elements()),
		ReportUnhealthy: m.ReportUnhealthy.ValueBool(),
	}
	if m.rolls() {
		change.MaxUnavailable = int(max(1, m.MaxUnavailable.ValueInt64()))
	}
	return change
}

func (m *gpuClusterModel) rolls() bool { return m.UpdateStrategy.ValueString() == rolling }

func (m *gpuClusterModel) platform() oci.Platform {
	attributes := m.PlatformConfig.Attributes()
	numa, _ := attributes["numa_nodes_per_socket"].(types.String)
	threads, _ := attributes["is_symmetric_multi_threading_enabled"].(types.Bool)
	return oci.Platform{NUMANodesPerSocket: numa.ValueString(), SimultaneousMultithreading: threads.ValueBoolPointer()}
}

// tags gives the tags that the user manages.
func (m *gpuClusterModel) tags() oci.Tags {
	return oci.Tags{Freeform: stringMapOf(m.FreeformTags), Defined: m.definedTags()}
}

func (m *gpuClusterModel) definedTags() oci.DefinedTags {
	tags := oci.DefinedTags{}
	for name, value := range stringMapOf(m.DefinedTags) {
		space, key, _ := strings.Cut(name, ".")
		if tags[space] == nil {
			tags[space] = map[string]any{}
		}
		tags[space][key] = value
	}
	return tags
}
