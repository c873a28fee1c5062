// SPDX-License-Identifier: MPL-2.0

package shape

// The AMD shapes, whose variables are RCCL's: it reads the NCCL_ names too.

const mi355xConflict = "oci-hpc and oci-hpc-oke conflict: mlx5 or ionic"

var mi300x = Shape{
	Name:            "BM.GPU.MI300X.8",
	GPUVendor:       AMD,
	GPUs:            high(8, oracleDocs),
	GPUModel:        low("AMD Instinct MI300X", "AMD's product name; not what a tool printed"),
	GPUMemoryBytes:  high(gib(192), oracleDocs),
	OCPUs:           high(112, oracleDocs),
	Platform:        unknown[string](byListShapes),
	MemoryGB:        high(2048, oracleDocs),
	NVMeDevices:     high(8, oracleDocs),
	NVMeDeviceBytes: high(tb(3.84), oracleDocs),
	VCNPorts:        high(1, oracleDocs),
	VCNGbpsPort:     high(100, oracleDocs),
	NICFamily:       high("ConnectX-7", oracleDocs),
	RDMAPorts:       high(8, oracleDocs),
	RDMAGbpsPort:    high(400, oracleDocs),
	HCAsPerPort:     high(1, oracleDocs),
	HCAs:            high(mlx5("0,2-5,7-9"), ociHPCOKE), // mlx5_1 and 6 serve the VCN
	NCCLEnv: low(merged(queues, map[string]string{"NCCL_IGNORE_CPU_AFFINITY": "1", "NCCL_PXN_DISABLE": "0"}),
		"the sources conflict on GID index, traffic class and queue pairs"),
	MPIEnv: medium(merged(ucxPML, map[string]string{
		"HCOLL_ENABLE_MCAST_ALL":     "0",
		"OMPI_MCA_coll_hcoll_enable": "0",
	}), ociHPC),
	AllReduce:         allReduce(low(310.0, "oci-hpc's own checks disagree: 310 or 350"), medium(350.0, gate), at(2, 8, medium(356.0, oke))),
	LinkWriteGbps:     medium(350.0, gate),
	LinkLatencyMicros: medium(5.0, gate),
	Topology:          mi300xTopology,
}

var mi355x = Shape{
	Name:              "BM.GPU.MI355X.8",
	GPUVendor:         AMD,
	GPUs:              high(8, oracleDocs),
	GPUModel:          low("AMD Instinct MI355X", "AMD's product name; not what a tool printed"),
	GPUMemoryBytes:    high(gib(288), oracleDocs),
	OCPUs:             high(128, oracleDocs),
	Platform:          unknown[string](byListShapes),
	MemoryGB:          high(3072, oracleDocs),
	NVMeDevices:       high(8, oracleDocs),
	NVMeDeviceBytes:   high(tb(7.68), oracleDocs),
	VCNPorts:          high(2, oracleDocs),
	VCNGbpsPort:       high(200, oracleDocs),
	NICFamily:         low("AMD Pollara", mi355xConflict),
	RDMAPorts:         high(8, oracleDocs),
	RDMAGbpsPort:      high(400, oracleDocs),
	HCAsPerPort:       low(1, mi355xConflict),
	HCAs:              low(devices("ionic_", "0,2-5,7-9"), mi355xConflict),
	NCCLEnv:           unknown[map[string]string](mi355xConflict),
	MPIEnv:            unknown[map[string]string](mi355xConflict),
	AllReduce:         allReduce(low(310.0, "oci-hpc's own checks disagree: 310, 350 or 400"), low(350.0, "oci-hpc's own checks disagree: 350 or 400")),
	LinkWriteGbps:     low(350.0, mi355xConflict),
	LinkLatencyMicros: low(5.0, mi355xConflict),
	Topology:          processors(unknown[int](notFound), unknown[int](notFound)).without(mi355xConflict),
}

var amdShapes = []Shape{
	mi300x,
	mi355x,
	variant(mi355x, "BM.GPU.MI355X-v0.8", func(s *Shape) {
		const asMI355X = "inferred from BM.GPU.MI355X.8"
		s.GPUs = medium(8, oneDocument)
		s.OCPUs = unknown[int](notFound)
		s.MemoryGB = unknown[int](notFound)
		s.GPUMemoryBytes = low(gib(288), asMI355X)
		s.NVMeDevices = unknown[int](notFound)
		s.NVMeDeviceBytes = unknown[int64](notFound)
		s.VCNPorts = unknown[int](notFound)
		s.VCNGbpsPort = unknown[int](notFound)
		s.NICFamily = unknown[string]("unclear in every source")
		s.RDMAPorts = low(8, asMI355X)
		s.RDMAGbpsPort = low(400, asMI355X)
		s.HCAsPerPort = low(1, asMI355X)
		s.HCAs = unknown[[]string]("unclear in every source")
	}),
	variant(mi355x, "BM.GPU.MI355X-v1.8", func(s *Shape) {
		s.GPUs = medium(8, oneDocument)
		s.GPUMemoryBytes = medium(gib(288), oneDocument)
		s.OCPUs = medium(128, oneDocument)
		s.MemoryGB = medium(3072, oneDocument)
		s.NVMeDevices = medium(8, oneDocument)
		s.NVMeDeviceBytes = unknown[int64](notFound)
		s.VCNPorts = unknown[int](notFound)
		s.VCNGbpsPort = unknown[int](notFound)
		s.NICFamily = medium("ConnectX-7", ociHPCOKE)
		s.HCAsPerPort = high(1, ociHPCOKE)
		s.HCAs = high(mlx5("0-7"), ociHPCOKE) // mlx5_8 is the front end
		s.NCCLEnv = medium(merged(roce, queues, map[string]string{
			"NCCL_IB_QPS_PER_CONNECTION": "1",
			"NCCL_IB_TIMEOUT":            "22",
			"NCCL_IGNORE_CPU_AFFINITY":   "1",
			"NCCL_MIN_NCHANNELS":         "32",
		}), ociHPC)
		s.MPIEnv = medium(merged(hcollOff, ucxPML), ociHPC)
		s.LinkWriteGbps = medium(350.0, gate)
		s.LinkLatencyMicros = medium(5.0, gate)
		s.Topology.PCIBuses = medium(buses("6d,05,55,1e,ec,86,d4,9f"), deviceTables)
		s.Topology.GPUHCAs = low(mlx5("0-7"), "one each; inferred: in the order of their numbers")
	}),
}
