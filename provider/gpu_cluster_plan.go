// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// ModifyPlan plans what the schema cannot: the default interconnect, what a change leaves as it is, the
// continuation of what was interrupted; and it warns of lost hosts.
func (r *gpuClusterResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var config, state, plan gpuClusterModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		warnOfLoss(&resp.Diagnostics, "destroys", &state)
		return
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if config.Interconnect.IsNull() && (req.State.Raw.IsNull() || !plan.Shape.Equal(state.Shape)) {
		plan.planInterconnect(&resp.Diagnostics)
	}
	if !req.State.Raw.IsNull() {
		resp.RequiresReplace = plan.replacing(&state)
		if len(resp.RequiresReplace) > 0 {
			warnOfLoss(&resp.Diagnostics, "replaces", &state)
		} else {
			plan.planUpdate(&config, &state, &resp.Diagnostics)
		}
	}
	if req.State.Raw.IsNull() || len(resp.RequiresReplace) > 0 {
		r.checkDomain(ctx, plan.AvailabilityDomain, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// askLimit bounds what a plan asks of OCI beyond the state of things: it must not hang where OCI is not
// within reach.
const askLimit = 10 * time.Second

// checkDomain refuses a name that does not exist before anything is destroyed to make room for it, and
// credentials with which the apply could only fail. That OCI does not answer is no verdict.
func (r *gpuClusterResource) checkDomain(ctx context.Context, name types.String, diags *diag.Diagnostics) {
	if name.IsUnknown() || r.data == nil {
		return
	}
	if _, err := r.data.clusters(); errors.Is(err, errNotKnownYet) {
		return
	}
	clusters := r.clusters(diags)
	if clusters == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	names, err := clusters.AvailabilityDomains(ctx)
	if oci.KindOf(err) == oci.Unauthenticated {
		diags.AddError("Unable to authenticate to OCI", explain(err))
		return
	}
	if err != nil {
		tflog.Warn(ctx, "The availability domain is not checked: "+err.Error())
		return
	}
	if !slices.Contains(names, name.ValueString()) {
		diags.AddAttributeError(path.Root("availability_domain"), "Unknown availability domain",
			fmt.Sprintf("The region has no availability domain %q for this tenancy. It has: %s. The names carry a prefix of the tenancy's own.",
				name.ValueString(), strings.Join(names, ", ")))
	}
}

// planInterconnect takes the default from the shape.
func (m *gpuClusterModel) planInterconnect(diags *diag.Diagnostics) {
	if m.Shape.IsUnknown() {
		m.Interconnect = types.StringUnknown()
		return
	}
	known, ok := shape.Lookup(m.Shape.ValueString())
	switch {
	case strings.HasPrefix(m.Shape.ValueString(), "VM."): // No virtual machine has RDMA.
		m.Interconnect = types.StringValue(string(oci.NoInterconnect))
	case !ok:
		detail := fmt.Sprintf("The provider does not know the shape %s, so interconnect must say whether its nodes get an RDMA network: %q or %q.",
			m.Shape.ValueString(), oci.ClusterNetwork, oci.NoInterconnect)
		if nearest, ok := shape.Suggest(m.Shape.ValueString()); ok {
			detail += fmt.Sprintf(" Or is %s meant?", nearest)
		}
		diags.AddAttributeError(path.Root("shape"), "Unknown shape", detail)
	case known.IsRDMA():
		m.Interconnect = types.StringValue(string(oci.ClusterNetwork))
	default:
		m.Interconnect = types.StringValue(string(oci.NoInterconnect))
	}
}

// replacing gives the attributes that cannot change on a cluster that exists, and do.
func (m *gpuClusterModel) replacing(state *gpuClusterModel) path.Paths {
	var paths path.Paths
	for _, a := range []struct {
		name     string
		was, now attr.Value
	}{
		{"compartment_id", state.CompartmentID, m.CompartmentID},
		{"availability_domain", state.AvailabilityDomain, m.AvailabilityDomain},
		{"subnet_id", state.SubnetID, m.SubnetID},
		{"shape", state.Shape, m.Shape},
		{"interconnect", state.Interconnect, m.Interconnect},
		{"placement_constraint", state.PlacementConstraint, m.PlacementConstraint},
		{"hpc_island_id", state.HPCIslandID, m.HPCIslandID},
		{"network_block_ids", state.NetworkBlockIDs, m.NetworkBlockIDs},
	} {
		if !a.now.Equal(a.was) {
			paths = append(paths, path.Root(a.name))
		}
	}
	return paths
}

// relaunches says whether nodes are launched differently from now on. Tags are part of that.
func (m *gpuClusterModel) relaunches(state *gpuClusterModel) bool {
	for _, a := range []struct{ was, now attr.Value }{
		{state.ImageID, m.ImageID},
		{state.NSGIDs, m.NSGIDs},
		{state.SSHAuthorizedKeys, m.SSHAuthorizedKeys},
		{state.UserData, m.UserData},
		{state.Metadata, m.Metadata},
		{state.BootVolumeSizeInGBs, m.BootVolumeSizeInGBs},
		{state.BootVolumeVPUsPerGB, m.BootVolumeVPUsPerGB},
		{state.FreeformTags, m.FreeformTags},
		{state.DefinedTags, m.DefinedTags},
	} {
		if !a.now.Equal(a.was) {
			return true
		}
	}
	return false
}

// planUpdate says what will be known after a change. A cluster that is not complete is planned to become
// so, which is a change of its own: that is how an interrupted apply is carried on with.
func (m *gpuClusterModel) planUpdate(config, state *gpuClusterModel, diags *diag.Diagnostics) {
	m.InstanceConfigurationID = state.InstanceConfigurationID
	if m.relaunches(state) {
		m.InstanceConfigurationID = types.StringUnknown()
		if running := len(state.Nodes.Elements()); running > 0 {
			diags.AddWarning("Running nodes keep their configuration",
				fmt.Sprintf("The change to %q applies to nodes that are launched from now on. The %d running nodes stay as they are until they are replaced.",
					state.DisplayName.ValueString(), running))
		}
	}
	if m.Size.Equal(state.Size) && state.complete() {
		m.State, m.CurrentSize, m.Nodes = state.State, state.CurrentSize, state.Nodes
		return
	}
	m.State, m.CurrentSize, m.Nodes = types.StringValue(stateRunning), m.Size, types.ListUnknown(clusterNodeType)
	if config.HPCIslandID.IsNull() && state.HPCIslandID.IsNull() {
		m.HPCIslandID = types.StringUnknown()
	}
	if config.NetworkBlockIDs.IsNull() && state.NetworkBlockIDs.IsNull() {
		m.NetworkBlockIDs = types.SetUnknown(types.StringType)
	}
	if lost := state.Size.ValueInt64() - m.Size.ValueInt64(); lost > 0 && !m.Size.IsUnknown() {
		diags.AddAttributeWarning(path.Root("size"), "The plan terminates GPU hosts",
			fmt.Sprintf("%d of the %d nodes of %q will be terminated, and OCI chooses which. Their local disks are lost.",
				lost, state.Size.ValueInt64(), state.DisplayName.ValueString()))
	}
}

// warnOfLoss says what a plan costs: hosts that may not be had again soon.
func warnOfLoss(diags *diag.Diagnostics, verb string, state *gpuClusterModel) {
	if hosts := state.CurrentSize.ValueInt64(); hosts > 0 {
		diags.AddWarning("The plan terminates GPU hosts",
			fmt.Sprintf("It %s the cluster %q with %d × %s. Their local disks are lost, and whether OCI has hosts for the next cluster is not certain.",
				verb, state.DisplayName.ValueString(), hosts, state.Shape.ValueString()))
	}
}
