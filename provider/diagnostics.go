// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// unableTo is the summary of every diagnostic about an operation that failed.
func unableTo(verb, thing, name string) string {
	return fmt.Sprintf("Unable to %s %s %q", verb, thing, name)
}

// addClusterError reports a failure of OCI about a GPU cluster: what happened, OCI's own words and request id, what to do next.
func addClusterError(diags *diag.Diagnostics, verb, name string, err error) {
	diags.AddError(unableTo(verb, gpuCluster, name), oci.Explain(err).String())
}
