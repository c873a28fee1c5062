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

func (d *cloudInitConfigDataSource) ValidateConfig(_ context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	_, resp.Diagnostics = validateCloudInit(req.Config.Raw)
}

func (d *cloudInitConfigDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	out, diags := renderCloudInit(req.Config.Raw)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	outputs := outputsOf(out)
	resp.State.Raw = req.Config.Raw
	resp.Diagnostics.Append(outputs.set(ctx, &resp.State)...)
}
