// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
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
	HPCIslandID             types.String   `tfsdk:"hpc_island_id"`
	NetworkBlockIDs         types.Set      `tfsdk:"network_block_ids"`
	DisplayName             types.String   `tfsdk:"display_name"`
	Size                    types.Int64    `tfsdk:"size"`
	ImageID                 types.String   `tfsdk:"image_id"`
	NSGIDs                  types.Set      `tfsdk:"nsg_ids"`
	SSHAuthorizedKeys       types.String   `tfsdk:"ssh_authorized_keys"`
	UserData                types.String   `tfsdk:"user_data"`
	Metadata                types.Map      `tfsdk:"metadata"`
	BootVolumeSizeInGBs     types.Int64    `tfsdk:"boot_volume_size_in_gbs"`
	BootVolumeVPUsPerGB     types.Int64    `tfsdk:"boot_volume_vpus_per_gb"`
	FreeformTags            types.Map      `tfsdk:"freeform_tags"`
	DefinedTags             types.Map      `tfsdk:"defined_tags"`
	InstancePoolID          types.String   `tfsdk:"instance_pool_id"`
	InstanceConfigurationID types.String   `tfsdk:"instance_configuration_id"`
	State                   types.String   `tfsdk:"state"`
	TimeCreated             types.String   `tfsdk:"time_created"`
	CurrentSize             types.Int64    `tfsdk:"current_size"`
	Nodes                   types.List     `tfsdk:"nodes"`
	Timeouts                timeouts.Value `tfsdk:"timeouts"`
}

// clusterNodeType is the type of one element of nodes.
var clusterNodeType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"id": types.StringType, "display_name": types.StringType, "hostname": types.StringType,
	"private_ip": types.StringType, "fault_domain": types.StringType, "state": types.StringType,
}}

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
			HPCIslandID:        m.HPCIslandID.ValueString(),
			NetworkBlockIDs:    stringsOf(m.NetworkBlockIDs.Elements()),
		},
		Launch: oci.Launch{
			Shape:               m.Shape.ValueString(),
			ImageID:             m.ImageID.ValueString(),
			SSHAuthorizedKeys:   m.SSHAuthorizedKeys.ValueString(),
			UserData:            m.UserData.ValueString(),
			Metadata:            stringMapOf(m.Metadata),
			NSGIDs:              stringsOf(m.NSGIDs.Elements()),
			BootVolumeSizeInGBs: m.BootVolumeSizeInGBs.ValueInt64(),
			BootVolumeVPUsPerGB: m.BootVolumeVPUsPerGB.ValueInt64(),
		},
		FreeformTags: stringMapOf(m.FreeformTags),
		DefinedTags:  m.definedTags(),
	}
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

// setReached records what OCI has made of a cluster. What the user has set stays as it was planned.
func (m *gpuClusterModel) setReached(ctx context.Context, c oci.Cluster) {
	m.ID = stringOrNull(c.ID)
	m.InstancePoolID = stringOrNull(c.PoolID)
	m.InstanceConfigurationID = stringOrNull(c.ConfigurationID)
	m.State = stringOrNull(c.State)
	m.CurrentSize = types.Int64Value(int64(c.CurrentSize))
	if m.TimeCreated.IsUnknown() || m.TimeCreated.IsNull() {
		m.TimeCreated = timeOrNull(c.TimeCreated)
	}
	m.setPlacement(ctx, c.Placement)
}

// reached gives the model as it is once OCI has accepted a request, with the nodes that are known so far.
func (m *gpuClusterModel) reached(ctx context.Context, c oci.Cluster, nodes types.List) *gpuClusterModel {
	reached := *m
	reached.setReached(ctx, c)
	reached.Nodes = nodes
	return &reached
}

// noNodes is what is known of a cluster's nodes while the cluster is being made.
var noNodes = types.ListValueMust(clusterNodeType, nil)

// setPlacement records where OCI has put a cluster, as far as the user left that to OCI.
func (m *gpuClusterModel) setPlacement(ctx context.Context, p oci.Placement) {
	if m.PlacementConstraint.IsUnknown() || m.PlacementConstraint.IsNull() {
		m.PlacementConstraint = stringOrNull(p.Constraint)
	}
	if m.HPCIslandID.IsUnknown() || m.HPCIslandID.IsNull() {
		m.HPCIslandID = stringOrNull(p.HPCIslandID)
	}
	if m.NetworkBlockIDs.IsUnknown() || m.NetworkBlockIDs.IsNull() {
		m.NetworkBlockIDs = setOrNull(ctx, p.NetworkBlockIDs)
	}
}

// fromAPI records a cluster as it was read. After an import only the OCID is known before, and all tags
// become the user's; otherwise only those that the user has set are looked at.
func (m *gpuClusterModel) fromAPI(ctx context.Context, c oci.Cluster) {
	imported := m.CompartmentID.IsNull()
	m.setReached(ctx, c)
	m.CompartmentID = types.StringValue(c.CompartmentID)
	m.DisplayName = types.StringValue(c.DisplayName)
	m.Interconnect = types.StringValue(string(c.Interconnect))
	m.Size = types.Int64Value(int64(c.Size))
	m.AvailabilityDomain = types.StringValue(c.Placement.AvailabilityDomain)
	m.SubnetID = types.StringValue(c.Placement.SubnetID)
	if c.Launch.Shape != "" { // Without its configuration, a cluster does not tell.
		m.setLaunch(ctx, c.Launch)
	}
	freeform, defined := c.FreeformTags, flatTags(c.DefinedTags, imported)
	if !imported {
		keepKeys(freeform, m.FreeformTags)
		keepKeys(defined, m.DefinedTags)
	}
	m.FreeformTags, m.DefinedTags = mapOrNull(ctx, freeform), mapOrNull(ctx, defined)
}

func (m *gpuClusterModel) setLaunch(ctx context.Context, l oci.Launch) {
	m.Shape = types.StringValue(l.Shape)
	m.ImageID = stringOrNull(l.ImageID)
	m.SSHAuthorizedKeys = stringOrNull(l.SSHAuthorizedKeys)
	m.UserData = stringOrNull(l.UserData)
	m.Metadata = mapOrNull(ctx, l.Metadata)
	m.NSGIDs = setOrNull(ctx, l.NSGIDs)
	m.BootVolumeSizeInGBs = int64OrNull(l.BootVolumeSizeInGBs)
	m.BootVolumeVPUsPerGB = int64OrNull(l.BootVolumeVPUsPerGB)
}

func (m *gpuClusterModel) setNodes(nodes []oci.Node) diag.Diagnostics {
	elements := []attr.Value{}
	for _, n := range nodes {
		elements = append(elements, types.ObjectValueMust(clusterNodeType.AttrTypes, map[string]attr.Value{
			"id":           types.StringValue(n.ID),
			"display_name": types.StringValue(n.DisplayName),
			"hostname":     types.StringValue(n.Hostname),
			"private_ip":   stringOrNull(n.PrivateIP),
			"fault_domain": stringOrNull(n.FaultDomain),
			"state":        types.StringValue(n.State),
		}))
	}
	list, diags := types.ListValue(clusterNodeType, elements)
	m.Nodes = list
	return diags
}

// complete says that the cluster has what it should have.
func (m *gpuClusterModel) complete() bool {
	return m.State.ValueString() == stateRunning && m.CurrentSize.Equal(m.Size)
}

const stateRunning = "RUNNING"

// flatTags gives defined tags in the form "namespace.key". Those that Oracle itself sets are left out of
// an import: no user writes them.
func flatTags(tags oci.DefinedTags, imported bool) map[string]string {
	flat := map[string]string{}
	for space, keys := range tags {
		if imported && space == "Oracle-Tags" {
			continue
		}
		for key, value := range keys {
			flat[space+"."+key] = fmt.Sprint(value)
		}
	}
	return flat
}

func keepKeys(tags map[string]string, managed types.Map) {
	for key := range tags {
		if _, ok := managed.Elements()[key]; !ok {
			delete(tags, key)
		}
	}
}

func stringOrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

func int64OrNull(n int64) types.Int64 {
	if n == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(n)
}

func timeOrNull(t time.Time) types.String {
	if t.IsZero() {
		return types.StringNull()
	}
	return types.StringValue(t.UTC().Format(time.RFC3339))
}

func setOrNull(ctx context.Context, items []string) types.Set {
	if len(items) == 0 {
		return types.SetNull(types.StringType)
	}
	set, _ := types.SetValueFrom(ctx, types.StringType, items) // Strings always convert.
	return set
}

func mapOrNull(ctx context.Context, items map[string]string) types.Map {
	if len(items) == 0 {
		return types.MapNull(types.StringType)
	}
	m, _ := types.MapValueFrom(ctx, types.StringType, items) // Strings always convert.
	return m
}

func stringsOf(elements []attr.Value) []string {
	var items []string
	for _, element := range elements {
		if s, ok := element.(types.String); ok {
			items = append(items, s.ValueString())
		}
	}
	return items
}

func stringMapOf(m types.Map) map[string]string {
	items := map[string]string{}
	for key, element := range m.Elements() {
		if s, ok := element.(types.String); ok {
			items[key] = s.ValueString()
		}
	}
	return items
}
