// SPDX-License-Identifier: MPL-2.0

package shape

// The A100 shapes. Left out, because the sources conflict: NCCL_ALGO (Ring in oci-hpc, unset elsewhere and
// in the best results), NCCL_IB_TIMEOUT (unset, 16 or 22), NCCL_IB_SPLIT_DATA_ON_QPS, UCX_TLS,
// UCX_NET_DEVICES.
var (
	a100Env = high(merged(roce, map[string]string{"NCCL_IB_QPS_PER_CONNECTION": "4"}), ociHPCOKE)
	a100MPI = high(merged(hcollOff, ucxPML), ociHPCOKE)
)

// a100v2HCAs leave out mlx5_0 and mlx5_13, which serve the VCN.
var a100v2HCAs = high(mlx5("1-12,14-17"), hpcCNAuth)

var ampereShapes = []Shape{
	{
		Name:              "BM.GPU4.8",
		GPUVendor:         NVIDIA,
		GPUs:              high(8, oracleDocs),
		GPUModel:          high("NVIDIA A100-SXM4-40GB", "nvidia-smi in Oracle Japan's tutorials"),
		GPUMemoryBytes:    high(gib(40), oracleDocs),
		OCPUs:             high(64, oracleDocs),
		Platform:          high("AMD_ROME_BM_GPU", apiReference),
		MemoryGB:          high(2048, oracleDocs),
		NVMeDevices:       high(4, oracleDocs),
		NVMeDeviceBytes:   high(tb(6.8), oracleDocs),
		VCNPorts:          high(1, oracleDocs),
		VCNGbpsPort:       high(50, oracleDocs),
		NICFamily:         high("ConnectX-5 Ex", oracleDocs),
		RDMAPorts:         high(16, listShapes),
		RDMAGbpsPort:      high(100, listShapes),
		HCAsPerPort:       high(1, listShapes),
		HCAs:              high(mlx5("0-3,6-17"), hpcCNAuth), // mlx5_4 and 5 serve the VCN
		NCCLEnv:           a100Env,
		MPIEnv:            a100MPI,
		AllReduce:         allReduce(medium(185.0, gate), medium(185.0, gate), at(1, 8, high(230.0, tutorials)), at(2, 8, medium(219.0, tutorials))),
		LinkWriteGbps:     medium(96.0, gate),
		LinkLatencyMicros: medium(5.0, gate),
		Topology:          gpu4Topology,
	},
	{
		Name:              "BM.GPU.B4.8",
		GPUVendor:         NVIDIA,
		GPUs:              high(8, oracleDocs),
		GPUModel:          medium("NVIDIA A100-SXM4-40GB", nvidiaName),
		GPUMemoryBytes:    high(gib(40), oracleDocs),
		OCPUs:             medium(64, oneDocument),
		Platform:          unknown[string](byListShapes),
		MemoryGB:          medium(2048, oneDocument),
		NVMeDevices:       high(4, oracleDocs),
		NVMeDeviceBytes:   high(tb(6.8), oracleDocs),
		VCNPorts:          medium(1, oneDocument),
		VCNGbpsPort:       medium(50, oneDocument),
		NICFamily:         high("ConnectX-5 Ex", oracleDocs),
		RDMAPorts:         high(16, oracleDocs),
		RDMAGbpsPort:      high(100, oracleDocs),
		HCAsPerPort:       high(1, oracleDocs),
		HCAs:              a100v2HCAs,
		NCCLEnv:           a100Env,
		MPIEnv:            a100MPI,
		AllReduce:         allReduce(medium(185.0, gate), medium(185.0, gate), at(2, 8, high(187.0, "oci-hpc-oke and oci-hpc's runbook agree"))),
		LinkWriteGbps:     medium(96.0, gate),
		LinkLatencyMicros: medium(5.0, gate),
		Topology:          a100Topology,
	},
	a100v2,
	variant(a100v2, "BM.GPU.GM4.8", func(s *Shape) { // the old name of BM.GPU.A100-v2.8
		const alias = "old name of BM.GPU.A100-v2.8"
		s.OCPUs = medium(128, alias)
		s.MemoryGB = medium(2048, alias)
		s.NVMeDevices = medium(4, alias)
		s.NVMeDeviceBytes = medium(tb(6.8), alias)
		s.NCCLEnv = medium(a100Env.V, alias)
		s.MPIEnv = medium(a100MPI.V, alias)
		s.AllReduce = allReduce(medium(185.0, alias), medium(185.0, alias))
		s.LinkWriteGbps = medium(96.0, alias)
		s.LinkLatencyMicros = medium(5.0, alias)
	}),
	{
		Name:              "BM.GPU.A10.4",
		GPUVendor:         NVIDIA,
		GPUs:              high(4, oracleDocs),
		GPUModel:          medium("NVIDIA A10", nvidiaName),
		GPUMemoryBytes:    high(gib(24), oracleDocs),
		OCPUs:             high(64, oracleDocs),
		Platform:          unknown[string](byListShapes),
		MemoryGB:          high(1024, oracleDocs),
		NVMeDevices:       high(2, oracleDocs),
		NVMeDeviceBytes:   high(tb(3.84), oracleDocs),
		VCNPorts:          high(2, oracleDocs),
		VCNGbpsPort:       high(50, oracleDocs),
		NICFamily:         unknown[string](notFound),
		RDMAPorts:         high(0, oracleDocs),
		RDMAGbpsPort:      unknown[int](noRDMA),
		HCAsPerPort:       unknown[int](noRDMA),
		HCAs:              unknown[[]string](noRDMA),
		NCCLEnv:           noRDMAEnv,
		MPIEnv:            noRDMAEnv,
		AllReduce:         allReduce(unknown[float64](notFound), unknown[float64](noRDMA)),
		LinkWriteGbps:     unknown[float64](noRDMA),
		LinkLatencyMicros: unknown[float64](noRDMA),
		Topology:          processors(medium(2, slurmNodes), medium(2, slurmNodes)).without(noRDMA),
	},
	a10t1,
	variant(a10t1, "BM.GPU.GU1.2", func(*Shape) {}),
}

var a100v2 = Shape{
	Name:              "BM.GPU.A100-v2.8",
	GPUVendor:         NVIDIA,
	GPUs:              high(8, oracleDocs),
	GPUModel:          high("NVIDIA A100-SXM4-80GB", "nvidia-smi in Oracle Japan's tutorials"),
	GPUMemoryBytes:    high(gib(80), oracleDocs),
	OCPUs:             high(128, oracleDocs),
	Platform:          high("AMD_MILAN_BM_GPU", apiReference),
	MemoryGB:          high(2048, oracleDocs),
	NVMeDevices:       high(4, oracleDocs),
	NVMeDeviceBytes:   high(tb(6.8), oracleDocs),
	VCNPorts:          high(2, oracleDocs),
	VCNGbpsPort:       high(50, oracleDocs),
	NICFamily:         high("ConnectX-5 Ex", oracleDocs),
	RDMAPorts:         high(16, oracleDocs),
	RDMAGbpsPort:      high(100, oracleDocs),
	HCAsPerPort:       high(1, oracleDocs),
	HCAs:              a100v2HCAs,
	NCCLEnv:           a100Env,
	MPIEnv:            a100MPI,
	AllReduce:         allReduce(medium(185.0, gate), medium(185.0, gate)),
	LinkWriteGbps:     medium(96.0, gate),
	LinkLatencyMicros: medium(5.0, gate),
	Topology:          a100Topology,
}

// a10t1 is an internal shape of which little is public.
var a10t1 = Shape{
	Name:              "BM.GPU.T1.2",
	GPUVendor:         NVIDIA,
	GPUs:              medium(2, cnAuth),
	GPUModel:          medium("NVIDIA A10", nvidiaName),
	GPUMemoryBytes:    medium(gib(24), "as in BM.GPU.A10.4"),
	OCPUs:             unknown[int](notFound),
	Platform:          unknown[string](byListShapes),
	MemoryGB:          unknown[int](notFound),
	NVMeDevices:       unknown[int](notFound),
	NVMeDeviceBytes:   unknown[int64](notFound),
	VCNPorts:          unknown[int](notFound),
	VCNGbpsPort:       unknown[int](notFound),
	NICFamily:         medium("ConnectX-5 Ex", cnAuth),
	RDMAPorts:         medium(1, cnAuth),
	RDMAGbpsPort:      unknown[int](notFound),
	HCAsPerPort:       medium(1, cnAuth),
	HCAs:              medium(mlx5("2"), cnAuth),
	NCCLEnv:           unknown[map[string]string](notFound),
	MPIEnv:            unknown[map[string]string](notFound),
	AllReduce:         allReduce(unknown[float64](notFound), unknown[float64](notFound)),
	LinkWriteGbps:     unknown[float64](notFound),
	LinkLatencyMicros: unknown[float64](notFound),
	Topology:          processors(unknown[int](notFound), unknown[int](notFound)).without(notFound),
}
