// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

var (
	_ resource.Resource                   = (*gpuClusterResource)(nil)
	_ resource.ResourceWithConfigure      = (*gpuClusterResource)(nil)
	_ resource.ResourceWithValidateConfig = (*gpuClusterResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*gpuClusterResource)(nil)
	_ resource.ResourceWithImportState    = (*gpuClusterResource)(nil)
)

// NewGPUClusterResource makes ocihpc_gpu_cluster.
func NewGPUClusterResource() resource.Resource { return &gpuClusterResource{} }

type gpuClusterResource struct{ data *providerData }

func (r *gpuClusterResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_gpu_cluster"
}

func (r *gpuClusterResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = gpuClusterSchema(ctx)
}

func (r *gpuClusterResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.data = providerDataFrom(req.ProviderData, &resp.Diagnostics)
}

const gpuCluster = "GPU cluster"

// clusters gives access to OCI, or the reason why there is none.
func (r *gpuClusterResource) clusters(diags *diag.Diagnostics) *oci.Clusters {
	clusters, err := r.data.clusters()
	if err != nil {
		diags.AddError("Unable to configure access to OCI", explain(err))
	}
	return clusters
}

func (r *gpuClusterResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m gpuClusterModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	timeout, diags := m.Timeouts.Create(ctx, defaultTimeout(m.Size.ValueInt64()))
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.create(ctx, &m, timeout, &resp.State, &resp.Diagnostics) {
		resp.State.RemoveResource(ctx)
	}
}

// create makes the cluster, and records it as soon as OCI has accepted it, and again when it is complete.
// Whatever ends the wait before that leaves a full record without taint, so that the next apply carries on:
// unless OCI itself gave up. It says whether that left nothing to record.
func (r *gpuClusterResource) create(ctx context.Context, m *gpuClusterModel, timeout time.Duration, state *tfsdk.State, diags *diag.Diagnostics) (nothing bool) {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	clusters := r.clusters(diags)
	if diags.HasError() {
		return false
	}
	m.addImageError(diags, m.resolveImage(waiting, clusters, nil))
	if diags.HasError() {
		return false
	}
	operation, c, err := clusters.Create(waiting, m.toAPI())
	if c.ConfigurationID != "" {
		diags.Append(state.Set(ctx, m.reached(ctx, c, noMembers))...)
	}
	if err != nil {
		addCreateError(diags, m.DisplayName.ValueString(), err)
		return false
	}
	tflog.Info(ctx, "OCI has accepted the cluster", map[string]any{"id": c.ID, "size": c.Size})

	c, err = m.finish(waiting, operation, noMembers)
	diags.Append(state.Set(ctx, m)...)
	var failure *oci.FailureError
	switch {
	case err == nil:
	case errors.As(err, &failure):
		outcome := m.keptTainted()
		if failure.Ended() && removeLeftovers(ctx, clusters, c, diags) {
			m.forget()
			m.InstanceConfigurationID, nothing = types.StringNull(), true
			diags.Append(state.Set(ctx, m)...)
			outcome = "Nothing is left of it: the next apply creates it anew."
		}
		diags.AddError(unableTo("create", gpuCluster, m.DisplayName.ValueString()), explain(err)+"\n\n"+outcome)
	default:
		diags.AddWarning(fmt.Sprintf("GPU cluster %q is not complete yet", m.DisplayName.ValueString()), unfinished(waiting, m, timeout, err))
	}
	return nothing
}

// finish waits for an operation and records how far it came, also when it fails. Nodes are looked for when
// they are not known yet; without success there are those from before.
func (m *gpuClusterModel) finish(ctx context.Context, operation *oci.Operation, before members) (oci.Cluster, error) {
	c, err := operation.Wait(ctx, logProgress(ctx))
	m.setReached(ctx, c)
	defer m.learn(before)
	if err != nil || m.knowsMembers() {
		return c, err
	}
	nodes, err := operation.Nodes(ctx)
	if err != nil {
		return c, err
	}
	m.learn(membersOf(ctx, nodes))
	return c, nil
}

// removeLeftovers takes away what OCI leaves of a cluster that it ended itself.
func removeLeftovers(ctx context.Context, clusters *oci.Clusters, c oci.Cluster, diags *diag.Diagnostics) bool {
	ctx, cancel := clusters.Afterwards(ctx)
	defer cancel()
	if err := clusters.Delete(ctx, c, nil); err != nil {
		addClusterError(diags, "clean up", c.DisplayName, err)
		return false
	}
	return true
}

func (r *gpuClusterResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m gpuClusterModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || m.ID.IsNull() { // There is but a configuration.
		return
	}
	clusters := r.clusters(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := clusters.Get(ctx, m.ID.ValueString())
	if errors.Is(err, oci.ErrGone) {
		resp.Diagnostics.Append(m.gone(ctx, clusters, err, &resp.State)...)
		return
	}
	if err != nil {
		addClusterError(&resp.Diagnostics, "read", nameOf(&m), err)
		return
	}
	if c.Interconnect == oci.ClusterNetwork && c.PoolID == "" { // It is on its way out, and shows no more.
		m.State = types.StringValue(c.State)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return
	}
	if m.CompartmentID.IsNull() && c.Launch.Shape == "" {
		resp.Diagnostics.AddError(unableTo("import", gpuCluster, nameOf(&m)),
			"Its instance configuration is deleted, or does not say how its nodes are launched: the cluster cannot be managed here.")
		return
	}
	if c.Placement.SubnetID == "" { // The configuration of a compute cluster tells it, and is deleted.
		c.Placement.SubnetID = m.SubnetID.ValueString()
	}
	nodes, err := clusters.Nodes(ctx, c)
	if err != nil {
		addClusterError(&resp.Diagnostics, "read the nodes of", nameOf(&m), err)
		return
	}
	m.fromAPI(ctx, c)
	known := membersOf(ctx, nodes)
	m.Nodes, m.StaleNodes = known.nodes, known.stale
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// nameOf names a cluster in messages; right after an import only its OCID is known.
func nameOf(m *gpuClusterModel) string {
	if m.DisplayName.IsNull() {
		return m.ID.ValueString()
	}
	return m.DisplayName.ValueString()
}

// Update changes the cluster, or carries on with a change, and waits until it is complete. When that
// fails, the state holds how far it came.
func (r *gpuClusterResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state gpuClusterModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	timeout, diags := m.Timeouts.Update(ctx, defaultTimeout(m.Size.ValueInt64()))
	resp.Diagnostics.Append(diags...)
	clusters := r.clusters(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if state.isGone() {
		left := state.recorded()
		left.ID = "" // What OCI does not show may be there nevertheless.
		if removeLeftovers(ctx, clusters, left, &resp.Diagnostics) {
			r.create(ctx, &m, timeout, &resp.State, &resp.Diagnostics)
		}
		return
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m.addImageError(&resp.Diagnostics, m.resolveImage(waiting, clusters, &state))
	if resp.Diagnostics.HasError() {
		return
	}
	before := state.members()
	if m.relaunches(&state) {
		before.stale = listOf(ctx, state.nodeIDs())
	}

	operation, err := clusters.Update(waiting, state.ID.ValueString(), m.change(&state))
	if err != nil {
		addClusterError(&resp.Diagnostics, "update", nameOf(&state), err)
		return
	}
	accepted := m.reached(ctx, operation.Cluster(), before)
	resp.Diagnostics.Append(resp.State.Set(ctx, accepted)...)

	_, err = m.finish(waiting, operation, before)
	if m.State.IsNull() { // It was not looked at any more.
		m.State, m.CurrentSize = state.State, state.CurrentSize
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	var failure *oci.FailureError
	switch {
	case errors.As(err, &failure):
		resp.Diagnostics.AddError(unableTo("update", gpuCluster, nameOf(&state)), explain(err)+"\n\n"+
			fmt.Sprintf("What was reached is recorded, %d of %d nodes: the next apply goes on from there.", m.CurrentSize.ValueInt64(), m.Size.ValueInt64()))
	case err != nil:
		resp.Diagnostics.AddError(unableTo("update", gpuCluster, nameOf(&state)), unfinished(waiting, &m, timeout, err))
	default:
		if err := operation.CleanUp(waiting); err != nil {
			resp.Diagnostics.AddWarning(unableTo("delete", "a former instance configuration of", nameOf(&state)), explain(err))
		}
	}
}

func (r *gpuClusterResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m gpuClusterModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	timeout, diags := m.Timeouts.Delete(ctx, defaultTimeout(m.Size.ValueInt64()))
	resp.Diagnostics.Append(diags...)
	clusters := r.clusters(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := clusters.Delete(ctx, m.recorded(), logProgress(ctx))
	if err != nil {
		addClusterError(&resp.Diagnostics, "delete", m.DisplayName.ValueString(), err)
	}
}

// recorded is what the state says of a cluster, as far as its deletion needs it.
func (m *gpuClusterModel) recorded() oci.Cluster {
	return oci.Cluster{
		ID:              m.ID.ValueString(),
		ConfigurationID: m.InstanceConfigurationID.ValueString(),
		Spec:            oci.Spec{CompartmentID: m.CompartmentID.ValueString(), DisplayName: m.DisplayName.ValueString()},
	}
}
