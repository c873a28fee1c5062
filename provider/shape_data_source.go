// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

type shapeDataSource struct{}

// NewShapeDataSource gives the data source ocihpc_shape.
func NewShapeDataSource() datasource.DataSource { return &shapeDataSource{} }

func (d *shapeDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_shape"
}

func (d *shapeDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = shapeDataSourceSchema()
}

func (d *shapeDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var name types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("name"), &name)...)
	if resp.Diagnostics.HasError() {
		return
	}
	m := newShapeModel(ctx, name)
	if !name.IsNull() {
		known, ok := shape.Lookup(name.ValueString())
		if !ok {
			resp.Diagnostics.AddAttributeError(path.Root("name"), "Unknown shape", unknownShape(name.ValueString()))
			return
		}
		m.fill(ctx, known)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func unknownShape(name string) string {
	detail := fmt.Sprintf("The catalog has no shape %q.", name)
	if nearest, ok := shape.Suggest(name); ok {
		detail += fmt.Sprintf(" Is %s meant?", nearest)
	}
	return detail + " It has: " + strings.Join(shape.Names(), ", ") + "."
}
