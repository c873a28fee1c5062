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

// ModifyPlan plans what the schema cannot: the default interconnect, the image, what a change leaves as it
// is, the continuation of what was interrupted; and it warns of lost and of stale nodes.
func (r *gpuClusterResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var config, plan gpuClusterModel
	var state *gpuClusterModel // nil while there is no cluster
	if !req.State.Raw.IsNull() {
		state = &gpuClusterModel{}
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	}
	if req.Plan.Raw.IsNull() {
		warnOfLoss(&resp.Diagnostics, "destroys", state)
		return
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.planInterconnect(&config, state, &resp.Diagnostics)
	r.planImage(ctx, &config, &plan, state, &resp.Diagnostics)
	if state != nil && !state.isGone() {
		resp.RequiresReplace = plan.replacing(state)
	}
	switch {
	case state == nil:
		plan.planCreate(&config)
	case state.isGone():
		plan.planAnew(&config)
	case len(resp.RequiresReplace) > 0:
		warnOfLoss(&resp.Diagnostics, "replaces", state)
	default:
		plan.planUpdate(ctx, &config, state, &resp.Diagnostics)
	}
	created := state == nil || state.isGone() || len(resp.RequiresReplace) > 0
	if !created || r.checkDomain(ctx, plan.AvailabilityDomain, &resp.Diagnostics) {
		r.checkReferences(ctx, &plan, state, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	r.preflight(ctx, &plan, state, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// askLimit bounds what a plan asks of OCI beyond the state of things: it must not hang where OCI is not
// within reach.
const askLimit = 10 * time.Second

// planning gives access to OCI for what a plan asks of it; nil while credentials are still to be created.
func (r *gpuClusterResource) planning(diags *diag.Diagnostics) *oci.Clusters {
	if r.data == nil {
		return nil
	}
	if _, err := r.data.clusters(); errors.Is(err, errNotKnownYet) {
		return nil
	}
	return r.clusters(diags)
}

// checkDomain refuses a name that does not exist before anything is destroyed to make room for it, and
// credentials with which the apply could only fail. That OCI does not answer is no verdict, and worth no further
// question.
func (r *gpuClusterResource) checkDomain(ctx context.Context, name types.String, diags *diag.Diagnostics) (answers bool) {
	if name.IsUnknown() {
		return true
	}
	clusters := r.planning(diags)
	if clusters == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	names, err := clusters.AvailabilityDomains(ctx)
	if oci.KindOf(err) == oci.Unauthenticated {
		diags.AddError("Unable to authenticate to OCI", explain(err))
		return true
	}
	if err != nil {
		tflog.Warn(ctx, "The availability domain is not checked: "+err.Error())
		return false
	}
	if !slices.Contains(names, name.ValueString()) {
		diags.AddAttributeError(path.Root("availability_domain"), "Unknown availability domain",
			fmt.Sprintf("The region has no availability domain %q for this tenancy. It has: %s. The names carry a prefix of the tenancy's own.",
				name.ValueString(), strings.Join(names, ", ")))
	}
	return true
}

// planInterconnect takes the default from the compute cluster to use, or from the shape.
func (m *gpuClusterModel) planInterconnect(config, state *gpuClusterModel, diags *diag.Diagnostics) {
	if !config.Interconnect.IsNull() {
		return
	}
	standard, ok := defaultInterconnect(m.Shape.ValueString())
	switch {
	case config.ComputeClusterID.IsUnknown(): // There may turn out to be none.
		m.Interconnect = types.StringUnknown()
	case !config.ComputeClusterID.IsNull():
		m.Interconnect = types.StringValue(string(oci.ComputeCluster))
	case state != nil && m.Shape.Equal(state.Shape): // What was decided, or imported, stays.
		m.Interconnect = state.Interconnect
	case m.Shape.IsUnknown():
		m.Interconnect = types.StringUnknown()
	case !ok:
		detail := fmt.Sprintf("The provider does not know the shape %s, so interconnect must say whether its nodes get an RDMA network: %q, %q or %q.",
			m.Shape.ValueString(), oci.ClusterNetwork, oci.ComputeCluster, oci.NoInterconnect)
		if nearest, ok := shape.Suggest(m.Shape.ValueString()); ok {
			detail += fmt.Sprintf(" Or is %s meant?", nearest)
		}
		diags.AddAttributeError(path.Root("shape"), "Unknown shape", detail)
	default:
		m.Interconnect = types.StringValue(string(standard))
	}
}

// defaultInterconnect of a shape, if the shape is known.
func defaultInterconnect(name string) (oci.Interconnect, bool) {
	known, ok := shape.Lookup(name)
	switch {
	case ok && known.IsRDMA():
		return oci.ClusterNetwork, true
	case ok, strings.HasPrefix(name, "VM."): // No virtual machine has RDMA.
		return oci.NoInterconnect, true
	}
	return "", false
}

// planCreate says what is known of a new cluster.
func (m *gpuClusterModel) planCreate(config *gpuClusterModel) {
	m.StaleNodes = noMembers.stale
	if m.Interconnect.IsUnknown() {
		return
	}
	if m.Interconnect.ValueString() == string(oci.ComputeCluster) {
		m.InstancePoolID = types.StringNull()
	} else if config.ComputeClusterID.IsNull() {
		m.ComputeClusterID = types.StringNull()
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
		{"compute_cluster_id", state.ComputeClusterID, m.ComputeClusterID},
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

// relaunches says whether nodes are launched differently from now on, tags aside: the running ones are
// stale by that.
func (m *gpuClusterModel) relaunches(state *gpuClusterModel) bool {
	return differ([]edit{
		{state.ImageID, m.ImageID},
		{state.CapacityReservationID, m.CapacityReservationID},
		{state.AgentPlugins, m.AgentPlugins},
		{state.PlatformConfig, m.PlatformConfig},
		{state.NSGIDs, m.NSGIDs},
		{state.SSHAuthorizedKeys, m.SSHAuthorizedKeys},
		{state.UserData, m.UserData},
		{state.Metadata, m.Metadata},
		{state.BootVolumeSizeInGBs, m.BootVolumeSizeInGBs},
		{state.BootVolumeVPUsPerGB, m.BootVolumeVPUsPerGB},
	})
}

// retags says whether the tags of the cluster, and of nodes that are launched from now on, change.
func (m *gpuClusterModel) retags(state *gpuClusterModel) bool {
	return differ([]edit{{state.FreeformTags, m.FreeformTags}, {state.DefinedTags, m.DefinedTags}})
}

// edit of an attribute.
type edit struct{ was, now attr.Value }

func differ(edits []edit) bool {
	return slices.ContainsFunc(edits, func(e edit) bool { return !e.now.Equal(e.was) && (!absent(e.now) || !absent(e.was)) })
}

// warnOfLoss says what a plan costs: hosts that may not be had again soon.
func warnOfLoss(diags *diag.Diagnostics, verb string, state *gpuClusterModel) {
	if hosts := state.CurrentSize.ValueInt64(); hosts > 0 {
		diags.AddWarning("The plan terminates GPU hosts",
			fmt.Sprintf("It %s the cluster %q with %d × %s. Their local disks are lost, and whether OCI has hosts for the next cluster is not certain.",
				verb, state.DisplayName.ValueString(), hosts, state.Shape.ValueString()))
	}
}
