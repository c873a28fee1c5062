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

// planImage pins the image that was selected before as long as the selector stays. Otherwise the apply
// selects: an image that appears between plan and apply must not contradict the plan. That there is one at
// all is looked at now.
func (r *gpuClusterResource) planImage(ctx context.Context, config, plan, state *gpuClusterModel, diags *diag.Diagnostics) {
	if plan.Image.IsNull() || !config.ImageID.IsNull() { // of which one may turn out to be none
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
	id, kept, err := plan.selectImage(ctx, clusters, state)
	if kept {
		plan.ImageID = types.StringValue(id)
	}
	switch oci.KindOf(err) {
	case oci.Unreachable, oci.Unavailable, oci.Throttled, oci.TimedOut, oci.Interrupted: // That OCI does not answer is no verdict.
		tflog.Warn(ctx, "The image is selected at apply: "+err.Error())
	default:
		plan.addImageError(diags, err)
	}
}

// resolveImage selects the image, unless it is known already.
func (m *gpuClusterModel) resolveImage(ctx context.Context, clusters *oci.Clusters, state *gpuClusterModel) error {
	if !m.ImageID.IsUnknown() {
		return nil
	}
	id, _, err := m.selectImage(ctx, clusters, state)
	if err == nil {
		m.ImageID = types.StringValue(id)
	}
	return err
}

// selectImage gives the OCID of the image that suits best now. A cluster that had no selector, such as one
// that was imported, keeps its image if that suits.
func (m *gpuClusterModel) selectImage(ctx context.Context, clusters *oci.Clusters, state *gpuClusterModel) (id string, kept bool, err error) {
	selector, _ := m.imageSelector()
	if state != nil && state.Image.IsNull() && m.Shape.Equal(state.Shape) {
		id = state.ImageID.ValueString()
		if kept, err = clusters.ImageSuits(ctx, id, selector); kept || err != nil {
			return id, kept, err
		}
	}
	found, err := clusters.FindImage(ctx, selector)
	return found.ID, false, err
}

func (m *gpuClusterModel) addImageError(diags *diag.Diagnostics, err error) {
	if err != nil {
		diags.AddAttributeError(path.Root("image"), unableTo("find an image for", gpuCluster, nameOf(m)), explain(err))
	}
}
