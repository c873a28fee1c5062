// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/cloudinit"
)

// cloudInitConfigOf converts what is known of a configuration. In the place of what is not yet known stands
// something valid, so that the rest can be checked in the plan.
func cloudInitConfigOf(raw tftypes.Value) (cloudinit.Config, error) {
	c := cloudinit.Config{GrowRoot: true}
	document, err := known(raw)
	if err != nil {
		return c, err
	}
	text, err := json.Marshal(document)
	if err != nil {
		return c, fmt.Errorf("read the configuration: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read the configuration: %w", err)
	}
	return c, nil
}

// known is a value in Go's own types, without what is null or unknown; but a list keeps its length, and a
// text in a list or map that is not known yet is replaced by a name that nothing else has.
func known(v tftypes.Value) (any, error) {
	switch {
	case !v.IsKnown() || v.IsNull():
		return nil, nil
	case v.Type().Is(tftypes.String):
		var s string
		err := v.As(&s)
		return s, err
	case v.Type().Is(tftypes.Bool):
		var b bool
		err := v.As(&b)
		return b, err
	case v.Type().Is(tftypes.Number):
		var n big.Float
		err := v.As(&n)
		return json.Number(n.Text('f', -1)), err
	case v.Type().Is(tftypes.List{}) || v.Type().Is(tftypes.Tuple{}) || v.Type().Is(tftypes.Set{}):
		var items []tftypes.Value
		if err := v.As(&items); err != nil {
			return nil, err
		}
		return knownItems(items)
	default:
		var members map[string]tftypes.Value
		if err := v.As(&members); err != nil {
			return nil, err
		}
		return knownMembers(members, v.Type().Is(tftypes.Map{}))
	}
}

func knownItems(items []tftypes.Value) ([]any, error) {
	all := []any{}
	for i, item := range items {
		plain, err := known(item)
		if err != nil {
			return nil, err
		}
		if plain == nil {
			plain = placeholder(item, i)
		}
		all = append(all, plain)
	}
	return all, nil
}

func knownMembers(members map[string]tftypes.Value, isMap bool) (map[string]any, error) {
	all := map[string]any{}
	for name, member := range members {
		plain, err := known(member)
		if err != nil {
			return nil, err
		}
		if plain == nil && isMap {
			plain = placeholder(member, len(all))
		}
		if plain != nil {
			all[name] = plain
		}
	}
	return all, nil
}

// placeholder keeps the place of an item: a null text is an empty one, which is refused.
func placeholder(item tftypes.Value, i int) any {
	switch {
	case !item.Type().Is(tftypes.String):
		return map[string]any{}
	case item.IsKnown():
		return ""
	}
	return cloudinit.Unknown(i)
}

// validateCloudInit reports what would not work on a node, each at its attribute.
func validateCloudInit(raw tftypes.Value) (cloudinit.Config, diag.Diagnostics) {
	var diags diag.Diagnostics
	c, err := cloudInitConfigOf(raw)
	if err != nil {
		diags.AddError("Unable to read the configuration", err.Error())
		return c, diags
	}
	for _, p := range cloudinit.Validate(c) {
		diags.AddAttributeError(attributePath(p), "Invalid "+p.Attribute(), p.Message)
	}
	return c, diags
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

// renderCloudInit checks and renders a configuration whose values are all known.
func renderCloudInit(raw tftypes.Value) (cloudinit.Output, diag.Diagnostics) {
	c, diags := validateCloudInit(raw)
	if diags.HasError() {
		return cloudinit.Output{}, diags
	}
	out := cloudinit.Render(c)
	if err := out.CheckSize(); err != nil {
		diags.AddError("The cloud-config is too large", err.Error())
		return cloudinit.Output{}, diags
	}
	if out.FitsOnlyPacked() {
		diags.AddWarning("The cloud-config fits only compressed", fmt.Sprintf(
			"base64 has %d bytes, and OCI takes %d. Use gzip_base64, which has %d, as user_data.",
			len(out.Base64), cloudinit.MaxUserDataBytes, len(out.GzipBase64())))
	}
	return out, diags
}

// cloudInitOutputs are the computed attributes.
type cloudInitOutputs struct {
	Rendered      types.String `tfsdk:"rendered"`
	Base64        types.String `tfsdk:"base64"`
	GzipBase64    types.String `tfsdk:"gzip_base64"`
	SHA256        types.String `tfsdk:"sha256"`
	SizeBytes     types.Int64  `tfsdk:"size_bytes"`
	GzipSizeBytes types.Int64  `tfsdk:"gzip_size_bytes"`
}

func outputsOf(out cloudinit.Output) cloudInitOutputs {
	packed := out.GzipBase64()
	return cloudInitOutputs{
		Rendered:      types.StringValue(out.Rendered),
		Base64:        types.StringValue(out.Base64),
		GzipBase64:    types.StringValue(packed),
		SHA256:        types.StringValue(out.SHA256),
		SizeBytes:     types.Int64Value(int64(len(out.Base64))),
		GzipSizeBytes: types.Int64Value(int64(len(packed))),
	}
}

// attributeSetter is a state or a plan.
type attributeSetter interface {
	SetAttribute(ctx context.Context, at path.Path, value any) diag.Diagnostics
}

// attributeGetter is a state or a plan.
type attributeGetter interface {
	GetAttribute(ctx context.Context, at path.Path, target any) diag.Diagnostics
}

func (o *cloudInitOutputs) byName() map[string]any {
	return map[string]any{
		"rendered": &o.Rendered, "base64": &o.Base64, "gzip_base64": &o.GzipBase64,
		"sha256": &o.SHA256, "size_bytes": &o.SizeBytes, "gzip_size_bytes": &o.GzipSizeBytes,
	}
}

func (o *cloudInitOutputs) set(ctx context.Context, in attributeSetter) diag.Diagnostics {
	var diags diag.Diagnostics
	for name, value := range o.byName() {
		diags.Append(in.SetAttribute(ctx, path.Root(name), value)...)
	}
	return diags
}

func (o *cloudInitOutputs) get(ctx context.Context, from attributeGetter) diag.Diagnostics {
	var diags diag.Diagnostics
	for name, target := range o.byName() {
		diags.Append(from.GetAttribute(ctx, path.Root(name), target)...)
	}
	return diags
}
