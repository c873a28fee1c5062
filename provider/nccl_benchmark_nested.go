// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// configured reads the nested attribute at a path, such as container, into its model; false where it is left out or not known
// yet, and where there is an error already.
func configured(ctx context.Context, config tfsdk.Config, at path.Path, model any, diags *diag.Diagnostics) bool {
	var settings types.Object
	diags.Append(config.GetAttribute(ctx, at, &settings)...)
	if settings.IsNull() || settings.IsUnknown() || diags.HasError() {
		return false
	}
	diags.Append(config.GetAttribute(ctx, at, model)...)
	return !diags.HasError()
}

// addInvalid says why the nested attribute at a path is none that the job takes; nothing where the error is nil.
func addInvalid(diags *diag.Diagnostics, at path.Path, err error) {
	if err != nil {
		diags.AddAttributeError(at, "Invalid "+at.String(), sentence(strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
}
