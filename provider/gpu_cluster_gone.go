// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// A cluster may end without Terraform: somebody deletes it, OCI gives up, a destroy is killed half-way. Its
// instance configuration stays. Such a cluster is recorded as terminated, so that the next apply makes it
// again in place, and a destroy takes away what is left. Its OCID stays, too: one that OCI has only not
// shown, to this user or for a moment, is known again as soon as it does.

const stateTerminated = "TERMINATED"

// isGone says that there is no cluster, only what is left of one.
func (m *gpuClusterModel) isGone() bool {
	return m.ID.IsNull() || m.State.ValueString() == stateTerminated
}

// forget records that there is no cluster any more.
func (m *gpuClusterModel) forget() {
	m.State, m.CurrentSize = types.StringValue(stateTerminated), types.Int64Value(0)
	m.Nodes, m.StaleNodes = noMembers.nodes, noMembers.stale
}

// gone records that OCI shows a cluster no more, and says so.
func (m *gpuClusterModel) gone(ctx context.Context, clusters *oci.Clusters, reason error, state *tfsdk.State) diag.Diagnostics {
	var diags diag.Diagnostics
	left, err := clusters.HasConfiguration(ctx, m.InstanceConfigurationID.ValueString())
	if err != nil {
		addClusterError(&diags, "read what is left of", nameOf(m), err)
		return diags
	}
	next := "It is taken out of the state, and the next apply creates a new one."
	if left {
		next = "The next apply creates it anew; a destroy removes its instance configuration, which is still there."
	}
	diags.AddWarning(fmt.Sprintf("GPU cluster %q is gone", nameOf(m)),
		fmt.Sprintf("OCI does not show %s any more: it was deleted outside of this configuration, or this user may no longer see it. %s\n\n%s",
			m.ID.ValueString(), next, account(reason)))
	if !left {
		state.RemoveResource(ctx)
		return diags
	}
	m.forget()
	diags.Append(state.Set(ctx, m)...)
	return diags
}

// planAnew plans a cluster in the place of one that is gone.
func (m *gpuClusterModel) planAnew(config *gpuClusterModel) {
	m.ID, m.InstancePoolID, m.State, m.TimeCreated = types.StringUnknown(), types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	m.InstanceConfigurationID, m.CurrentSize = types.StringUnknown(), types.Int64Unknown()
	m.Nodes = types.ListUnknown(clusterNodeType)
	if config.ComputeClusterID.IsNull() {
		m.ComputeClusterID = types.StringUnknown()
	}
	if config.PlacementConstraint.IsNull() {
		m.PlacementConstraint = types.StringUnknown()
	}
	if config.HPCIslandID.IsNull() {
		m.HPCIslandID = types.StringUnknown()
	}
	if config.NetworkBlockIDs.IsNull() {
		m.NetworkBlockIDs = types.SetUnknown(types.StringType)
	}
	m.planCreate(config)
}
