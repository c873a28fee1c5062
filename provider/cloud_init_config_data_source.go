// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
)

var _ datasource.DataSourceWithValidateConfig = (*cloudInitConfigDataSource)(nil)

type cloudInitConfigDataSource struct{}

// NewCloudInitConfigDataSource gives the data source ocihpc_cloud_init_config.
func NewCloudInitConfigDataSource() datasource.DataSource { return &cloudInitConfigDataSource{} }

func (d *cloudInitConfigDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_cloud_init_config"
}

func (d *cloudInitConfigDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = cloudInitConfigDataSourceSchema()
}

func (d *cloudInitConfigDataSource) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var m cloudInitConfigModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(m.validate(ctx)...)
	}
}

func (d *cloudInitConfigDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m cloudInitConfigModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	out, diags := m.render(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	m.fromOutput(out)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
