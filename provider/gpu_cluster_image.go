// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// imageSelector gives the user's selector. It is known when all that it depends on is.
func (m *gpuClusterModel) imageSelector() (selector oci.ImageSelector, known bool) {
	known = !m.Image.IsUnknown()
	text := func(name string) string {
		v, _ := m.Image.Attributes()[name].(types.String)
		known = known && !v.IsUnknown()
		return v.ValueString()
	}
	selector = oci.ImageSelector{
		CompartmentID:          text("compartment_id"),
		OperatingSystem:        text("operating_system"),
		OperatingSystemVersion: text("operating_system_version"),
		DisplayNamePattern:     text("name_pattern"),
		Shape:                  m.Shape.ValueString(),
	}
	if selector.CompartmentID == "" {
		selector.CompartmentID = m.CompartmentID.ValueString()
		known = known && !m.CompartmentID.IsUnknown()
	}
	return selector, known && !m.Shape.IsUnknown()
}

// planImage pins the image that was selected before as long as the selector stays, and selects one when
// that can be done already.
func (r *gpuClusterResource) planImage(ctx context.Context, plan, state *gpuClusterModel, diags *diag.Diagnostics) {
	if plan.Image.IsNull() {
		return
	}
	if state != nil && plan.Image.Equal(state.Image) && plan.Shape.Equal(state.Shape) && !state.ImageID.IsNull() {
		plan.ImageID = state.ImageID
		return
	}
	plan.ImageID = types.StringUnknown()
	if _, known := plan.imageSelector(); !known {
		return
	}
	clusters := r.planning(diags)
	if clusters == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	err := plan.resolveImage(ctx, clusters, state)
	switch oci.KindOf(err) {
	case oci.Unreachable, oci.Unavailable, oci.Throttled, oci.TimedOut, oci.Interrupted: // That OCI does not answer is no verdict.
		tflog.Warn(ctx, "The image is selected at apply: "+err.Error())
	default:
		plan.addImageError(diags, err)
	}
}

// resolveImage selects the image, unless it is known already. A cluster that had no selector, such as one
// that was imported, keeps its image if that suits.
func (m *gpuClusterModel) resolveImage(ctx context.Context, clusters *oci.Clusters, state *gpuClusterModel) error {
	if !m.ImageID.IsUnknown() {
		return nil
	}
	selector, _ := m.imageSelector()
	if state != nil && state.Image.IsNull() && m.Shape.Equal(state.Shape) {
		suits, err := clusters.ImageSuits(ctx, state.ImageID.ValueString(), selector)
		if err != nil {
			return err
		}
		if suits {
			m.ImageID = state.ImageID
			return nil
		}
	}
	found, err := clusters.FindImage(ctx, selector)
	if err != nil {
		return err
	}
	m.ImageID = types.StringValue(found.ID)
	return nil
}

func (m *gpuClusterModel) addImageError(diags *diag.Diagnostics, err error) {
	if err != nil {
		diags.AddAttributeError(path.Root("image"), unableTo("find an image for", gpuCluster, nameOf(m)), explain(err))
	}
}
