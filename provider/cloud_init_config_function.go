// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/cloudinit"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

var _ function.Function = (*cloudInitConfigFunction)(nil)

type cloudInitConfigFunction struct{}

// NewCloudInitConfigFunction gives the function cloud_init_config, for Terraform 1.8 and later.
func NewCloudInitConfigFunction() function.Function { return &cloudInitConfigFunction{} }

func (f *cloudInitConfigFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "cloud_init_config"
}

// cloudInitResult is what the function gives.
var cloudInitResult = map[string]attr.Type{
	"rendered": types.StringType, "base64": types.StringType, "gzip_base64": types.StringType,
	"sha256": types.StringType, "size_bytes": types.Int64Type, "gzip_size_bytes": types.Int64Type,
}

func (f *cloudInitConfigFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Gives the cloud-config of a GPU node",
		MarkdownDescription: "Takes an object with the arguments of the data source `ocihpc_cloud_init_config`, of which `shape` alone is required, " +
			"and gives an object with its outputs: `rendered`, `base64`, `gzip_base64`, `sha256`, `size_bytes` and `gzip_size_bytes`.",
		Parameters: []function.Parameter{function.DynamicParameter{
			Name:                "node",
			MarkdownDescription: "Description of the node, by the names of the data source's arguments.",
		}},
		Return: function.ObjectReturn{AttributeTypes: cloudInitResult},
	}
}

func (f *cloudInitConfigFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var node types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &node); resp.Error != nil {
		return
	}
	out, err := renderDynamic(ctx, node)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	outputs := outputsOf(out)
	resp.Error = resp.Result.Set(ctx, outputs)
}

// renderDynamic renders a value of any type that describes a node.
func renderDynamic(ctx context.Context, node types.Dynamic) (cloudinit.Output, error) {
	raw, err := node.UnderlyingValue().ToTerraformValue(ctx)
	if err != nil {
		return cloudinit.Output{}, fmt.Errorf("read the argument: %w", err)
	}
	if err := checkFields(raw, "", field{kind: objectField, fields: inputs(cloudInitFields())}); err != nil {
		return cloudinit.Output{}, err
	}
	out, diags := renderCloudInit(raw)
	if diags.HasError() {
		var all []string
		for _, d := range diags.Errors() {
			all = append(all, d.Summary()+": "+d.Detail())
		}
		return cloudinit.Output{}, fmt.Errorf("%s", strings.Join(all, "\n"))
	}
	return out, nil
}

func inputs(fields []field) []field {
	return slices.DeleteFunc(fields, func(f field) bool { return f.computed })
}

// checkFields holds a value against a field, as Terraform does by itself for a resource.
func checkFields(v tftypes.Value, at string, f field) error {
	if v.IsNull() {
		return nil
	}
	switch f.kind {
	case textField:
		return mustBe(v, at, tftypes.String, "a string")
	case flagField:
		return mustBe(v, at, tftypes.Bool, "true or false")
	case numberField:
		return mustBe(v, at, tftypes.Number, "a number")
	case textsField, objectListField:
		return checkItems(v, at, f)
	default:
		return checkObject(v, at, f)
	}
}

func checkItems(v tftypes.Value, at string, f field) error {
	var items []tftypes.Value
	if err := v.As(&items); err != nil {
		return fmt.Errorf("%s must be a list", at)
	}
	for i, item := range items {
		if err := checkFields(item, fmt.Sprintf("%s[%d]", at, i), f.item()); err != nil {
			return err
		}
	}
	return nil
}

func checkObject(v tftypes.Value, at string, f field) error {
	var members map[string]tftypes.Value
	if err := v.As(&members); err != nil {
		return fmt.Errorf("%s must be an object", orArgument(at))
	}
	if f.kind == objectField {
		return checkMembers(members, at, f.fields)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := checkFields(members[name], fmt.Sprintf("%s[%q]", at, name), f.item()); err != nil {
			return err
		}
	}
	return nil
}

// item is the field that each item of a list or map is.
func (f field) item() field {
	if f.kind == textsField || f.kind == textMapField {
		return field{kind: textField}
	}
	return field{kind: objectField, fields: f.fields}
}

func checkMembers(members map[string]tftypes.Value, at string, fields []field) error {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
		inside := strings.TrimPrefix(at+"."+f.name, ".")
		member, given := members[f.name]
		if f.required && (!given || member.IsNull()) {
			return fmt.Errorf("%s is required", inside)
		}
		if given {
			if err := checkFields(member, inside, f); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(names, name) {
			continue
		}
		meant := ""
		if nearest, ok := shape.Nearest(name, names); ok {
			meant = fmt.Sprintf("; did you mean %s?", nearest)
		}
		return fmt.Errorf("%s has no argument %s%s", orArgument(at), name, meant)
	}
	return nil
}

func orArgument(at string) string {
	if at == "" {
		return "the argument"
	}
	return at
}

func mustBe(v tftypes.Value, at string, kind tftypes.Type, what string) error {
	if !v.Type().Is(kind) {
		return fmt.Errorf("%s must be %s", at, what)
	}
	return nil
}
