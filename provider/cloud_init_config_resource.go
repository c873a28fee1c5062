// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
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

func (r *cloudInitConfigResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m cloudInitConfigModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(m.validate(ctx)...)
	}
}

// ModifyPlan plans the outputs. A changed cloud-config shows as one changed sha256 and its sizes; the long
// texts stay "known after apply", which keeps walls of base64 out of the plan.
func (r *cloudInitConfigResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || !req.Config.Raw.IsFullyKnown() {
		return
	}
	var planned cloudInitConfigModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	if resp.Diagnostics.HasError() {
		return
	}
	out, diags := planned.render(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}

	var present cloudInitConfigModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &present)...)
	}
	if present.SHA256.ValueString() == out.SHA256 {
		planned.copyOutput(present)
	} else {
		planned.fromOutput(out)
		planned.Rendered, planned.Base64, planned.GzipBase64 = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &planned)...)
}

// copyOutput takes over the outputs for an unchanged cloud-config. Another version of the provider might
// compress the same text to other bytes; what instances were launched with stays.
func (m *cloudInitConfigModel) copyOutput(from cloudInitConfigModel) {
	m.Rendered, m.Base64, m.GzipBase64 = from.Rendered, from.Base64, from.GzipBase64
	m.SHA256, m.SizeBytes, m.GzipSizeBytes = from.SHA256, from.SizeBytes, from.GzipSizeBytes
}

func (r *cloudInitConfigResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.apply(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

func (r *cloudInitConfigResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.apply(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

func (r *cloudInitConfigResource) apply(ctx context.Context, plan tfsdk.Plan, state *tfsdk.State, diags *diag.Diagnostics) {
	var m cloudInitConfigModel
	diags.Append(plan.Get(ctx, &m)...)
	if diags.HasError() {
		return
	}
	if m.Rendered.IsUnknown() {
		out, rendering := m.render(ctx)
		diags.Append(rendering...)
		if diags.HasError() {
			return
		}
		m.fromOutput(out)
	}
	diags.Append(state.Set(ctx, &m)...)
}

// Read keeps the state: the cloud-config is nowhere else.
func (r *cloudInitConfigResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {
}

// Delete only forgets: nodes keep what they were launched with.
func (r *cloudInitConfigResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
}
