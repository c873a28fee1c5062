// SPDX-License-Identifier: MPL-2.0

package shape

var l40s = Shape{
	Name:              "BM.GPU.L40S.4",
	GPUVendor:         NVIDIA,
	GPUs:              high(4, oracleDocs),
	GPUModel:          medium("NVIDIA L40S", nvidiaName),
	GPUMemoryBytes:    high(gib(48), oracleDocs),
	OCPUs:             high(112, oracleDocs),
	Platform:          unknown[string](byListShapes),
	MemoryGB:          high(1024, oracleDocs),
	NVMeDevices:       high(2, oracleDocs),
	NVMeDeviceBytes:   high(tb(3.84), oracleDocs),
	VCNPorts:          high(1, oracleDocs),
	VCNGbpsPort:       high(200, oracleDocs),
	NICFamily:         high("ConnectX-7", oracleDocs),
	RDMAPorts:         high(2, oracleDocs),
	RDMAGbpsPort:      high(400, oracleDocs),
	HCAsPerPort:       medium(1, cnAuth),
	HCAs:              medium(mlx5("0,2"), cnAuth), // mlx5_1, 3, 4 and 5 are not for data
	NCCLEnv:           unknown[map[string]string]("no NCCL recipe is published for L40S on OCI"),
	MPIEnv:            unknown[map[string]string]("no NCCL recipe is published for L40S on OCI"),
	AllReduce:         allReduce(unknown[float64](notFound), unknown[float64](notFound)),
	LinkWriteGbps:     unknown[float64](notFound),
	LinkLatencyMicros: unknown[float64](notFound),
	Topology:          processors(unknown[int](notFound), unknown[int](notFound)).without(notFound),
}

var adaShapes = []Shape{
	l40s,
	variant(l40s, "BM.GPU.L40S-NC.4", func(s *Shape) {
		const without = "variant of BM.GPU.L40S.4 without a cluster network, by its name"
		s.RDMAPorts = low(0, without)
		s.RDMAGbpsPort = unknown[int](without)
		s.HCAsPerPort = unknown[int](without)
		s.HCAs = unknown[[]string](without)
		s.LinkWriteGbps = unknown[float64](without)
		s.LinkLatencyMicros = unknown[float64](without)
	}),
}
