// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"fmt"
	"strings"
)

// Way is how OCI's official Terraform provider reaches a lab.
type Way string

// Ways of the official provider.
const (
	// WayProxy is https by the names of OCI's endpoints, through the lab's proxy: all services.
	WayProxy Way = "proxy"
	// WayHTTP is plain http to the lab's endpoint: all services but the work requests, whose client the
	// provider does not let redirect. It then waits by states.
	WayHTTP Way = "http"
)

// officialClients are those of the official provider that the lab has something for, by the names in
// its CLIENT_HOST_OVERRIDES.
var officialClients = []string{
	"oci_core.BlockstorageClient", "oci_core.ComputeClient", "oci_core.ComputeManagementClient", "oci_core.VirtualNetworkClient",
	"oci_identity.IdentityClient", "oci_limits.LimitsClient", "oci_limits.QuotasClient",
}

// NoProxy are the hosts that Terraform itself needs, and the machine's own.
const NoProxy = "localhost,127.0.0.1,registry.terraform.io,releases.hashicorp.com,checkpoint-api.hashicorp.com,github.com,objects.githubusercontent.com,release-assets.githubusercontent.com"

// OfficialEnviron gives the environment variables that make OCI's official Terraform provider use the
// lab, beside those of [Info.Environ]. The noProxy of the caller's environment stays valid.
func (i Info) OfficialEnviron(way Way, noProxy string) ([]string, error) {
	variables := []string{
		"OCI_TENANCY_OCID=" + i.TenancyOCID, "OCI_USER_OCID=" + i.UserOCID, "OCI_FINGERPRINT=" + i.Fingerprint,
		"OCI_PRIVATE_KEY_PATH=" + i.KeyFile, "OCI_REGION=" + i.Region,
	}
	switch way {
	case WayProxy:
		if noProxy != "" {
			noProxy += ","
		}
		return append(variables, "HTTPS_PROXY="+i.Endpoint, "NO_PROXY="+noProxy+NoProxy,
			"custom_cert_location="+i.CAFile, "OCI_DEFAULT_CERTS_PATH="+i.CAFile), nil
	case WayHTTP:
		overrides := make([]string, len(officialClients))
		for n, client := range officialClients {
			overrides[n] = client + "=" + i.Endpoint
		}
		return append(variables, "CLIENT_HOST_OVERRIDES="+strings.Join(overrides, ";")), nil
	}
	return nil, fmt.Errorf("the official provider's way %q is unknown; choose %q or %q", way, WayProxy, WayHTTP)
}
