// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// providerModel is the provider's configuration as the user wrote it.
type providerModel struct {
	Auth               types.String `tfsdk:"auth"`
	TenancyOCID        types.String `tfsdk:"tenancy_ocid"`
	UserOCID           types.String `tfsdk:"user_ocid"`
	Fingerprint        types.String `tfsdk:"fingerprint"`
	PrivateKey         types.String `tfsdk:"private_key"`
	PrivateKeyPath     types.String `tfsdk:"private_key_path"`
	PrivateKeyPassword types.String `tfsdk:"private_key_password"`
	Region             types.String `tfsdk:"region"`
	ConfigFileProfile  types.String `tfsdk:"config_file_profile"`
	Endpoint           types.String `tfsdk:"endpoint"`
	SSHPrivateKey      types.String `tfsdk:"ssh_private_key"`
	RunnerPath         types.String `tfsdk:"runner_path"`
}

// providerData is what the provider hands to its resources and data sources.
type providerData struct {
	SSHPrivateKey string // empty when none is set
	RunnerPath    string // empty means the embedded runner
	Version       string

	// dropped are the IDs of measurements that this run of the provider took out of the state.
	dropped sync.Map
	// clusters is built at first use: what needs no OCI needs no credentials either.
	clusters func() (*oci.Clusters, error)
}

func (m providerModel) toData(version string, adjust func(*oci.Clusters)) *providerData {
	return &providerData{
		SSHPrivateKey: cmp.Or(m.SSHPrivateKey.ValueString(), os.Getenv("OCIHPC_SSH_PRIVATE_KEY")),
		RunnerPath:    cmp.Or(m.RunnerPath.ValueString(), os.Getenv("OCIHPC_RUNNER_PATH")),
		Version:       version,
		clusters: sync.OnceValues(func() (*oci.Clusters, error) {
			clients, err := m.clients(version)
			if err != nil {
				return nil, err
			}
			clusters := oci.NewClusters(clients)
			if adjust != nil {
				adjust(clusters)
			}
			return clusters, nil
		}),
	}
}

// errNotKnownYet is met in plans only.
var errNotKnownYet = errors.New("not known yet")

func (m providerModel) clients(version string) (*oci.Clients, error) {
	for name, value := range map[string]types.String{
		"auth": m.Auth, "tenancy_ocid": m.TenancyOCID, "user_ocid": m.UserOCID, "fingerprint": m.Fingerprint,
		"private_key": m.PrivateKey, "private_key_path": m.PrivateKeyPath, "private_key_password": m.PrivateKeyPassword,
		"region": m.Region, "config_file_profile": m.ConfigFileProfile, "endpoint": m.Endpoint,
	} {
		if value.IsUnknown() {
			return nil, fmt.Errorf("the provider's %s is %w: it depends on something that is still to be created. Apply that first, with -target", name, errNotKnownYet)
		}
	}
	config := oci.Config{
		Auth:               oci.Auth(m.Auth.ValueString()),
		TenancyOCID:        m.TenancyOCID.ValueString(),
		UserOCID:           m.UserOCID.ValueString(),
		Fingerprint:        m.Fingerprint.ValueString(),
		PrivateKey:         m.PrivateKey.ValueString(),
		PrivateKeyPath:     m.PrivateKeyPath.ValueString(),
		PrivateKeyPassword: m.PrivateKeyPassword.ValueString(),
		Region:             m.Region.ValueString(),
		ConfigFileProfile:  m.ConfigFileProfile.ValueString(),
		Endpoint:           m.Endpoint.ValueString(),
		Version:            version,
	}
	return oci.NewClients(config.WithEnvironment())
}

// providerDataFrom gives a resource or data source what Configure brought; nil while Terraform only
// validates.
func providerDataFrom(configured any, diags *diag.Diagnostics) *providerData {
	if configured == nil {
		return nil
	}
	data, ok := configured.(*providerData)
	if !ok {
		diags.AddError("Unable to configure the provider",
			fmt.Sprintf("The provider handed %T to its own resource. This is a bug in the provider: please report it.", configured))
	}
	return data
}
