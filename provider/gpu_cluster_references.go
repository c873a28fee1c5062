// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// reference is what an attribute names by OCID.
type reference struct{ attribute, thing, ocid string }

// references are what the nodes of a cluster are launched with, as far as it is known.
func (m *gpuClusterModel) references() []reference {
	all := []reference{
		{"subnet_id", "subnet", m.SubnetID.ValueString()},
		{"image_id", "image", m.ImageID.ValueString()},
		{"capacity_reservation_id", "capacity reservation", m.CapacityReservationID.ValueString()},
		{"compute_cluster_id", "compute cluster", m.ComputeClusterID.ValueString()},
	}
	for _, group := range stringsOf(m.NSGIDs.Elements()) {
		all = append(all, reference{"nsg_ids", "network security group", group})
	}
	return slices.DeleteFunc(all, func(r reference) bool { return r.ocid == "" })
}

// checkReferences refuses new names of what is not there, and platform settings that the shape does not have:
// before nodes are ended to make room for others that cannot be launched. That OCI does not answer is no verdict.
func (r *gpuClusterResource) checkReferences(ctx context.Context, plan, state *gpuClusterModel, diags *diag.Diagnostics) {
	named := plan.references()
	if state != nil {
		known := state.references()
		named = slices.DeleteFunc(named, func(r reference) bool { return slices.Contains(known, r) })
	}
	platform := plan.asksForPlatform(state)
	if len(named) == 0 && !platform {
		return
	}
	clusters := r.planning(diags)
	if clusters == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	absent := make([]bool, len(named))
	var group errgroup.Group
	for i, reference := range named {
		group.Go(func() error {
			exists, err := clusters.Exists(ctx, reference.ocid)
			absent[i] = err == nil && !exists
			return err
		})
	}
	var unfit error
	if platform {
		group.Go(func() error {
			unfit = clusters.CheckPlatform(ctx, plan.toAPI())
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		tflog.Warn(ctx, "Not all that the nodes are launched with is checked: "+err.Error())
	}
	for i, reference := range named {
		if absent[i] {
			diags.AddAttributeError(path.Root(reference.attribute), unableTo("find", reference.thing, reference.ocid),
				fmt.Sprintf("The region has no %s of this OCID, or this user may not see it: no node can be launched with it. Check %s, the region, and the user's policies.",
					reference.thing, reference.attribute))
		}
	}
	if unfit != nil && oci.KindOf(unfit) == oci.Other {
		diags.AddAttributeError(path.Root("platform_config"), unableTo("launch nodes of", gpuCluster, nameOf(plan)), explain(unfit))
	}
}

// asksForPlatform says that platform settings are new, or are for another shape, and are known.
func (m *gpuClusterModel) asksForPlatform(state *gpuClusterModel) bool {
	if !isSet(m.PlatformConfig) || hasUnknown(m.PlatformConfig) || m.Shape.IsUnknown() || m.AvailabilityDomain.IsUnknown() || m.CompartmentID.IsUnknown() {
		return false
	}
	return state == nil || !m.PlatformConfig.Equal(state.PlatformConfig) || !m.Shape.Equal(state.Shape)
}
