// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// ValidateConfig checks what the attributes say together. What is not known yet is not judged.
func (r *gpuClusterResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m gpuClusterModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	m.checkShape(&resp.Diagnostics)
	m.checkMetadata(&resp.Diagnostics)
	m.checkPlacement(&resp.Diagnostics)
	m.checkImage(&resp.Diagnostics)
	if isSet(m.PlatformConfig) && m.platform() == (oci.Platform{}) && !hasUnknown(m.PlatformConfig) {
		resp.Diagnostics.AddAttributeError(path.Root("platform_config"), "Nothing to set",
			"platform_config needs numa_nodes_per_socket or is_symmetric_multi_threading_enabled. Without either, leave it out.")
	}
	if !m.MaxUnavailable.IsNull() && !m.UpdateStrategy.IsUnknown() && !m.rolls() {
		resp.Diagnostics.AddAttributeError(path.Root("max_unavailable"), "Nothing to limit",
			fmt.Sprintf("max_unavailable needs update_strategy = %q: without it no running node is replaced by a change.", rolling))
	}
}

// checkPlacement refuses attributes that belong to another interconnect, or to one that is not set.
func (m *gpuClusterModel) checkPlacement(diags *diag.Diagnostics) {
	if !absent(m.NetworkBlockIDs) && m.HPCIslandID.IsNull() {
		diags.AddAttributeError(path.Root("network_block_ids"), "Network blocks of no HPC island",
			"network_block_ids needs hpc_island_id: the island that the blocks are in.")
	}
	if m.Interconnect.IsUnknown() {
		return
	}
	interconnect := oci.Interconnect(m.Interconnect.ValueString())
	if m.Interconnect.IsNull() {
		interconnect, _ = defaultInterconnect(m.Shape.ValueString())
	}
	adopts := isSet(m.ComputeClusterID)
	if adopts && !m.Interconnect.IsNull() && interconnect != oci.ComputeCluster {
		diags.AddAttributeError(path.Root("compute_cluster_id"), "Two interconnects",
			fmt.Sprintf("compute_cluster_id is for interconnect = %q, not %q. Leave interconnect out, or leave compute_cluster_id out.", oci.ComputeCluster, interconnect))
		return
	}
	var why string
	switch {
	case adopts:
		why = "cannot be chosen with compute_cluster_id: the nodes are placed where that compute cluster is."
	case interconnect == oci.NoInterconnect:
		why = fmt.Sprintf("needs interconnect = %q or %q: a plain instance pool cannot be placed that way.", oci.ClusterNetwork, oci.ComputeCluster)
	default:
		return
	}
	for _, a := range []struct {
		name  string
		value attr.Value
	}{
		{"placement_constraint", m.PlacementConstraint},
		{"hpc_island_id", m.HPCIslandID},
		{"network_block_ids", m.NetworkBlockIDs},
	} {
		if !absent(a.value) {
			diags.AddAttributeError(path.Root(a.name), "Placement without an RDMA network of its own", a.name+" "+why)
		}
	}
}

// checkImage wants one way to choose the image.
func (m *gpuClusterModel) checkImage(diags *diag.Diagnostics) {
	const how = "Set image_id to launch from that very image, or image to have the newest image of a kind found and pinned"
	switch {
	case m.ImageID.IsNull() && m.Image.IsNull():
		diags.AddAttributeError(path.Root("image_id"), "No image", how+".")
	case m.ImageID.IsUnknown() || m.Image.IsUnknown(): // a variable, which may be null
	case !m.ImageID.IsNull() && !m.Image.IsNull():
		diags.AddAttributeError(path.Root("image"), "Two images", how+"; not both.")
	}
}

func (m *gpuClusterModel) checkShape(diags *diag.Diagnostics) {
	name := m.Shape.ValueString()
	if shape.NeedsMemoryCluster(name) {
		diags.AddAttributeError(path.Root("shape"), "Shape needs a GPU memory cluster",
			name+" is offered only in GPU memory clusters, which this resource does not make yet. "+
				"The official provider does: oci_core_compute_gpu_memory_cluster. ocihpc_nccl_benchmark measures nodes of any origin.")
		return
	}
	known, ok := shape.Lookup(name)
	if !ok {
		return
	}
	if known.GPUVendor == shape.AMD {
		diags.AddAttributeError(path.Root("shape"), "Shape with AMD GPUs",
			name+" has AMD GPUs. Set-up and measurement of these need ROCm and RCCL, which the provider does not have yet; NVIDIA defaults would be wrong for them.")
	}
	if known.IsRDMA() {
		return
	}
	if wanted := oci.Interconnect(m.Interconnect.ValueString()); wanted == oci.ClusterNetwork || wanted == oci.ComputeCluster {
		diags.AddAttributeError(path.Root("interconnect"), "Shape without RDMA",
			name+` has no RDMA interfaces, so it can be in no RDMA network. Leave interconnect out, or set it to "none".`)
	}
}

// checkMetadata refuses at plan time what OCI would refuse after minutes.
func (m *gpuClusterModel) checkMetadata(diags *diag.Diagnostics) {
	bytes := 0
	for key, text := range m.toAPI().Launch.AllMetadata() {
		bytes += len(key) + len(text)
	}
	if bytes <= oci.MaxMetadataBytes {
		return
	}
	at := path.Root("metadata")
	if len(m.UserData.ValueString()) > bytes/2 {
		at = path.Root("user_data")
	}
	diags.AddAttributeError(at, "Metadata too large",
		fmt.Sprintf("ssh_authorized_keys, user_data (in base64) and metadata have %d bytes together; OCI takes %d. "+
			"Compress user_data with base64gzip(), or let it fetch the bulk from Object Storage.", bytes, oci.MaxMetadataBytes))
}

// ocid checks the kind of an OCID, the mistake that OCI answers with a mere 404.
func ocid(kinds ...string) validator.String {
	return stringvalidator.RegexMatches(
		regexp.MustCompile(`^ocid1\.(`+strings.Join(kinds, "|")+`)\.`),
		"must be an OCID that begins with ocid1."+strings.Join(kinds, ". or ocid1.")+".")
}

var definedTagKey = stringvalidator.RegexMatches(regexp.MustCompile(`^[^.\s]+\.[^\s]+$`), "must be a name space and a key: namespace.key")

// base64Text accepts what decodes.
type base64Text struct{}

func (base64Text) Description(context.Context) string               { return "must be base64" }
func (v base64Text) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (base64Text) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, err := base64.StdEncoding.DecodeString(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Not base64",
			fmt.Sprintf("The value must be base64, as base64encode() gives it: %v.", err))
	}
}

// regularExpression accepts what compiles.
type regularExpression struct{}

func (regularExpression) Description(context.Context) string {
	return "must be a regular expression (RE2)"
}
func (v regularExpression) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (regularExpression) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, err := regexp.Compile(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Not a regular expression",
			fmt.Sprintf("The value must be a regular expression of the RE2 kind: %v.", err))
	}
}

// authorizedKeys accepts lines as in ~/.ssh/authorized_keys.
type authorizedKeys struct{}

func (authorizedKeys) Description(context.Context) string {
	return "must be SSH public keys, one a line"
}
func (v authorizedKeys) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (authorizedKeys) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	for i, line := range strings.Split(req.ConfigValue.ValueString(), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line)); err != nil {
			resp.Diagnostics.AddAttributeError(req.Path, "Not an SSH public key",
				fmt.Sprintf("Line %d is not a public key as in ~/.ssh/authorized_keys: %v.", i+1, err))
		}
	}
}
