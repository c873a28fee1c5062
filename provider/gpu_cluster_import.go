// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// ImportState takes what the id attribute has. The read that follows brings all else.
func (r *gpuClusterResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if _, err := oci.InterconnectOf(req.ID); err != nil {
		resp.Diagnostics.AddError(unableTo("import", gpuCluster, req.ID), err.Error())
		return
	}
	resource.ImportStatePassthroughID(ctx, path.Root("id"), req, resp)
}
