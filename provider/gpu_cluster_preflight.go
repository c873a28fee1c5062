// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// preflight warns of what may keep the planned nodes from being launched. It asks within bounds, and is
// never an error.
func (r *gpuClusterResource) preflight(ctx context.Context, plan, state *gpuClusterModel, diags *diag.Diagnostics) {
	more := plan.moreNodes(state)
	if !plan.Preflight.ValueBool() || more <= 0 {
		return
	}
	clusters := r.planning(diags)
	if clusters == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var found []string
	for _, finding := range clusters.Preflight(ctx, plan.toAPI(), more) {
		found = append(found, "- "+endings.Replace(finding.Text))
	}
	if len(found) > 0 {
		diags.AddAttributeWarning(path.Root("preflight"), fmt.Sprintf("The nodes of %q may not all be launched", nameOf(plan)),
			fmt.Sprintf("The plan launches %d × %s. OCI says:\n\n%s\n\nThis is a hint, as of now: the apply tries nevertheless.",
				more, plan.Shape.ValueString(), strings.Join(found, "\n")))
	}
}

// moreNodes says how many hosts a plan needs beyond those that the cluster has, as far as that is known.
func (m *gpuClusterModel) moreNodes(state *gpuClusterModel) int {
	for _, v := range []attr.Value{m.Size, m.Shape, m.AvailabilityDomain, m.CompartmentID, m.CapacityReservationID} {
		if v.IsUnknown() {
			return 0
		}
	}
	more := m.Size.ValueInt64()
	if state != nil && m.Shape.Equal(state.Shape) && m.AvailabilityDomain.Equal(state.AvailabilityDomain) {
		more -= state.CurrentSize.ValueInt64()
	}
	return int(more)
}
