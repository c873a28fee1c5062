// SPDX-License-Identifier: MPL-2.0

package shape

// Settings of H100, H200, B200 and B300. Left out: NCCL_NET_PLUGIN (a path in one image, none in others),
// UCX_NET_DEVICES and NCCL_SOCKET_IFNAME (eth0 is right only on images that rename interfaces).
var (
	hopperVariables = merged(roce, queues, map[string]string{
		"NCCL_IB_QPS_PER_CONNECTION": "1",
		"NCCL_IB_SPLIT_DATA_ON_QPS":  "0",
		"NCCL_IB_TIMEOUT":            "22",
		"NCCL_CUMEM_ENABLE":          "0",
		"NCCL_IGNORE_CPU_AFFINITY":   "1",
	})
	hopperEnv = high(hopperVariables, ociHPCOKE)
	hopperMPI = high(merged(hcollOff, ucxPML, map[string]string{"UCX_TLS": "tcp"}), ociHPCOKE)
)

var h100 = Shape{
	Name:            "BM.GPU.H100.8",
	GPUVendor:       NVIDIA,
	GPUs:            high(8, oracleDocs),
	GPUModel:        medium("NVIDIA H100 80GB HBM3", nvidiaName),
	GPUMemoryBytes:  high(gib(80), oracleDocs),
	OCPUs:           high(112, oracleDocs),
	Platform:        unknown[string](byListShapes),
	MemoryGB:        high(2048, oracleDocs),
	NVMeDevices:     high(16, oracleDocs),
	NVMeDeviceBytes: high(tb(3.84), oracleDocs),
	VCNPorts:        high(1, oracleDocs),
	VCNGbpsPort:     high(100, oracleDocs),
	NICFamily:       high("ConnectX-7", oracleDocs),
	RDMAPorts:       high(16, oracleDocs),
	RDMAGbpsPort:    high(200, oracleDocs),
	HCAsPerPort:     high(1, oracleDocs),
	HCAs:            high(mlx5("0,1,3-10,12-17"), hpcCNAuth), // mlx5_2 and 11 serve the VCN
	NCCLEnv:         hopperEnv,
	MPIEnv:          hopperMPI,
	AllReduce: allReduce(medium(440.0, gate), medium(440.0, gate),
		at(2, 1, medium(449.0, troubleshooting)), at(2, 16, medium(471.0, troubleshooting))),
	LinkWriteGbps:     medium(192.0, gate),
	LinkLatencyMicros: medium(5.0, gate),
	Topology:          h100Topology,
}

var h200 = Shape{
	Name:            "BM.GPU.H200.8",
	GPUVendor:       NVIDIA,
	GPUs:            high(8, oracleDocs),
	GPUModel:        high("NVIDIA H200", "nvidia-smi and nccl-tests on this GPU"),
	GPUMemoryBytes:  high(gib(141), oracleDocs),
	OCPUs:           high(112, oracleDocs),
	Platform:        unknown[string](byListShapes),
	MemoryGB:        high(3072, oracleDocs),
	NVMeDevices:     high(8, oracleDocs),
	NVMeDeviceBytes: high(tb(3.84), oracleDocs),
	VCNPorts:        high(1, oracleDocs),
	VCNGbpsPort:     high(200, oracleDocs),
	NICFamily:       high("ConnectX-7", oracleDocs),
	RDMAPorts:       high(8, oracleDocs),
	RDMAGbpsPort:    high(400, oracleDocs),
	HCAsPerPort:     high(1, oracleDocs),
	HCAs:            high(mlx5("0,3-6,9-11"), ociHPCOKE), // mlx5_1, 2, 7 and 8 are not for data
	NCCLEnv:         hopperEnv,
	MPIEnv:          hopperMPI,
	AllReduce: allReduce(medium(440.0, gate), medium(440.0, gate), at(1, 1, medium(475.0, argonne)),
		at(2, 1, medium(457.0, argonne)), at(2, 8, medium(484.0, argonne)), at(2, 16, medium(486.0, argonne))),
	LinkWriteGbps:     medium(384.0, gate),
	LinkLatencyMicros: medium(5.0, gate),
	Topology:          h200Topology,
}

var hopperShapes = []Shape{
	h100,
	variant(h100, "BM.GPU.H100T.8", func(s *Shape) {
		const asH100 = "inferred from BM.GPU.H100.8"
		s.GPUs = medium(8, cnAuth)
		s.GPUModel = low(h100.GPUModel.V, asH100)
		s.GPUMemoryBytes = low(h100.GPUMemoryBytes.V, asH100)
		s.OCPUs = unknown[int](notFound)
		s.MemoryGB = unknown[int](notFound)
		s.NVMeDevices = unknown[int](notFound)
		s.NVMeDeviceBytes = unknown[int64](notFound)
		s.VCNPorts = unknown[int](notFound)
		s.VCNGbpsPort = unknown[int](notFound)
		s.NICFamily = medium("ConnectX-7", cnAuth)
		s.RDMAPorts = medium(16, cnAuth)
		s.RDMAGbpsPort = medium(200, cnAuth)
		s.HCAsPerPort = medium(1, cnAuth)
		s.HCAs = medium(mlx5("0,1,4-11,14-19"), cnAuth)
		s.NCCLEnv = low(hopperVariables, asH100)
		s.MPIEnv = low(hopperMPI.V, asH100)
		s.AllReduce = allReduce(low(440.0, asH100), low(440.0, asH100))
		s.LinkWriteGbps = low(192.0, asH100)
		s.LinkLatencyMicros = low(5.0, asH100)
		s.Topology = processors(low(2, asH100), low(2, asH100)).without(notFound)
	}),
	h200,
}
