// SPDX-License-Identifier: MPL-2.0

package shape

import (
	"fmt"
	"strings"
)

// Topology is how a shape's processors, GPUs and RDMA ports hang together. Its lists have one order: that of
// the PCI addresses of the RDMA ports, by which ports are numbered.
type Topology struct {
	Sockets Value[int] `json:"sockets"`
	// NUMANodes with the BIOS settings that instances have by default.
	NUMANodes Value[int] `json:"numa_nodes"`
	// PCIBuses of the RDMA adapters.
	PCIBuses Value[[]string] `json:"pci_buses"`
	// GPUHCAs are the HCAs nearest to each GPU, by its index, separated by commas.
	GPUHCAs Value[[]string] `json:"gpu_hcas"`
	// Interfaces and VCNInterfaces are the names that a distribution gives to RDMA and VCN ports.
	Interfaces    Value[[]string] `json:"interfaces"`
	VCNInterfaces Value[[]string] `json:"vcn_interfaces"`
	// RenamedInterfaces are the names of the RDMA ports on images with oci-hpc-network-device-names, where
	// the VCN ports are eth0 and so on.
	RenamedInterfaces Value[[]string] `json:"renamed_interfaces"`
}

// processors is what Slurm's node definitions and the BIOS defaults say.
func processors(sockets, numaNodes Value[int]) Topology {
	return Topology{Sockets: sockets, NUMANodes: numaNodes}
}

// without gives the reason why the rest is not there.
func (t Topology) without(why string) Topology {
	none := unknown[[]string](why)
	t.PCIBuses, t.GPUHCAs, t.Interfaces, t.VCNInterfaces, t.RenamedInterfaces = none, none, none, none, none
	return t
}

// buses splits a list of PCI bus numbers.
func buses(numbers string) []string { return strings.Split(numbers, ",") }

// pairs writes out the HCAs of each GPU: pairs("6,7 8,9") are those of two GPUs.
func pairs(numbers string) []string {
	var all []string
	for pair := range strings.FieldsSeq(numbers) {
		all = append(all, strings.Join(mlx5(pair), ","))
	}
	return all
}

// bothFunctions names the interfaces of adapters with two PCI functions, by the adapters' bus numbers.
func bothFunctions(numbers string) []string {
	var all []string
	for bus := range strings.SplitSeq(numbers, ",") {
		all = append(all, "enp"+bus+"s0f0", "enp"+bus+"s0f1")
	}
	return all
}

// renamed are the first n names of the renamed interfaces.
func renamed(n int) []string { return devices("rdma", fmt.Sprintf("0-%d", n-1)) }

const (
	slurmNodes     = "oci-hpc's Slurm node definitions"
	deviceTables   = "oci-cn-auth and oci-dr-hpc-v2 shapes.json"
	oneSource      = "oci-cn-auth configs/shapes.json alone"
	asRenamed      = "one name an HCA, as on BM.GPU4.8"
	hopperAdapters = "0c,2a,41,58,86,a5,bd,d5"
)

// The topologies that shapes share or that are long.
var (
	gpu4Topology = Topology{
		Sockets:           medium(2, slurmNodes),
		NUMANodes:         low(8, "4 a socket by default (NPS4), but 1 a socket in oci-hpc's Slurm node definitions"),
		PCIBuses:          medium(buses("0c,16,48,4c,8a,94,c3,d1"), deviceTables),
		GPUHCAs:           medium(pairs("6,7 8,9 0,1 2,3 14,15 16,17 10,11 12,13"), deviceTables),
		Interfaces:        high(bothFunctions("12,22,72,76,138,148,195,209"), "Oracle Japan's tutorials and oci-cn-auth agree"),
		VCNInterfaces:     high([]string{"enp45s0f0"}, "Oracle Japan's tutorials and oci-cn-auth agree"),
		RenamedInterfaces: medium(renamed(16), tutorials),
	}
	a100Topology = Topology{
		Sockets:           medium(2, "two EPYC 7J13"),
		NUMANodes:         medium(8, slurmNodes+" (NPS4)"),
		PCIBuses:          medium(buses("0c,16,47,4b,89,93,c3,d1"), deviceTables),
		GPUHCAs:           medium(pairs("5,6 7,8 1,2 3,4 14,15 16,17 9,10 11,12"), deviceTables),
		Interfaces:        medium(bothFunctions("12,22,71,75,137,147,195,209"), deviceTables),
		VCNInterfaces:     medium([]string{"ens300f0"}, oneSource),
		RenamedInterfaces: low(renamed(16), asRenamed),
	}
	h100Topology = Topology{
		Sockets:           medium(2, slurmNodes),
		NUMANodes:         medium(2, slurmNodes),
		PCIBuses:          medium(buses(hopperAdapters), deviceTables),
		GPUHCAs:           medium(pairs("0,1 3,4 5,6 7,8 9,10 12,13 14,15 16,17"), deviceTables),
		Interfaces:        unknown[[]string](notFound),
		VCNInterfaces:     unknown[[]string](notFound),
		RenamedInterfaces: medium(renamed(16), deviceTables),
	}
	h200Topology = Topology{
		Sockets:           medium(2, slurmNodes),
		NUMANodes:         medium(2, slurmNodes),
		PCIBuses:          medium(buses(hopperAdapters), deviceTables),
		GPUHCAs:           medium(mlx5("0,3-6,9-11"), deviceTables),
		Interfaces:        unknown[[]string](notFound),
		VCNInterfaces:     unknown[[]string](notFound),
		RenamedInterfaces: medium(renamed(8), deviceTables),
	}
	b200Topology = Topology{
		Sockets:           medium(2, oneDocument),
		NUMANodes:         low(2, "one a socket, as on BM.GPU.H200.8"),
		PCIBuses:          medium(buses(hopperAdapters), deviceTables),
		GPUHCAs:           h200Topology.GPUHCAs,
		Interfaces:        unknown[[]string](notFound),
		VCNInterfaces:     unknown[[]string](notFound),
		RenamedInterfaces: medium(renamed(8), deviceTables),
	}
	b300Topology = Topology{
		Sockets:           low(2, "inferred"),
		NUMANodes:         low(2, "inferred"),
		PCIBuses:          medium(buses("11,2f,46,5d,8b,aa,c2,da"), deviceTables),
		GPUHCAs:           low(pairs("0,1 7,8 9,10 11,12 13,14 16,17 18,19 20,21"), "inferred: two functions each, in the order of their numbers"),
		Interfaces:        unknown[[]string](notFound),
		VCNInterfaces:     unknown[[]string](notFound),
		RenamedInterfaces: low(renamed(16), asRenamed),
	}
	mi300xTopology = Topology{
		Sockets:   unknown[int](notFound),
		NUMANodes: unknown[int](notFound),
		PCIBuses:  low(buses("0c,2a,41,58,86,a5,bd,d5"), "inferred from the interface names"),
		GPUHCAs:   medium(mlx5("0,2-5,7-9"), deviceTables),
		Interfaces: medium([]string{"enp12s0np0", "enp42s0np0", "enp65s0np0", "enp88s0np0", "enp134s0np0", "enp165s0np0",
			"enp189s0np0", "enp213s0np0"}, deviceTables),
		VCNInterfaces:     medium([]string{"ens1200np0", "ens1240np0"}, deviceTables),
		RenamedInterfaces: low(renamed(8), asRenamed),
	}
)

// onePort is a shape with one RDMA port and no GPU.
func onePort(bus, name string) Topology {
	t := processors(medium(2, slurmNodes), medium(2, slurmNodes)).without(notFound)
	t.GPUHCAs = unknown[[]string](noGPU)
	t.PCIBuses = medium([]string{bus}, oneSource)
	t.Interfaces = medium([]string{name}, oneSource)
	t.RenamedInterfaces = low(renamed(1), asRenamed)
	return t
}
