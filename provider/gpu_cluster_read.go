// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

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
func (m *gpuClusterModel) reached(ctx context.Context, c oci.Cluster, known members) *gpuClusterModel {
	reached := *m
	reached.setReached(ctx, c)
	reached.Nodes, reached.StaleNodes = known.nodes, known.stale
	return &reached
}

// members is what is known of the nodes of a cluster.
type members struct{ nodes, stale types.List }

// noMembers is what is known of a cluster's nodes while the cluster is being made.
var noMembers = members{types.ListValueMust(clusterNodeType, nil), types.ListValueMust(types.StringType, nil)}

func (m *gpuClusterModel) members() members { return members{m.Nodes, m.StaleNodes} }

// learn takes over what is not known yet.
func (m *gpuClusterModel) learn(known members) {
	if m.Nodes.IsUnknown() {
		m.Nodes = known.nodes
	}
	if m.StaleNodes.IsUnknown() {
		m.StaleNodes = known.stale
	}
}

// knowsMembers says that nothing about the nodes is left to find out.
func (m *gpuClusterModel) knowsMembers() bool {
	return !m.Nodes.IsUnknown() && !m.StaleNodes.IsUnknown()
}

// setPlacement records where OCI has put a cluster, as far as the user left that to OCI.
func (m *gpuClusterModel) setPlacement(ctx context.Context, p oci.Placement) {
	if m.PlacementConstraint.IsUnknown() || m.PlacementConstraint.IsNull() {
		m.PlacementConstraint = stringOrNull(p.Constraint)
	}
	if m.ComputeClusterID.IsUnknown() || m.ComputeClusterID.IsNull() {
		m.ComputeClusterID = stringOrNull(p.ComputeClusterID)
	}
	if m.HPCIslandID.IsUnknown() || m.HPCIslandID.IsNull() {
		m.HPCIslandID = stringOrNull(p.HPCIslandID)
	}
	if m.NetworkBlockIDs.IsUnknown() || m.NetworkBlockIDs.IsNull() {
		m.NetworkBlockIDs = setOr(ctx, m.NetworkBlockIDs, p.NetworkBlockIDs)
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
		m.setPlugins(ctx, c.Spec, imported)
	}
	freeform, defined := c.FreeformTags, flatTags(c.DefinedTags, imported)
	if !imported {
		keepKeys(freeform, m.FreeformTags)
		defined = ownSpelling(defined, m.DefinedTags)
	}
	m.FreeformTags, m.DefinedTags = mapOr(ctx, m.FreeformTags, freeform), mapOr(ctx, m.DefinedTags, defined)
}

func (m *gpuClusterModel) setLaunch(ctx context.Context, l oci.Launch) {
	m.Shape = types.StringValue(l.Shape)
	m.ImageID = stringOrNull(l.ImageID)
	m.SSHAuthorizedKeys = unlessSame(m.SSHAuthorizedKeys, l.SSHAuthorizedKeys)
	m.UserData = unlessSame(m.UserData, l.UserData)
	m.Metadata = mapOr(ctx, m.Metadata, l.Metadata)
	m.NSGIDs = setOr(ctx, m.NSGIDs, l.NSGIDs)
	m.BootVolumeSizeInGBs = int64OrNull(l.BootVolumeSizeInGBs)
	m.BootVolumeVPUsPerGB = int64OrNull(l.BootVolumeVPUsPerGB)
	m.CapacityReservationID = stringOrNull(l.CapacityReservationID)
	m.PlatformConfig = types.ObjectNull(platformType)
	if l.Platform != (oci.Platform{}) {
		m.PlatformConfig = types.ObjectValueMust(platformType, map[string]attr.Value{
			"numa_nodes_per_socket":                stringOrNull(l.Platform.NUMANodesPerSocket),
			"is_symmetric_multi_threading_enabled": types.BoolPointerValue(l.Platform.SimultaneousMultithreading),
		})
	}
}

// setPlugins records the plugins that the user has set, as they are; after an import, those that are not
// as they would be anyway.
func (m *gpuClusterModel) setPlugins(ctx context.Context, spec oci.Spec, imported bool) {
	plugins := spec.Launch.Plugins
	if !imported {
		plugins = map[string]bool{}
		maps.Copy(plugins, spec.DefaultPlugins())
		maps.Copy(plugins, spec.Launch.Plugins)
		maps.DeleteFunc(plugins, func(name string, _ bool) bool { return m.AgentPlugins.Elements()[name] == nil })
	}
	switch {
	case len(plugins) == 0 && !absent(m.AgentPlugins):
		m.AgentPlugins = types.MapNull(types.BoolType)
	case len(plugins) > 0:
		m.AgentPlugins, _ = types.MapValueFrom(ctx, types.BoolType, plugins) // Booleans always convert.
	}
}

// membersOf records nodes as they were read.
func membersOf(ctx context.Context, nodes []oci.Node) members {
	elements := []attr.Value{}
	var stale []string
	for _, n := range nodes {
		if n.Stale {
			stale = append(stale, n.ID)
		}
		elements = append(elements, types.ObjectValueMust(clusterNodeType.AttrTypes, map[string]attr.Value{
			"id":           types.StringValue(n.ID),
			"display_name": types.StringValue(n.DisplayName),
			"hostname":     types.StringValue(n.Hostname),
			"private_ip":   stringOrNull(n.PrivateIP),
			"fault_domain": stringOrNull(n.FaultDomain),
			"state":        types.StringValue(n.State),
			"time_created": timeOrNull(n.TimeCreated),
		}))
	}
	return members{types.ListValueMust(clusterNodeType, elements), listOf(ctx, stale)}
}

// nodeIDs gives the OCIDs of the nodes that are recorded.
func (m *gpuClusterModel) nodeIDs() []string {
	var ids []string
	for _, element := range m.Nodes.Elements() {
		if node, ok := element.(types.Object); ok {
			ids = append(ids, stringsOf([]attr.Value{node.Attributes()["id"]})...)
		}
	}
	return ids
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

// ownSpelling gives the defined tags that are managed, as the user spells them: OCI ignores the case of their names.
func ownSpelling(tags map[string]string, managed types.Map) map[string]string {
	own := map[string]string{}
	for name, value := range tags {
		for spelt := range managed.Elements() {
			if strings.EqualFold(spelt, name) {
				own[spelt] = value
			}
		}
	}
	return own
}

func keepKeys(tags map[string]string, managed types.Map) {
	for key := range tags {
		if _, ok := managed.Elements()[key]; !ok {
			delete(tags, key)
		}
	}
}
