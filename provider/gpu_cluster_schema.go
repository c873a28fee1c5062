// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// Effects of a change, in the words of the documentation.
const (
	replaces   = " A change replaces the cluster."
	kept       = " Left out later, it stays as it is."
	relaunches = " A change applies to nodes that are launched later, and by `update_strategy` to running ones."
	inPlace    = " Changed in place."
	retags     = " Changed in place, on running nodes, too."
	nextApply  = " A change alone does nothing to OCI; it counts from the next change on."
)

func gpuClusterSchema(ctx context.Context) schema.Schema {
	attributes := map[string]schema.Attribute{
		"timeouts": timeoutsAttribute(ctx, timeouts.Opts{
			Create: true, Update: true, Delete: true,
			CreateDescription: timeoutDescription, UpdateDescription: timeoutDescription, DeleteDescription: timeoutDescription,
		}),
	}
	for _, part := range []map[string]schema.Attribute{gpuClusterPlacement(), gpuClusterLaunch(), gpuClusterTags(), gpuClusterChange(), gpuClusterComputed()} {
		maps.Copy(attributes, part)
	}
	return schema.Schema{
		MarkdownDescription: "A cluster of GPU nodes: an instance configuration, and a cluster network (RDMA), a compute cluster (RDMA, node by node) or a plain instance pool, owned as one. " +
			"It waits until every node runs, says in OCI's own words why one does not, and gives the addresses of all.\n\n" +
			"An interrupt or a time-out leaves a cluster that the next apply carries on with; a slow cluster is never destroyed for being slow. " +
			"Progress is in the log: `TF_LOG_PROVIDER=INFO`.\n\n" +
			"Where an autoscaler sets the size, leave it alone with `lifecycle { ignore_changes = [size] }`; otherwise a size that was changed elsewhere is set back. " +
			"Of a compute cluster, OCI keeps no size: it is the number of nodes, so that nodes that are missing are not launched while the size is ignored.",
		Attributes: attributes,
	}
}

const timeoutDescription = "A duration such as `90m`. Default: 30 minutes for each 20 nodes, at least 60 minutes."

func gpuClusterPlacement() map[string]schema.Attribute {
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	return map[string]schema.Attribute{
		"compartment_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the compartment." + replaces,
			Required:            true,
			Validators:          []validator.String{ocid("compartment", "tenancy")},
		},
		"availability_domain": schema.StringAttribute{
			MarkdownDescription: "Name of the availability domain, with the tenancy's prefix, such as `Uocm:PHX-AD-1`." + replaces,
			Required:            true,
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"subnet_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the subnet of the nodes' primary VNICs." + replaces,
			Required:            true,
			Validators:          []validator.String{ocid("subnet")},
		},
		"shape": schema.StringAttribute{
			MarkdownDescription: "Shape of the nodes, such as `BM.GPU4.8`." + replaces,
			Required:            true,
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"interconnect": schema.StringAttribute{
			MarkdownDescription: "`cluster_network` for an RDMA network whose nodes OCI places and launches together, `compute_cluster` for an RDMA network whose nodes are " +
				"launched one by one, so that a node that fails does not fail the others, `none` for a plain instance pool without RDMA. " +
				"Default: `compute_cluster` with `compute_cluster_id`, else `cluster_network` for shapes with RDMA, `none` for others." + replaces + kept,
			Optional:      true,
			Computed:      true,
			PlanModifiers: keep,
			Validators:    []validator.String{stringvalidator.OneOf(string(oci.ClusterNetwork), string(oci.ComputeCluster), string(oci.NoInterconnect))},
		},
		"compute_cluster_id": schema.StringAttribute{
			MarkdownDescription: "OCID of an existing compute cluster to launch the nodes into. It is left alone when this cluster is destroyed. " +
				"Default: with `interconnect = \"compute_cluster\"`, one is made, and destroyed with the nodes." + replaces + kept,
			Optional:      true,
			Computed:      true,
			PlanModifiers: keep,
			Validators:    []validator.String{ocid("computecluster")},
		},
		"placement_constraint": schema.StringAttribute{
			MarkdownDescription: "How close the hosts of a cluster network or of a new compute cluster must be: `SINGLE_TIER`, `SINGLE_BLOCK` or `PACKED_DISTRIBUTION_MULTI_BLOCK`. Default: OCI's." + replaces + kept,
			Optional:            true,
			Computed:            true,
			PlanModifiers:       keep,
			Validators:          []validator.String{stringvalidator.OneOf("SINGLE_TIER", "SINGLE_BLOCK", "PACKED_DISTRIBUTION_MULTI_BLOCK")},
		},
		"hpc_island_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the HPC island for a cluster network or a new compute cluster. Default: where OCI finds room." + replaces + kept,
			Optional:            true,
			Computed:            true,
			PlanModifiers:       keep,
			Validators:          []validator.String{ocid("hpcisland")},
		},
		"network_block_ids": schema.SetAttribute{
			MarkdownDescription: "OCIDs of the network blocks within `hpc_island_id`. Default: where OCI finds room." + replaces + kept,
			ElementType:         types.StringType,
			Optional:            true,
			Computed:            true,
			PlanModifiers:       []planmodifier.Set{setplanmodifier.UseStateForUnknown()},
			Validators:          []validator.Set{setvalidator.ValueStringsAre(ocid("computenetworkblock", "networkblock"))},
		},
	}
}

func gpuClusterLaunch() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"display_name": schema.StringAttribute{
			MarkdownDescription: "Name of the cluster, its pool and its configuration; nodes are called `inst-<5 characters>-<display_name>`, in a compute cluster `<display_name>-<number>`. To be unique among the clusters of this provider in the compartment." + inPlace,
			Required:            true,
			Validators:          []validator.String{stringvalidator.LengthBetween(1, 255)},
		},
		"size": schema.Int64Attribute{
			MarkdownDescription: "Number of nodes. When it shrinks, the nodes in `remove_nodes` go first, and OCI chooses the others; of a compute cluster, stale ones go next, then the newest." + inPlace,
			Required:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"image_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the image. With `image`, the one that was found." + relaunches,
			Optional:            true,
			Computed:            true,
			Validators:          []validator.String{ocid("image")},
		},
		"image": schema.SingleNestedAttribute{
			MarkdownDescription: "Selects the newest image of a kind, in the apply, and pins it in `image_id`: an image that appears later changes nothing. The plan is an error when there is none. " +
				"A changed selector, or another shape, selects anew; a cluster that had none, such as one that was imported, keeps its image if that suits." + relaunches,
			Optional:   true,
			Attributes: imageAttributes(),
		},
		"capacity_reservation_id": schema.StringAttribute{
			MarkdownDescription: "OCID of a capacity reservation to take the hosts from. Default: on demand." + relaunches,
			Optional:            true,
			Validators:          []validator.String{ocid("capacityreservation")},
		},
		"agent_plugins": schema.MapAttribute{
			MarkdownDescription: "Plugins of Oracle's agent on the nodes, by name, such as `\"Compute RDMA GPU Monitoring\" = true`. The plugins that RDMA needs are on " +
				"for RDMA shapes without being named; an entry goes before that." + relaunches,
			ElementType: types.BoolType,
			Optional:    true,
			Validators:  []validator.Map{mapvalidator.KeysAre(stringvalidator.LengthAtLeast(1)), mapvalidator.NoNullValues()},
		},
		"platform_config": schema.SingleNestedAttribute{
			MarkdownDescription: "How the firmware of the nodes is set. Default: the shape's." + relaunches,
			Optional:            true,
			Attributes:          platformAttributes(),
		},
		"nsg_ids": schema.SetAttribute{
			MarkdownDescription: "OCIDs of the network security groups of the nodes' primary VNICs." + relaunches,
			ElementType:         types.StringType,
			Optional:            true,
			Validators:          []validator.Set{setvalidator.SizeAtMost(5), setvalidator.ValueStringsAre(ocid("networksecuritygroup"))},
		},
		"ssh_authorized_keys": schema.StringAttribute{
			MarkdownDescription: "Public keys that may log in as the image's user, one a line." + relaunches,
			Optional:            true,
			Validators:          []validator.String{authorizedKeys{}},
		},
		"user_data": schema.StringAttribute{
			MarkdownDescription: "Cloud-init data in base64, such as `ocihpc_cloud_init_config` gives. All metadata together may have 32,000 bytes." + relaunches,
			Optional:            true,
			Validators:          []validator.String{base64Text{}},
		},
		"metadata": schema.MapAttribute{
			MarkdownDescription: "More metadata for the nodes, beside `ssh_authorized_keys` and `user_data`." + relaunches,
			ElementType:         types.StringType,
			Optional:            true,
			Validators:          []validator.Map{mapvalidator.KeysAre(stringvalidator.NoneOf("ssh_authorized_keys", "user_data")), mapvalidator.NoNullValues()},
		},
		"boot_volume_size_in_gbs": schema.Int64Attribute{
			MarkdownDescription: "Size of each boot volume in GB, 50 to 32,768. Default: the image's." + relaunches,
			Optional:            true,
			Validators:          []validator.Int64{int64validator.Between(50, 32768)},
		},
		"boot_volume_vpus_per_gb": schema.Int64Attribute{
			MarkdownDescription: "Performance of each boot volume in volume performance units per GB: 10, 20, … 120. Default: OCI's." + relaunches,
			Optional:            true,
			Validators:          []validator.Int64{int64validator.OneOf(10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120)},
		},
	}
}

func imageAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"operating_system": schema.StringAttribute{
			MarkdownDescription: "Operating system of the image in OCI's words, such as `Oracle Linux`.",
			Required:            true,
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"operating_system_version": schema.StringAttribute{
			MarkdownDescription: "Version of the operating system, such as `8`. Default: any version.",
			Optional:            true,
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"name_pattern": schema.StringAttribute{
			MarkdownDescription: "Regular expression (RE2) that the image's name must match somewhere, such as `-GPU-`. Default: any name.",
			Optional:            true,
			Validators:          []validator.String{regularExpression{}},
		},
		"compartment_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the compartment that holds the image. Default: the cluster's, in which Oracle's own images are found, too.",
			Optional:            true,
			Validators:          []validator.String{ocid("compartment", "tenancy")},
		},
	}
}

func platformAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"numa_nodes_per_socket": schema.StringAttribute{
			MarkdownDescription: "NUMA nodes per socket: `NPS0`, `NPS1`, `NPS2`, `NPS4` or `NPS6`, as far as the shape has them.",
			Optional:            true,
			Validators:          []validator.String{stringvalidator.OneOf("NPS0", "NPS1", "NPS2", "NPS4", "NPS6")},
		},
		"is_symmetric_multi_threading_enabled": schema.BoolAttribute{
			MarkdownDescription: "Whether each core runs two threads.",
			Optional:            true,
		},
	}
}

func gpuClusterTags() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"freeform_tags": schema.MapAttribute{
			MarkdownDescription: "Tags on the cluster, its pool, its configuration and its nodes, at most 8: OCI takes 10, and two are this provider's. Tags that others set are left alone." + retags,
			ElementType:         types.StringType,
			Optional:            true,
			Validators: tagLimits(oci.MaxFreeformTags,
				stringvalidator.LengthBetween(1, oci.MaxTagKey), stringvalidator.NoneOf(oci.MarkerTag, oci.LaunchTag)),
		},
		"defined_tags": schema.MapAttribute{
			MarkdownDescription: "Defined tags as `\"namespace.key\" = value`, on the same resources. Tags that others set are left alone." + retags,
			ElementType:         types.StringType,
			Optional:            true,
			Validators:          tagLimits(oci.MaxDefinedTags, definedTagKey),
		},
	}
}

// tagLimits refuses at plan time what OCI would refuse when the first of several resources is made already.
func tagLimits(most int, keys ...validator.String) []validator.Map {
	return []validator.Map{
		mapvalidator.SizeAtMost(most), mapvalidator.KeysAre(keys...), mapvalidator.NoNullValues(),
		mapvalidator.ValueStringsAre(stringvalidator.UTF8LengthAtMost(oci.MaxTagValue)),
	}
}

func gpuClusterComputed() map[string]schema.Attribute {
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			MarkdownDescription: "OCID of the cluster network, of the instance pool where there is no cluster network, or of the compute cluster; in a compute cluster that existed before, followed by `/` and this cluster's mark. What `terraform import` takes.",
			Computed:            true,
			PlanModifiers:       keep,
		},
		"instance_pool_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the instance pool. A compute cluster has none.",
			Computed:            true,
			PlanModifiers:       keep,
		},
		"instance_configuration_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the instance configuration that new nodes are launched from.",
			Computed:            true,
		},
		"state": schema.StringAttribute{
			MarkdownDescription: "Life cycle state as OCI gives it. Unless it is `RUNNING`, the next apply carries on until it is.",
			Computed:            true,
		},
		"time_created": schema.StringAttribute{
			MarkdownDescription: "When the cluster was created, RFC 3339.",
			Computed:            true,
			PlanModifiers:       keep,
		},
		"current_size": schema.Int64Attribute{
			MarkdownDescription: "Number of nodes that there are.",
			Computed:            true,
		},
		"stale_nodes": schema.ListAttribute{
			MarkdownDescription: "OCIDs of the nodes that were launched otherwise than nodes are launched now, tags aside. " +
				"With `update_strategy = \"rolling\"` an apply replaces them; otherwise name them in `replace_nodes`.",
			ElementType: types.StringType,
			Computed:    true,
		},
		"nodes": schema.ListNestedAttribute{
			MarkdownDescription: "The nodes, oldest first. Empty while a new cluster is not complete.",
			Computed:            true,
			NestedObject:        schema.NestedAttributeObject{Attributes: nodeAttributes()},
		},
	}
}

func nodeAttributes() map[string]schema.Attribute {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true}
	}
	return map[string]schema.Attribute{
		"id":           text("OCID of the instance."),
		"display_name": text("Name of the instance."),
		"hostname":     text("Host name within the subnet."),
		"private_ip":   text("Address of the primary VNIC."),
		"fault_domain": text("Fault domain, such as `FAULT-DOMAIN-1`."),
		"state":        text("Life cycle state of the instance, such as `RUNNING`."),
		"time_created": text("When the instance was created, RFC 3339."),
	}
}
