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
	"github.com/hashicorp/terraform-plugin-framework/path"
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
	relaunches = " A change applies to nodes that are launched later; running nodes keep what they have."
	inPlace    = " Changed in place."
)

func gpuClusterSchema(ctx context.Context) schema.Schema {
	attributes := map[string]schema.Attribute{
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{
			Create: true, Update: true, Delete: true,
			CreateDescription: timeoutDescription, UpdateDescription: timeoutDescription, DeleteDescription: timeoutDescription,
		}),
	}
	maps.Copy(attributes, gpuClusterPlacement())
	maps.Copy(attributes, gpuClusterLaunch())
	maps.Copy(attributes, gpuClusterComputed())
	return schema.Schema{
		MarkdownDescription: "A cluster of GPU nodes: an instance configuration, and a cluster network (RDMA) or a plain instance pool, owned as one. " +
			"It waits until every node runs, says in OCI's own words why one does not, and gives the addresses of all.\n\n" +
			"An interrupt or a time-out leaves a cluster that the next apply carries on with; a slow cluster is never destroyed for being slow. " +
			"Progress is in the log: `TF_LOG_PROVIDER=INFO`.",
		Attributes: attributes,
	}
}

const timeoutDescription = "Such as `90m`. Default: 30 minutes for each 20 nodes, at least 60 minutes."

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
			MarkdownDescription: "`cluster_network` for an RDMA network between the nodes, `none` for a plain instance pool. " +
				"Default: `cluster_network` for shapes with RDMA, `none` for others." + replaces,
			Optional:      true,
			Computed:      true,
			PlanModifiers: keep,
			Validators:    []validator.String{stringvalidator.OneOf(string(oci.ClusterNetwork), string(oci.NoInterconnect))},
		},
		"placement_constraint": schema.StringAttribute{
			MarkdownDescription: "How close the hosts of a cluster network must be: `SINGLE_TIER`, `SINGLE_BLOCK` or `PACKED_DISTRIBUTION_MULTI_BLOCK`. Default: OCI's." + replaces,
			Optional:            true,
			Computed:            true,
			PlanModifiers:       keep,
			Validators:          []validator.String{stringvalidator.OneOf("SINGLE_TIER", "SINGLE_BLOCK", "PACKED_DISTRIBUTION_MULTI_BLOCK")},
		},
		"hpc_island_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the HPC island for a cluster network. Default: where OCI finds room." + replaces,
			Optional:            true,
			Computed:            true,
			PlanModifiers:       keep,
		},
		"network_block_ids": schema.SetAttribute{
			MarkdownDescription: "OCIDs of the network blocks within `hpc_island_id`. Default: where OCI finds room." + replaces,
			ElementType:         types.StringType,
			Optional:            true,
			Computed:            true,
			PlanModifiers:       []planmodifier.Set{setplanmodifier.UseStateForUnknown()},
			Validators:          []validator.Set{setvalidator.AlsoRequires(path.MatchRoot("hpc_island_id"))},
		},
	}
}

func gpuClusterLaunch() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"display_name": schema.StringAttribute{
			MarkdownDescription: "Name of the cluster, its pool and its configuration; nodes are called `inst-<5 characters>-<display_name>`. Not unique to OCI." + inPlace,
			Required:            true,
			Validators:          []validator.String{stringvalidator.LengthBetween(1, 255)},
		},
		"size": schema.Int64Attribute{
			MarkdownDescription: "Number of nodes. When it shrinks, OCI chooses which nodes to terminate." + inPlace,
			Required:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"image_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the image." + relaunches,
			Required:            true,
			Validators:          []validator.String{ocid("image")},
		},
		"nsg_ids": schema.SetAttribute{
			MarkdownDescription: "OCIDs of the network security groups of the nodes' primary VNICs." + relaunches,
			ElementType:         types.StringType,
			Optional:            true,
			Validators:          []validator.Set{setvalidator.SizeBetween(1, 5), setvalidator.ValueStringsAre(ocid("networksecuritygroup"))},
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
			Validators:          []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.KeysAre(stringvalidator.NoneOf("ssh_authorized_keys", "user_data"))},
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
		"freeform_tags": schema.MapAttribute{
			MarkdownDescription: "Tags on the cluster, its pool, its configuration and its nodes. Tags that others set are left alone." + relaunches,
			ElementType:         types.StringType,
			Optional:            true,
			Validators:          []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.KeysAre(stringvalidator.NoneOf(oci.MarkerTag))},
		},
		"defined_tags": schema.MapAttribute{
			MarkdownDescription: "Defined tags as `\"namespace.key\" = value`, on the same resources. Tags that others set are left alone." + relaunches,
			ElementType:         types.StringType,
			Optional:            true,
			Validators:          []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.KeysAre(definedTagKey)},
		},
	}
}

func gpuClusterComputed() map[string]schema.Attribute {
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			MarkdownDescription: "OCID of the cluster network or, without one, of the instance pool.",
			Computed:            true,
			PlanModifiers:       keep,
		},
		"instance_pool_id": schema.StringAttribute{
			MarkdownDescription: "OCID of the instance pool.",
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
	}
}
