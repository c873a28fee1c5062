// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

var (
	_ resource.Resource                     = (*containerRuntimeResource)(nil)
	_ resource.ResourceWithConfigure        = (*containerRuntimeResource)(nil)
	_ resource.ResourceWithModifyPlan       = (*containerRuntimeResource)(nil)
	_ resource.ResourceWithConfigValidators = (*containerRuntimeResource)(nil)
)

// NewContainerRuntimeResource makes ocihpc_container_runtime.
func NewContainerRuntimeResource() resource.Resource { return &containerRuntimeResource{} }

type containerRuntimeResource struct{ data *providerData }

func (r *containerRuntimeResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_container_runtime"
}

func (r *containerRuntimeResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = containerRuntimeSchema(ctx)
}

func (r *containerRuntimeResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.data = providerDataFrom(req.ProviderData, &resp.Diagnostics)
}

func (r *containerRuntimeResource) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{distinctNodes{}, validRuntime{}}
}

// ModifyPlan plans a new set-up where the last one failed, and none where nothing that nodes see has changed.
func (r *containerRuntimeResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() {
		return
	}
	var state containerRuntimeModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	results := map[string]any{
		"id": types.StringUnknown(), "outcome": types.StringUnknown(), "failure": types.StringUnknown(),
		"set_up_at": types.StringUnknown(), "per_node": types.ListUnknown(nodeRuntimeType), "host_keys": types.MapUnknown(types.StringType),
	}
	if state.stands(ctx, req) {
		results = map[string]any{
			"id": state.ID, "outcome": state.Outcome, "failure": state.Failure,
			"set_up_at": state.SetUpAt, "per_node": state.PerNode, "host_keys": state.HostKeys,
		}
	}
	for name, value := range results {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
}

// stands says whether the state's set-up is the one that the plan asks for, and was done.
func (m *containerRuntimeModel) stands(ctx context.Context, req resource.ModifyPlanRequest) bool {
	var plan containerRuntimeModel
	if req.Plan.Get(ctx, &plan).HasError() { // what is not known yet does not fit into the model
		return false
	}
	return m.Outcome.ValueString() != string(job.Fail) && plan.toJob(0).Key() == m.toJob(0).Key()
}

func (r *containerRuntimeResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan containerRuntimeModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	timeout, diags := plan.Timeouts.Create(ctx, defaultSetupTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.setUp(ctx, &plan, nil, timeout, &resp.Diagnostics) {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

func (r *containerRuntimeResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {
	// The nodes are looked at when they are set up: a refresh must not log in to a thousand of them.
}

func (r *containerRuntimeResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state containerRuntimeModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	timeout, diags := plan.Timeouts.Update(ctx, defaultSetupTimeout)
	resp.Diagnostics.Append(diags...)
	known := state.hostKeys(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	keepOwn(known, jobNodes(plan.Nodes))
	if !plan.PerNode.IsUnknown() || r.setUp(ctx, &plan, known, timeout, &resp.Diagnostics) {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

func (r *containerRuntimeResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state containerRuntimeModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() || state.OnDestroy.ValueString() != onDestroyRemove {
		return
	}
	timeout, diags := state.Timeouts.Delete(ctx, defaultRemoveTimeout)
	resp.Diagnostics.Append(diags...)
	known := state.hostKeys(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	outcome, ok := r.data.execute(ctx, execution{
		verb: "remove the container engine from", noun: "removal", ssh: &state.SSH, known: known, job: state.toRemoval(timeout), timeout: timeout,
	}, &resp.Diagnostics)
	if !ok {
		return
	}
	if result := outcome.Result; result.Outcome == job.Fail || result.Outcome == job.CouldNotRun {
		resp.Diagnostics.AddError(unableTo("remove the container engine from", "nodes", nodesName(jobNodes(state.Nodes))),
			explainFailure(result)+"\n\nWith on_destroy = \"keep\" the nodes are left as they are: apply that first, and destroy then.")
	}
}

// setUp has the nodes set up and fills the model. It says whether there is something to keep in the state.
func (r *containerRuntimeResource) setUp(ctx context.Context, m *containerRuntimeModel, known map[string]string, timeout time.Duration, diags *diag.Diagnostics) bool {
	name := nodesName(jobNodes(m.Nodes))
	auth, err := m.registryAuth()
	if err != nil {
		diags.AddAttributeError(path.Root("registry_auth_path"), unableTo("set up", "nodes", name), sentence(err.Error()))
		return false
	}
	outcome, ok := r.data.execute(ctx, execution{
		verb: "set up", noun: "set-up", ssh: &m.SSH, known: known, registryAuth: auth, job: m.toJob(timeout), timeout: timeout,
	}, diags)
	if !ok {
		return false
	}
	diags.Append(m.fromResult(ctx, outcome.Result, outcome.HostKeys)...)
	switch outcome.Result.Outcome {
	case job.Fail, job.CouldNotRun:
		diags.AddError(unableTo("set up", "nodes", name), explainFailure(outcome.Result))
	case job.Warn:
		diags.AddWarning("Set up with a warning: "+name, explainFailure(outcome.Result))
	case job.Pass, job.CannotTell:
	}
	return true
}

func (m *containerRuntimeModel) hostKeys(ctx context.Context, diags *diag.Diagnostics) map[string]string {
	known := map[string]string{}
	diags.Append(m.HostKeys.ElementsAs(ctx, &known, false)...)
	return known
}

// validRuntime holds each argument to the rules of the job, so that the plan refuses what the nodes would.
type validRuntime struct{}

func (validRuntime) Description(context.Context) string {
	return "versions, mirror, images and directories are of the form that the nodes accept"
}
func (v validRuntime) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (validRuntime) ValidateResource(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var engine types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("engine"), &engine)...)
	if engine.IsUnknown() {
		return
	}
	check := func(at path.Path, r job.ContainerRuntime) {
		r.Engine = job.Engine(cmp.Or(engine.ValueString(), string(job.Containerd)))
		if err := r.Validate(); err != nil {
			resp.Diagnostics.AddAttributeError(at, "Invalid "+at.String(), sentence(strings.ReplaceAll(err.Error(), "setup.container_runtime.", "")))
		}
	}
	text := func(name string, into func(string) job.ContainerRuntime) {
		var value types.String
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root(name), &value)...)
		if isSet(value) {
			check(path.Root(name), into(value.ValueString()))
		}
	}
	text("rootless_user", func(s string) job.ContainerRuntime { return job.ContainerRuntime{RootlessUser: s} })
	text("mirror", func(s string) job.ContainerRuntime { return job.ContainerRuntime{Mirror: s} })
	text("data_root", func(s string) job.ContainerRuntime { return job.ContainerRuntime{DataRoot: s} })
	text("proof_image", func(s string) job.ContainerRuntime { return job.ContainerRuntime{ProofImage: s} })

	var versions types.Map
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("versions"), &versions)...)
	for component, element := range versions.Elements() {
		if version, ok := element.(types.String); ok && !version.IsUnknown() {
			check(path.Root("versions").AtMapKey(component),
				job.ContainerRuntime{Versions: map[string]string{component: version.ValueString()}})
		}
	}
	each := func(name string, into func(string) job.ContainerRuntime) {
		var list types.List
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root(name), &list)...)
		for i, element := range list.Elements() {
			if value, ok := element.(types.String); ok && !value.IsUnknown() {
				check(path.Root(name).AtListIndex(i), into(value.ValueString()))
			}
		}
	}
	each("images", func(s string) job.ContainerRuntime { return job.ContainerRuntime{Images: []string{s}} })
	each("insecure_registries", func(s string) job.ContainerRuntime { return job.ContainerRuntime{InsecureRegistries: []string{s}} })
}
