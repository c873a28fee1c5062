// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func shapeDataSourceSchema() schema.Schema {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true}
	}
	number := func(description string) schema.Attribute {
		return schema.Int64Attribute{MarkdownDescription: description, Computed: true}
	}
	texts := func(description string) schema.Attribute {
		return schema.ListAttribute{MarkdownDescription: description, ElementType: types.StringType, Computed: true}
	}
	variables := func(description string) schema.Attribute {
		return schema.MapAttribute{MarkdownDescription: description, ElementType: types.StringType, Computed: true}
	}
	origin := func() map[string]schema.Attribute {
		return map[string]schema.Attribute{
			"confidence": text("`high` (several independent sources, or Oracle's own), `medium` (one good source), `low` (inferred, or the sources conflict) or `unknown`."),
			"source":     text("Where the value comes from; why there is none when `confidence` is `unknown`."),
		}
	}
	bandwidth := func() map[string]schema.Attribute {
		attributes := origin()
		attributes["gb_per_s"] = schema.Float64Attribute{MarkdownDescription: "Bus bandwidth, 10⁹ bytes per second.", Computed: true}
		return attributes
	}
	decimal := func(description string) schema.Attribute {
		return schema.Float64Attribute{MarkdownDescription: description, Computed: true}
	}
	return schema.Schema{
		MarkdownDescription: "What the provider knows of an OCI GPU or RDMA shape: the same catalog from which it takes defaults, checks and limits. " +
			"A value that is not known is null, and `facts` says for each value how certain it is and where it comes from. No request is sent to OCI.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				MarkdownDescription: "Name of the shape, such as `BM.GPU4.8`. Without it, only `names` has a value.",
				Optional:            true,
			},
			"names":                texts("Names of all shapes of the catalog, sorted."),
			"gpu_vendor":           text("`NVIDIA` or `AMD`; null for a shape without GPUs."),
			"gpus":                 number("GPUs of a node."),
			"gpu_model":            text("Name of the GPU as `nvidia-smi` shows it."),
			"gpu_memory_bytes":     number("Nominal memory of one GPU in bytes. Tools show a little less."),
			"platform":             text("Type of platform configuration that OCI takes for the shape, such as `AMD_ROME_BM_GPU`."),
			"ocpus":                number("OCPUs of a node."),
			"memory_gb":            number("Memory of a node in GB."),
			"nvme_devices":         number("Local NVMe devices of a node."),
			"nvme_device_bytes":    number("Capacity of one local NVMe device in bytes."),
			"vcn_ports":            number("Ports to the VCN."),
			"vcn_gbps_per_port":    number("Speed of one port to the VCN in gigabits per second."),
			"nic_family":           text("Family of the network adapters, such as `ConnectX-7`."),
			"is_rdma":              schema.BoolAttribute{MarkdownDescription: "Whether nodes can be in an RDMA network.", Computed: true},
			"rdma_ports":           number("Ports to the RDMA network."),
			"rdma_gbps_per_port":   number("Speed of one port to the RDMA network in gigabits per second."),
			"hcas_per_rdma_port":   number("HCAs as which one RDMA port shows on a node."),
			"hcas":                 texts("Data HCAs for NCCL, such as `mlx5_0`."),
			"nccl_environment":     variables("Variables to set for NCCL, as far as `facts` has them at `high` or `medium`. Without any, NCCL's defaults are the best that is known."),
			"mpi_environment":      variables("Variables to set for Open MPI, UCX and HCOLL when they start the ranks, under the same condition."),
			"min_ib_write_bw_gbps": decimal("The least that `ib_write_bw` must show between two nodes, gigabits per second an HCA."),
			"max_ib_write_lat_us":  decimal("The most that `ib_write_lat` may show between two nodes, microseconds."),
			"sockets":              number("Processor sockets of a node."),
			"numa_nodes":           number("NUMA nodes with the firmware settings that instances have by default."),
			"pci_buses":            texts("PCI buses of the RDMA adapters. This list and the next ones have the order of the PCI addresses of the RDMA ports."),
			"gpu_hcas":             texts("HCAs nearest to each GPU, by its index, separated by commas."),
			"interfaces":           texts("Names that a distribution gives to the RDMA ports."),
			"vcn_interfaces":       texts("Names that a distribution gives to the VCN ports."),
			"renamed_interfaces":   texts("Names of the RDMA ports on images that rename them."),
			"min_busbw": schema.MapNestedAttribute{
				MarkdownDescription: "The least all_reduce bus bandwidth at 1 GiB and above that a healthy cluster shows, by number of nodes, such as `min_busbw[\"2\"].gb_per_s`. " +
					"Use no `low` value as a limit.",
				Computed:     true,
				NestedObject: schema.NestedAttributeObject{Attributes: bandwidth()},
			},
			"all_reduce": schema.ListNestedAttribute{
				MarkdownDescription: "What is known of all_reduce, by number of nodes and message size.",
				Computed:            true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"nodes":      number("Number of nodes."),
					"from_bytes": number("Smallest message size."),
					"to_bytes":   number("Message size that is too large; null has no end."),
					"min":        schema.SingleNestedAttribute{MarkdownDescription: "The least that passes.", Computed: true, Attributes: bandwidth()},
					"expected":   schema.SingleNestedAttribute{MarkdownDescription: "What was measured, for people: never a limit.", Computed: true, Attributes: bandwidth()},
				}},
			},
			"facts": schema.MapNestedAttribute{
				MarkdownDescription: "How certain each value is, by name of the attribute.",
				Computed:            true,
				NestedObject:        schema.NestedAttributeObject{Attributes: origin()},
			},
		},
	}
}
