// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ resource.ResourceWithValidateConfig = (*cloudInitConfigResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*cloudInitConfigResource)(nil)
)

type cloudInitConfigResource struct{}

// NewCloudInitConfigResource gives the resource ocihpc_cloud_init_config.
func NewCloudInitConfigResource() resource.Resource { return &cloudInitConfigResource{} }

func (r *cloudInitConfigResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_cloud_init_config"
}

func (r *cloudInitConfigResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = cloudInitConfigResourceSchema()
}

func (r *cloudInitConfigResource) ValidateConfig(_ context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	_, resp.Diagnostics = validateCloudInit(req.Config.Raw)
}

// ModifyPlan plans the outputs. A changed cloud-config shows as one changed sha256 and its sizes; the long
// texts are sensitive, which keeps walls of base64 out of what Terraform prints, and planned when applied, which
// keeps them out of saved plans.
func (r *cloudInitConfigResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || !req.Config.Raw.IsFullyKnown() {
		return
	}
	out, diags := renderCloudInit(req.Config.Raw)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	var planned cloudInitOutputs
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(planned.get(ctx, &req.State)...)
		resp.Diagnostics.Append(keepParts(ctx, req.State, &resp.Plan)...)
	}
	// Where the text is the same, what instances were launched with stays: another version of the provider
	// might compress it to other bytes.
	if planned.SHA256.ValueString() != out.SHA256 {
		planned = outputsOf(out)
		planned.Rendered, planned.Base64, planned.GzipBase64 = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	}
	resp.Diagnostics.Append(planned.set(ctx, &resp.Plan)...)
}

// keepParts plans no change of a part that says the same in another form.
func keepParts(ctx context.Context, state tfsdk.State, plan *tfsdk.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	before, err := cloudInitConfigOf(state.Raw)
	if err != nil {
		return diags // the state of another version
	}
	after, err := cloudInitConfigOf(plan.Raw)
	if err != nil {
		return diags // said before
	}
	for i := range min(len(before.Parts), len(after.Parts)) {
		if before.Parts[i].Normal() == after.Parts[i].Normal() {
			at := path.Root("parts").AtListIndex(i).AtName("content")
			diags.Append(plan.SetAttribute(ctx, at, before.Parts[i].Content)...)
		}
	}
	return diags
}

func (r *cloudInitConfigResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.apply(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

func (r *cloudInitConfigResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.apply(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

func (r *cloudInitConfigResource) apply(ctx context.Context, plan tfsdk.Plan, state *tfsdk.State, diags *diag.Diagnostics) {
	state.Raw = plan.Raw
	var rendered types.String
	diags.Append(plan.GetAttribute(ctx, path.Root("rendered"), &rendered)...)
	if diags.HasError() || !rendered.IsUnknown() {
		return
	}
	out, rendering := renderCloudInit(plan.Raw)
	diags.Append(rendering...)
	if diags.HasError() {
		return
	}
	outputs := outputsOf(out)
	diags.Append(outputs.set(ctx, state)...)
}

// Read keeps the state: the cloud-config is nowhere else.
func (r *cloudInitConfigResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {
}

// Delete only forgets: nodes keep what they were launched with.
func (r *cloudInitConfigResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
}
