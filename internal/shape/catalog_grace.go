// SPDX-License-Identifier: MPL-2.0

package shape

// The Grace Blackwell shapes: 4 GPUs a node, NVLink across nodes of a rack (IMEX). Left out, because the
// sources conflict: NCCL_NET_PLUGIN and NCCL_NET_GDR_C2C (GB200, v2); NCCL_IB_QPS_PER_CONNECTION,
// NCCL_NVLS_ENABLE, NCCL_DMABUF_ENABLE and NCCL_NET_GDR_LEVEL (v3, GB300).
var (
	gb200Env = high(map[string]string{
		"NCCL_CUMEM_ENABLE": "1",
		"NCCL_MNNVL_ENABLE": "1",
		"NCCL_NVLS_ENABLE":  "1",
	}, ociHPCOKE)
	gb200MPI = medium(map[string]string{"OMPI_MCA_coll": "^hcoll"}, ociHPC)

	// graceRDMA is what v3 and GB300 share.
	graceRDMA = merged(roce, queues, map[string]string{
		"NCCL_IB_SPLIT_DATA_ON_QPS": "0",
		"NCCL_IB_TIMEOUT":           "22",
		"NCCL_CUMEM_ENABLE":         "1",
		"NCCL_MNNVL_ENABLE":         "1",
		"NCCL_NET_GDR_C2C":          "1",
		"NCCL_NET_PLUGIN":           "none",
	})
)

var graceTopology = processors(low(2, "two Grace processors: 144 cores"), low(2, "one a socket")).without(notFound)

const graceGate = "one oci-hpc check, whose branch for this shape is defective; no measurement is published"

var gb200 = Shape{
	Name:              "BM.GPU.GB200.4",
	GPUVendor:         NVIDIA,
	GPUs:              high(4, oracleDocs),
	GPUModel:          medium("NVIDIA GB200", nvidiaName),
	GPUMemoryBytes:    high(gib(192), oracleDocs),
	OCPUs:             high(144, oracleDocs),
	Platform:          unknown[string](byListShapes),
	MemoryGB:          high(960, oracleDocs),
	NVMeDevices:       high(4, oracleDocs),
	NVMeDeviceBytes:   high(tb(7.68), oracleDocs),
	VCNPorts:          high(2, oracleDocs),
	VCNGbpsPort:       high(200, oracleDocs),
	NICFamily:         high("ConnectX-7", oracleDocs),
	RDMAPorts:         high(4, oracleDocs),
	RDMAGbpsPort:      high(400, oracleDocs),
	HCAsPerPort:       high(1, oracleDocs),
	HCAs:              high(mlx5("0,1,3,4"), ociHPCOKE), // mlx5_2 is eth0, mlx5_5 is eth1
	NCCLEnv:           gb200Env,
	MPIEnv:            gb200MPI,
	AllReduce:         allReduce(unknown[float64](notFound), unknown[float64](notFound)),
	LinkWriteGbps:     medium(384.0, gate),
	LinkLatencyMicros: medium(9.0, gate),
	Topology:          graceTopology,
}

var graceShapes = []Shape{
	gb200,
	variant(gb200, "BM.GPU.GB200-v2.4", func(s *Shape) {
		s.OCPUs = medium(144, oneDocument)
		s.MemoryGB = medium(960, oneDocument)
		s.NVMeDeviceBytes = low(tb(7.68), "inferred from BM.GPU.GB200.4")
		s.VCNPorts = medium(2, oneDocument)
		s.VCNGbpsPort = medium(200, oneDocument)
		s.NICFamily = medium("ConnectX-7", oneDocument)
	}),
	variant(gb200, "BM.GPU.GB200-v3.4", func(s *Shape) { // each port shows as two functions
		s.OCPUs = unknown[int](notFound)
		s.MemoryGB = unknown[int](notFound)
		s.NVMeDeviceBytes = low(tb(7.68), "inferred from BM.GPU.GB200.4")
		s.VCNPorts = unknown[int](notFound)
		s.VCNGbpsPort = unknown[int](notFound)
		s.NICFamily = unknown[string](notFound)
		s.RDMAPorts = low(4, "inferred from 8 HCAs and GB300")
		s.RDMAGbpsPort = low(800, "inferred from oci-hpc's limit of 384 Gb/s an HCA")
		s.HCAsPerPort = low(2, "inferred from 8 HCAs and GB300")
		s.HCAs = high(mlx5("0-3,5-8"), ociHPCOKE)
		s.NCCLEnv = medium(graceRDMA, ociHPCOKE)
		s.MPIEnv = medium(merged(hcollOff, ucxPML), ociHPC)
		s.AllReduce = allReduce(unknown[float64](notFound), low(300.0, graceGate))
	}),
	{ // each 800 Gb/s port shows as two functions of 400; multi-plane hosts show rdma_vf_rail0 to 3 instead
		Name:            "BM.GPU.GB300.4",
		GPUVendor:       NVIDIA,
		GPUs:            medium(4, oneDocument),
		GPUModel:        medium("NVIDIA GB300", nvidiaName),
		GPUMemoryBytes:  medium(gib(278), oneDocument),
		OCPUs:           medium(144, oneDocument),
		Platform:        unknown[string](byListShapes),
		MemoryGB:        medium(960, oneDocument),
		NVMeDevices:     high(4, oracleDocs),
		NVMeDeviceBytes: medium(tb(7.68), oneDocument),
		VCNPorts:        medium(2, oneDocument),
		VCNGbpsPort:     medium(200, oneDocument),
		NICFamily:       unknown[string](notFound),
		RDMAPorts:       medium(4, oneDocument),
		RDMAGbpsPort:    medium(800, oneDocument),
		HCAsPerPort:     medium(2, oneDocument),
		HCAs:            high(mlx5("0-3,5-8"), ociHPCOKE),
		NCCLEnv: medium(merged(graceRDMA, map[string]string{
			"NCCL_IB_QPS_PER_CONNECTION": "4",
			"NCCL_NVLS_ENABLE":           "1",
			"NCCL_BUFFSIZE":              "16777216",
		}), ociHPCOKE),
		MPIEnv:            medium(merged(hcollOff, ucxPML), ociHPC),
		AllReduce:         allReduce(unknown[float64](notFound), low(440.0, graceGate)),
		LinkWriteGbps:     medium(384.0, gate),
		LinkLatencyMicros: medium(9.0, gate),
		Topology:          graceTopology,
	},
}
