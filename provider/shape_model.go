// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"cmp"
	"context"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

type shapeModel struct {
	Name              types.String              `tfsdk:"name"`
	Names             types.List                `tfsdk:"names"`
	GPUVendor         types.String              `tfsdk:"gpu_vendor"`
	GPUs              types.Int64               `tfsdk:"gpus"`
	GPUModel          types.String              `tfsdk:"gpu_model"`
	GPUMemoryBytes    types.Int64               `tfsdk:"gpu_memory_bytes"`
	Platform          types.String              `tfsdk:"platform"`
	OCPUs             types.Int64               `tfsdk:"ocpus"`
	MemoryGB          types.Int64               `tfsdk:"memory_gb"`
	NVMeDevices       types.Int64               `tfsdk:"nvme_devices"`
	NVMeDeviceBytes   types.Int64               `tfsdk:"nvme_device_bytes"`
	VCNPorts          types.Int64               `tfsdk:"vcn_ports"`
	VCNGbpsPort       types.Int64               `tfsdk:"vcn_gbps_per_port"`
	NICFamily         types.String              `tfsdk:"nic_family"`
	IsRDMA            types.Bool                `tfsdk:"is_rdma"`
	RDMAPorts         types.Int64               `tfsdk:"rdma_ports"`
	RDMAGbpsPort      types.Int64               `tfsdk:"rdma_gbps_per_port"`
	HCAsPerPort       types.Int64               `tfsdk:"hcas_per_rdma_port"`
	HCAs              types.List                `tfsdk:"hcas"`
	NCCLEnvironment   types.Map                 `tfsdk:"nccl_environment"`
	MPIEnvironment    types.Map                 `tfsdk:"mpi_environment"`
	LinkWriteGbps     types.Float64             `tfsdk:"min_ib_write_bw_gbps"`
	LinkLatency       types.Float64             `tfsdk:"max_ib_write_lat_us"`
	Sockets           types.Int64               `tfsdk:"sockets"`
	NUMANodes         types.Int64               `tfsdk:"numa_nodes"`
	PCIBuses          types.List                `tfsdk:"pci_buses"`
	GPUHCAs           types.List                `tfsdk:"gpu_hcas"`
	Interfaces        types.List                `tfsdk:"interfaces"`
	VCNInterfaces     types.List                `tfsdk:"vcn_interfaces"`
	RenamedInterfaces types.List                `tfsdk:"renamed_interfaces"`
	MinBusbw          map[string]shapeBandwidth `tfsdk:"min_busbw"`
	AllReduce         []shapeAllReduce          `tfsdk:"all_reduce"`
	Facts             map[string]shapeFact      `tfsdk:"facts"`
}

// shapeFact says how certain a value is.
type shapeFact struct {
	Confidence string `tfsdk:"confidence"`
	Source     string `tfsdk:"source"`
}

type shapeBandwidth struct {
	GBPerS     *float64 `tfsdk:"gb_per_s"`
	Confidence string   `tfsdk:"confidence"`
	Source     string   `tfsdk:"source"`
}

// shapeAllReduce is what is known of a number of nodes and a range of message sizes.
type shapeAllReduce struct {
	Nodes     int64          `tfsdk:"nodes"`
	FromBytes int64          `tfsdk:"from_bytes"`
	ToBytes   types.Int64    `tfsdk:"to_bytes"`
	Min       shapeBandwidth `tfsdk:"min"`
	Expected  shapeBandwidth `tfsdk:"expected"`
}

// newShapeModel gives the model without a shape.
func newShapeModel(ctx context.Context, name types.String) shapeModel {
	none := types.ListNull(types.StringType)
	return shapeModel{
		Name: name, Names: listOf(ctx, shape.Names()), HCAs: none,
		PCIBuses: none, GPUHCAs: none, Interfaces: none, VCNInterfaces: none, RenamedInterfaces: none,
		NCCLEnvironment: types.MapNull(types.StringType), MPIEnvironment: types.MapNull(types.StringType),
	}
}

// fill records all that the catalog has of a shape.
func (m *shapeModel) fill(ctx context.Context, s shape.Shape) {
	m.Facts = map[string]shapeFact{}
	m.GPUVendor = stringOrNull(string(s.GPUVendor))
	m.IsRDMA = types.BoolValue(s.IsRDMA())
	m.GPUs = factInt(m.Facts, "gpus", s.GPUs)
	m.GPUModel = factText(m.Facts, "gpu_model", s.GPUModel)
	m.GPUMemoryBytes = factInt(m.Facts, "gpu_memory_bytes", s.GPUMemoryBytes)
	m.Platform = factText(m.Facts, "platform", s.Platform)
	m.OCPUs = factInt(m.Facts, "ocpus", s.OCPUs)
	m.MemoryGB = factInt(m.Facts, "memory_gb", s.MemoryGB)
	m.NVMeDevices = factInt(m.Facts, "nvme_devices", s.NVMeDevices)
	m.NVMeDeviceBytes = factInt(m.Facts, "nvme_device_bytes", s.NVMeDeviceBytes)
	m.VCNPorts = factInt(m.Facts, "vcn_ports", s.VCNPorts)
	m.VCNGbpsPort = factInt(m.Facts, "vcn_gbps_per_port", s.VCNGbpsPort)
	m.NICFamily = factText(m.Facts, "nic_family", s.NICFamily)
	m.RDMAPorts = factInt(m.Facts, "rdma_ports", s.RDMAPorts)
	m.RDMAGbpsPort = factInt(m.Facts, "rdma_gbps_per_port", s.RDMAGbpsPort)
	m.HCAsPerPort = factInt(m.Facts, "hcas_per_rdma_port", s.HCAsPerPort)
	m.HCAs = factTexts(ctx, m.Facts, "hcas", s.HCAs)
	fact(m.Facts, "nccl_environment", s.NCCLEnv)
	m.NCCLEnvironment, _ = types.MapValueFrom(ctx, types.StringType, s.Environment()) // Strings always convert.
	if fact(m.Facts, "mpi_environment", s.MPIEnv); s.MPIEnv.Usable() {
		m.MPIEnvironment, _ = types.MapValueFrom(ctx, types.StringType, s.MPIEnv.V)
	}
	m.LinkWriteGbps = factFloat(m.Facts, "min_ib_write_bw_gbps", s.LinkWriteGbps)
	m.LinkLatency = factFloat(m.Facts, "max_ib_write_lat_us", s.LinkLatencyMicros)
	m.fillTopology(ctx, s.Topology)
	m.fillBandwidth(s)
}

func (m *shapeModel) fillTopology(ctx context.Context, t shape.Topology) {
	m.Sockets = factInt(m.Facts, "sockets", t.Sockets)
	m.NUMANodes = factInt(m.Facts, "numa_nodes", t.NUMANodes)
	m.PCIBuses = factTexts(ctx, m.Facts, "pci_buses", t.PCIBuses)
	m.GPUHCAs = factTexts(ctx, m.Facts, "gpu_hcas", t.GPUHCAs)
	m.Interfaces = factTexts(ctx, m.Facts, "interfaces", t.Interfaces)
	m.VCNInterfaces = factTexts(ctx, m.Facts, "vcn_interfaces", t.VCNInterfaces)
	m.RenamedInterfaces = factTexts(ctx, m.Facts, "renamed_interfaces", t.RenamedInterfaces)
}

func (m *shapeModel) fillBandwidth(s shape.Shape) {
	m.MinBusbw = map[string]shapeBandwidth{}
	for _, row := range s.AllReduce {
		m.MinBusbw[strconv.Itoa(row.Nodes)] = newShapeBandwidth(s.MinBusbw(row.Nodes))
		m.AllReduce = append(m.AllReduce, shapeAllReduce{
			Nodes: int64(row.Nodes), FromBytes: row.FromBytes, ToBytes: int64OrNull(row.ToBytes),
			Min: newShapeBandwidth(row.Min), Expected: newShapeBandwidth(row.Expected),
		})
	}
}

func newShapeBandwidth(v shape.Value[float64]) shapeBandwidth {
	b := shapeBandwidth{Confidence: confidenceOf(v.Confidence), Source: v.Source}
	if v.Known() {
		b.GBPerS = &v.V
	}
	return b
}

// fact records where a value comes from, and says whether there is one.
func fact[T any](facts map[string]shapeFact, name string, v shape.Value[T]) bool {
	facts[name] = shapeFact{Confidence: confidenceOf(v.Confidence), Source: v.Source}
	return v.Known()
}

func factText(facts map[string]shapeFact, name string, v shape.Value[string]) types.String {
	if !fact(facts, name, v) {
		return types.StringNull()
	}
	return types.StringValue(v.V)
}

func factInt[N int | int64](facts map[string]shapeFact, name string, v shape.Value[N]) types.Int64 {
	if !fact(facts, name, v) {
		return types.Int64Null()
	}
	return types.Int64Value(int64(v.V))
}

func factFloat(facts map[string]shapeFact, name string, v shape.Value[float64]) types.Float64 {
	if !fact(facts, name, v) {
		return types.Float64Null()
	}
	return types.Float64Value(v.V)
}

func factTexts(ctx context.Context, facts map[string]shapeFact, name string, v shape.Value[[]string]) types.List {
	if !fact(facts, name, v) {
		return types.ListNull(types.StringType)
	}
	return listOf(ctx, v.V)
}

func confidenceOf(c shape.Confidence) string { return cmp.Or(string(c), "unknown") }
