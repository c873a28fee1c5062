// SPDX-License-Identifier: MPL-2.0

// Package provider is the Terraform side: schemas, plans, state and diagnostics. What is done to OCI and
// to nodes lives below internal.
package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// Address of the provider in the registry.
const Address = "registry.terraform.io/ocihpc/ocihpc"

var _ provider.ProviderWithFunctions = (*ocihpcProvider)(nil)

// New gives the provider of a version.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &ocihpcProvider{version: version} }
}

type ocihpcProvider struct {
	version string
	adjust  func(*oci.Clusters) // for tests; nil otherwise
}

func (p *ocihpcProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "ocihpc"
	resp.Version = p.version
}

func (p *ocihpcProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "GPU clusters on Oracle Cloud Infrastructure (OCI): created, set up, and measured before they are handed over. " +
			"The authentication attributes are those of the official `oci` provider; each is also taken from the environment, " +
			"as `TF_VAR_<name>` or `OCI_<NAME>`, and from the OCI configuration file.",
		Attributes: map[string]schema.Attribute{
			"auth": schema.StringAttribute{
				MarkdownDescription: "How to authenticate: `ApiKey` (default), `SecurityToken`, `InstancePrincipal` or `ResourcePrincipal`.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.OneOf(authNames()...)},
			},
			"tenancy_ocid": schema.StringAttribute{
				MarkdownDescription: "OCID of the tenancy, for `ApiKey`.",
				Optional:            true,
			},
			"user_ocid": schema.StringAttribute{
				MarkdownDescription: "OCID of the user, for `ApiKey`.",
				Optional:            true,
			},
			"fingerprint": schema.StringAttribute{
				MarkdownDescription: "Fingerprint of the API signing key, for `ApiKey`.",
				Optional:            true,
			},
			"private_key": schema.StringAttribute{
				MarkdownDescription: "API signing key in PEM form, for `ApiKey`. It goes before `private_key_path`.",
				Optional:            true,
				Sensitive:           true,
			},
			"private_key_path": schema.StringAttribute{
				MarkdownDescription: "File that holds the API signing key, for `ApiKey`.",
				Optional:            true,
			},
			"private_key_password": schema.StringAttribute{
				MarkdownDescription: "Passphrase of the API signing key, where it has one.",
				Optional:            true,
				Sensitive:           true,
			},
			"region": schema.StringAttribute{
				MarkdownDescription: "Region such as `ap-tokyo-1`. Default: the region of the profile or of the principal.",
				Optional:            true,
			},
			"config_file_profile": schema.StringAttribute{
				MarkdownDescription: "Profile of the OCI configuration file (`OCI_CONFIG_FILE`, else `~/.oci/config`). Default: `DEFAULT`; `SecurityToken` needs it.",
				Optional:            true,
			},
			"endpoint": schema.StringAttribute{
				MarkdownDescription: "Address that takes the place of every OCI service, such as a local OCI for tests. " +
					"Plain `http` is allowed to this machine only. Also from `OCIHPC_ENDPOINT`.",
				Optional: true,
			},
			"ssh_private_key": schema.StringAttribute{
				MarkdownDescription: "Private key in OpenSSH or PEM form with which nodes and bastions are logged in to, where a resource names no key of its own. " +
					"It is kept in no state and copied to no node. Also from `OCIHPC_SSH_PRIVATE_KEY`.",
				Optional:  true,
				Sensitive: true,
			},
			"runner_path": schema.StringAttribute{
				MarkdownDescription: "File of an `ocihpc-runner` to use instead of the one in the provider. Also from `OCIHPC_RUNNER_PATH`.",
				Optional:            true,
			},
		},
	}
}

func authNames() []string {
	var names []string
	for _, auth := range oci.Auths {
		names = append(names, string(auth))
	}
	return names
}

func (p *ocihpcProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var m providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	data := m.toData(p.version, p.adjust)
	resp.ResourceData, resp.DataSourceData = data, data
}

func (p *ocihpcProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		NewGPUClusterResource,
		NewCloudInitConfigResource,
		NewContainerRuntimeResource,
		NewNCCLBenchmarkResource,
	}
}

func (p *ocihpcProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{NewCloudInitConfigDataSource, NewShapeDataSource}
}

// Functions for Terraform 1.8 and later; nothing else depends on them.
func (p *ocihpcProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{NewCloudInitConfigFunction, NewParseNCCLTestsFunction}
}
