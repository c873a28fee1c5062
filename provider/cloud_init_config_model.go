// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/cloudinit"
)

// cloudInitConfigModel is shared by the resource and the data source.
type cloudInitConfigModel struct {
	Shape      types.String `tfsdk:"shape"`
	Timezone   types.String `tfsdk:"timezone"`
	GrowRoot   types.Bool   `tfsdk:"grow_root"`
	Firewall   types.Object `tfsdk:"firewall"`
	NVMe       types.Object `tfsdk:"nvme"`
	Packages   types.List   `tfsdk:"packages"`
	WriteFiles types.Map    `tfsdk:"write_files"`
	Runcmd     types.List   `tfsdk:"runcmd"`

	Rendered      types.String `tfsdk:"rendered"`
	Base64        types.String `tfsdk:"base64"`
	GzipBase64    types.String `tfsdk:"gzip_base64"`
	SHA256        types.String `tfsdk:"sha256"`
	SizeBytes     types.Int64  `tfsdk:"size_bytes"`
	GzipSizeBytes types.Int64  `tfsdk:"gzip_size_bytes"`
}

type cloudInitFirewallModel struct {
	Enabled types.Bool `tfsdk:"enabled"`
}

type cloudInitNVMeModel struct {
	Layout       types.String `tfsdk:"layout"`
	MountPoint   types.String `tfsdk:"mount_point"`
	Label        types.String `tfsdk:"label"`
	MountOptions types.String `tfsdk:"mount_options"`
}

type cloudInitFileModel struct {
	Content     types.String `tfsdk:"content"`
	Permissions types.String `tfsdk:"permissions"`
}

// toConfig converts what is known. In the place of what is not yet known stands something valid, so that
// the rest can be checked in the plan.
func (m *cloudInitConfigModel) toConfig(ctx context.Context) (cloudinit.Config, diag.Diagnostics) {
	var diags diag.Diagnostics
	c := cloudinit.Config{
		Shape:    m.Shape.ValueString(),
		Timezone: m.Timezone.ValueString(),
		GrowRoot: m.GrowRoot.IsNull() || m.GrowRoot.ValueBool(),
		Packages: textsOf(m.Packages),
		Runcmd:   textsOf(m.Runcmd),
	}
	if isSet(m.Firewall) {
		var f cloudInitFirewallModel
		diags.Append(m.Firewall.As(ctx, &f, basetypes.ObjectAsOptions{})...)
		c.Firewall = f.Enabled.ValueBoolPointer()
	}
	if isSet(m.NVMe) {
		var n cloudInitNVMeModel
		diags.Append(m.NVMe.As(ctx, &n, basetypes.ObjectAsOptions{})...)
		preset := cloudinit.DefaultNVMe()
		c.NVMe = &cloudinit.NVMe{
			Layout:       cloudinit.Layout(textOr(n.Layout, string(preset.Layout))),
			MountPoint:   textOr(n.MountPoint, preset.MountPoint),
			Label:        textOr(n.Label, preset.Label),
			MountOptions: textOr(n.MountOptions, preset.MountOptions),
		}
	}
	if isSet(m.WriteFiles) {
		c.WriteFiles = map[string]cloudinit.File{}
	}
	for name, element := range m.WriteFiles.Elements() {
		object, ok := element.(types.Object)
		if !ok || object.IsUnknown() {
			continue
		}
		var f cloudInitFileModel
		diags.Append(object.As(ctx, &f, basetypes.ObjectAsOptions{})...)
		c.WriteFiles[name] = cloudinit.File{
			Content:     f.Content.ValueString(),
			Permissions: textOr(f.Permissions, cloudinit.DefaultPermissions),
		}
	}
	return c, diags
}

func isSet(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

// textOr is a string, or a preset while it is null or unknown.
func textOr(v types.String, preset string) string {
	if isSet(v) {
		return v.ValueString()
	}
	return preset
}

// textsOf is a list of strings. An unknown one keeps its place, by a name that nothing else has.
func textsOf(list types.List) []string {
	var texts []string
	for i, element := range list.Elements() {
		s, ok := element.(types.String)
		switch {
		case !ok:
		case s.IsUnknown():
			texts = append(texts, fmt.Sprintf("unknown-%d", i))
		default:
			texts = append(texts, s.ValueString())
		}
	}
	return texts
}

// validate reports what would not work on a node, each at its attribute.
func (m *cloudInitConfigModel) validate(ctx context.Context) diag.Diagnostics {
	c, diags := m.toConfig(ctx)
	if diags.HasError() {
		return diags
	}
	for _, p := range cloudinit.Validate(c) {
		diags.AddAttributeError(attributePath(p), "Invalid "+p.Attribute(), p.Message)
	}
	return diags
}

func attributePath(p cloudinit.Problem) path.Path {
	at := path.Empty()
	for _, step := range p.Path {
		switch step := step.(type) {
		case string:
			at = at.AtName(step)
		case cloudinit.Key:
			at = at.AtMapKey(string(step))
		case int:
			at = at.AtListIndex(step)
		}
	}
	return at
}

// render checks and renders a configuration whose values are all known.
func (m *cloudInitConfigModel) render(ctx context.Context) (cloudinit.Output, diag.Diagnostics) {
	diags := m.validate(ctx)
	if diags.HasError() {
		return cloudinit.Output{}, diags
	}
	c, _ := m.toConfig(ctx)
	out, err := cloudinit.Render(c)
	if err != nil {
		diags.AddError("Unable to render the cloud-config", err.Error())
		return cloudinit.Output{}, diags
	}
	if err := out.CheckSize(); err != nil {
		diags.AddError("The cloud-config is too large", err.Error())
		return cloudinit.Output{}, diags
	}
	if out.FitsOnlyPacked() {
		diags.AddWarning("The cloud-config fits only compressed", fmt.Sprintf(
			"base64 has %d bytes, and OCI takes %d. Use gzip_base64, which has %d, as user_data.",
			len(out.Base64), cloudinit.MaxUserDataBytes, len(out.GzipBase64)))
	}
	return out, diags
}

func (m *cloudInitConfigModel) fromOutput(out cloudinit.Output) {
	m.Rendered = types.StringValue(out.Rendered)
	m.Base64 = types.StringValue(out.Base64)
	m.GzipBase64 = types.StringValue(out.GzipBase64)
	m.SHA256 = types.StringValue(out.SHA256)
	m.SizeBytes = types.Int64Value(int64(len(out.Base64)))
	m.GzipSizeBytes = types.Int64Value(int64(len(out.GzipBase64)))
}
