// SPDX-License-Identifier: MPL-2.0

package shape

const b300Conflict = "oci-hpc's own checks disagree: 700, 750 or 800"

var blackwellShapes = []Shape{
	{
		Name:              "BM.GPU.B200.8",
		GPUVendor:         NVIDIA,
		GPUs:              high(8, oracleDocs),
		GPUModel:          medium("NVIDIA B200", nvidiaName),
		GPUMemoryBytes:    high(gib(180), oracleDocs),
		OCPUs:             high(128, oracleDocs),
		Platform:          unknown[string](byListShapes),
		MemoryGB:          high(4096, oracleDocs),
		NVMeDevices:       high(8, oracleDocs),
		NVMeDeviceBytes:   high(tb(3.84), oracleDocs),
		VCNPorts:          high(2, oracleDocs),
		VCNGbpsPort:       high(200, oracleDocs),
		NICFamily:         high("ConnectX-7", oracleDocs),
		RDMAPorts:         high(8, oracleDocs),
		RDMAGbpsPort:      high(400, oracleDocs),
		HCAsPerPort:       high(1, oracleDocs),
		HCAs:              high(mlx5("0,3-6,9-11"), ociHPCOKE),
		NCCLEnv:           hopperEnv,
		MPIEnv:            hopperMPI,
		AllReduce:         allReduce(medium(440.0, gate), medium(440.0, gate)),
		LinkWriteGbps:     medium(384.0, gate),
		LinkLatencyMicros: medium(5.0, gate),
		Topology:          b200Topology,
	},
	b300,
	variant(b300, "BM.GPU.B300.HS.8", func(s *Shape) {
		const asB300 = "inferred from BM.GPU.B300.8"
		s.GPUs = low(8, asB300)
		s.NVMeDevices = low(8, asB300)
		s.RDMAPorts = low(8, asB300)
		s.HCAs = low(b300.HCAs.V, asB300)
		s.NCCLEnv = low(b300.NCCLEnv.V, asB300)
		s.MPIEnv = low(b300.MPIEnv.V, asB300)
		s.LinkWriteGbps = low(375.0, asB300)
		s.LinkLatencyMicros = low(5.0, asB300)
		s.Topology = processors(low(2, asB300), low(2, asB300)).without(notFound)
	}),
	{
		Name:            "BM.GPU.RTXPRO.8",
		GPUVendor:       NVIDIA,
		GPUs:            medium(8, oke),
		GPUModel:        medium("NVIDIA RTX PRO 6000 Blackwell Server Edition", nvidiaName),
		GPUMemoryBytes:  low(gib(96), "NVIDIA's data sheet; no OCI source"),
		OCPUs:           unknown[int](notFound),
		Platform:        unknown[string](byListShapes),
		MemoryGB:        unknown[int](notFound),
		NVMeDevices:     unknown[int](notFound),
		NVMeDeviceBytes: unknown[int64](notFound),
		VCNPorts:        unknown[int](notFound),
		VCNGbpsPort:     unknown[int](notFound),
		NICFamily:       low("ConnectX-7", "inferred"),
		RDMAPorts:       unknown[int]("only the 8 HCAs are published"),
		RDMAGbpsPort:    unknown[int](notFound),
		HCAsPerPort:     unknown[int]("only the 8 HCAs are published"),
		HCAs:            medium(mlx5("0-3,6-9"), oke),
		// Tree gives about 34 GB/s at 8 GiB on 2 to 4 nodes, Ring about 21.
		NCCLEnv: medium(merged(hopperVariables, map[string]string{
			"NCCL_ALGO":          "Tree",
			"NCCL_MIN_NCHANNELS": "8",
		}), oke),
		MPIEnv: medium(hopperMPI.V, oke),
		AllReduce: allReduce(unknown[float64](notFound), unknown[float64](notFound),
			at(2, 8, medium(34.0, oke)), at(3, 8, medium(34.0, oke)), at(4, 8, medium(34.0, oke))),
		LinkWriteGbps:     unknown[float64](notFound),
		LinkLatencyMicros: unknown[float64](notFound),
		Topology:          processors(unknown[int](notFound), unknown[int](notFound)).without(notFound),
	},
}

// b300: each 800 Gb/s port shows as two functions of 400. Multi-plane hosts show rdma_vf_rail0 to 7 instead.
var b300 = Shape{
	Name:              "BM.GPU.B300.8",
	GPUVendor:         NVIDIA,
	GPUs:              high(8, oracleDocs),
	GPUModel:          low("NVIDIA B300 SXM6 AC", "NVIDIA's driver; not seen on OCI"),
	GPUMemoryBytes:    low(gib(263), "sources conflict: 263 to 288 GB"),
	OCPUs:             low(128, "inferred"),
	Platform:          unknown[string](byListShapes),
	MemoryGB:          low(4096, "inferred"),
	NVMeDevices:       high(8, oracleDocs),
	NVMeDeviceBytes:   low(tb(3.84), "inferred"),
	VCNPorts:          low(2, "inferred"),
	VCNGbpsPort:       low(200, "inferred"),
	NICFamily:         low("ConnectX-8", "inferred"),
	RDMAPorts:         medium(8, oneDocument),
	RDMAGbpsPort:      low(800, "inferred from oci-hpc's limit of 375 Gb/s a function"),
	HCAsPerPort:       medium(2, "16 HCAs on 8 ports"),
	HCAs:              high(mlx5("0,1,7-14,16-21"), ociHPCOKE),
	NCCLEnv:           hopperEnv,
	MPIEnv:            hopperMPI,
	AllReduce:         allReduce(low(700.0, b300Conflict), low(700.0, b300Conflict)),
	LinkWriteGbps:     medium(375.0, gate),
	LinkLatencyMicros: medium(5.0, gate),
	Topology:          b300Topology,
}
