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

// addOCIError reports a failure of OCI: what happened, OCI's own words and request id, what to do next.
func addOCIError(diags *diag.Diagnostics, verb, thing, name string, err error) {
	diags.AddError(unableTo(verb, thing, name), oci.Explain(err).String())
}
