// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// planUpdate says what will be known after a change. What is left to do, of an interrupted apply or of a
// roll, is a change of its own: that is how the next apply carries on with it.
func (m *gpuClusterModel) planUpdate(ctx context.Context, config, state *gpuClusterModel, diags *diag.Diagnostics) {
	leaving := m.leaving(state)
	if leaving.check(diags, m, state); diags.HasError() {
		return
	}
	relaunches := m.relaunches(state)
	m.InstanceConfigurationID = state.InstanceConfigurationID
	if relaunches || m.retags(state) || state.InstanceConfigurationID.IsNull() { // Somebody has deleted it.
		m.InstanceConfigurationID = types.StringUnknown()
	}
	m.State, m.CurrentSize, m.Nodes, m.StaleNodes = state.State, state.CurrentSize, state.Nodes, state.StaleNodes
	stale := stringsOf(state.StaleNodes.Elements())
	if relaunches {
		stale = state.nodeIDs()
		m.StaleNodes = types.ListUnknown(types.StringType)
	}
	stale = slices.DeleteFunc(slices.Clone(stale), leaving.names)
	mayRoll := (m.rolls() || m.UpdateStrategy.IsUnknown()) && len(stale) > 0

	if !m.Size.Equal(state.Size) || !state.complete() || leaving.any() || mayRoll {
		m.planMembers(config, state)
	}
	if mayRoll && m.rolls() {
		m.StaleNodes = listOf(ctx, nil)
	}
	leaving.warn(diags, m, state)
	m.warnOfStale(diags, stale, state)
}

// planMembers plans a cluster that is complete, with nodes that only the apply can know.
func (m *gpuClusterModel) planMembers(config, state *gpuClusterModel) {
	m.State, m.CurrentSize, m.Nodes = types.StringValue(stateRunning), m.Size, types.ListUnknown(clusterNodeType)
	if len(state.StaleNodes.Elements()) > 0 || state.StaleNodes.IsNull() {
		m.StaleNodes = types.ListUnknown(types.StringType)
	}
	if config.HPCIslandID.IsNull() && state.HPCIslandID.IsNull() {
		m.HPCIslandID = types.StringUnknown()
	}
	if config.NetworkBlockIDs.IsNull() && state.NetworkBlockIDs.IsNull() {
		m.NetworkBlockIDs = types.SetUnknown(types.StringType)
	}
}

// warnOfStale says how many running nodes differ from those that are launched from now on, and what
// becomes of them.
func (m *gpuClusterModel) warnOfStale(diags *diag.Diagnostics, stale []string, state *gpuClusterModel) {
	if len(stale) == 0 || m.UpdateStrategy.IsUnknown() {
		return
	}
	running := len(state.Nodes.Elements())
	if m.rolls() {
		diags.AddAttributeWarning(path.Root("update_strategy"), "The plan replaces running nodes",
			fmt.Sprintf("%d of the %d nodes of %q differ from what nodes are launched with from now on, and are replaced, at most %d at a time, each running before the next goes. "+
				"Their local disks are lost.",
				len(stale), running, nameOf(state), max(1, m.MaxUnavailable.ValueInt64())))
		return
	}
	diags.AddWarning("Running nodes keep what they were launched with",
		fmt.Sprintf("%d of the %d nodes of %q differ from what nodes are launched with from now on, and stay as they are. "+
			"To renew them, set update_strategy = %q, or name some of them in replace_nodes. stale_nodes lists them.",
			len(stale), running, nameOf(state), rolling))
}

// leaving are the nodes that the user wants to be rid of, and that are there.
type leaving struct {
	remove, replace []string
	unknown         bool // whether there are more is known at apply only
}

func (m *gpuClusterModel) leaving(state *gpuClusterModel) leaving {
	members := state.nodeIDs()
	present := func(set types.Set) []string {
		return slices.DeleteFunc(stringsOf(set.Elements()), func(id string) bool { return !slices.Contains(members, id) })
	}
	return leaving{
		remove:  present(m.RemoveNodes),
		replace: present(m.ReplaceNodes),
		unknown: hasUnknown(m.RemoveNodes) || hasUnknown(m.ReplaceNodes),
	}
}

func (l leaving) any() bool { return l.unknown || len(l.remove)+len(l.replace) > 0 }

func (l leaving) names(id string) bool {
	return slices.Contains(l.remove, id) || slices.Contains(l.replace, id)
}

// check refuses what contradicts itself: a node to be removed and replaced, a removal without a smaller size.
func (l leaving) check(diags *diag.Diagnostics, m, state *gpuClusterModel) {
	for _, id := range l.remove {
		if slices.Contains(l.replace, id) {
			diags.AddAttributeError(path.Root("replace_nodes"), "Node to be removed and replaced",
				id+" is in remove_nodes and in replace_nodes. Keep it in remove_nodes to have one node less, or in replace_nodes to have another in its place.")
		}
	}
	if len(l.remove) == 0 || m.Size.IsUnknown() {
		return
	}
	size, most := m.Size.ValueInt64(), max(state.Size.ValueInt64(), int64(len(state.Nodes.Elements())))-int64(len(l.remove))
	if size > most {
		diags.AddAttributeError(path.Root("remove_nodes"), "Removal without a smaller size",
			fmt.Sprintf("remove_nodes names %d of the %d nodes of %q, but size is %d. To have fewer nodes, set size = %d. "+
				"To keep the number and have others launched in their place, name them in replace_nodes instead.",
				len(l.remove), len(state.Nodes.Elements()), nameOf(state), size, most))
	}
}

// warn says which hosts a change gives away.
func (l leaving) warn(diags *diag.Diagnostics, m, state *gpuClusterModel) {
	if len(l.replace) > 0 {
		diags.AddAttributeWarning(path.Root("replace_nodes"), "The plan replaces GPU hosts",
			fmt.Sprintf("%d of the %d nodes of %q will be terminated and launched anew: %s. Their local disks are lost, and whether OCI has other hosts is not certain.",
				len(l.replace), len(state.Nodes.Elements()), nameOf(state), strings.Join(l.replace, ", ")))
	}
	lost := state.Size.ValueInt64() - m.Size.ValueInt64()
	if lost <= 0 || m.Size.IsUnknown() {
		return
	}
	which := "OCI chooses which"
	if m.Interconnect.ValueString() == string(oci.ComputeCluster) {
		which = "stale ones first, then the newest"
	}
	switch others := lost - int64(len(l.remove)); {
	case len(l.remove) > 0 && others > 0:
		which = fmt.Sprintf("%s, and %d more (%s)", strings.Join(l.remove, ", "), others, which)
	case len(l.remove) > 0:
		which = strings.Join(l.remove, ", ")
	}
	diags.AddAttributeWarning(path.Root("size"), "The plan terminates GPU hosts",
		fmt.Sprintf("%d of the %d nodes of %q will be terminated: %s. Their local disks are lost.",
			lost, state.Size.ValueInt64(), nameOf(state), which))
}
