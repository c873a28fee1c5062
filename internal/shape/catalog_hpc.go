// SPDX-License-Identifier: MPL-2.0

package shape

// hpc fills in what is the same for every shape without GPUs and with one RDMA port.
func hpc(s Shape) Shape {
	s.GPUs = high(0, oracleDocs)
	s.GPUModel = unknown[string](noGPU)
	s.GPUMemoryBytes = unknown[int64](noGPU)
	s.NVMeDevices = high(1, oracleDocs)
	s.RDMAPorts = high(1, oracleDocs)
	s.RDMAGbpsPort = high(100, oracleDocs)
	s.HCAsPerPort = high(1, oracleDocs)
	s.NCCLEnv = unknown[map[string]string](noGPU)
	s.MPIEnv = unknown[map[string]string](notFound)
	s.MinBusbwAllReduce = map[int]Value[float64]{1: unknown[float64](noGPU), 2: unknown[float64](noGPU)}
	return s
}

var hpcShapes = []Shape{
	hpc(Shape{
		Name:            "BM.HPC2.36",
		OCPUs:           high(36, oracleDocs),
		MemoryGB:        low(384, oneDocument),
		NVMeDeviceBytes: low(tb(6.4), "sources conflict: 6.4 or 6.7 TB"),
		VCNPorts:        low(1, oneDocument),
		VCNGbpsPort:     low(25, oneDocument),
		NICFamily:       high("ConnectX-5 Ex", oracleDocs),
		HCAs:            medium(mlx5("0"), cnAuth),
	}),
	hpc(Shape{
		Name:            "BM.Optimized3.36",
		OCPUs:           high(36, oracleDocs),
		MemoryGB:        high(512, oracleDocs),
		NVMeDeviceBytes: high(tb(3.84), oracleDocs),
		VCNPorts:        high(2, oracleDocs),
		VCNGbpsPort:     high(50, oracleDocs),
		NICFamily:       high("ConnectX-5 Ex", oracleDocs),
		HCAs:            high(mlx5("2"), hpcCNAuth),
	}),
	hpc(Shape{
		Name:            "BM.HPC.E5.144",
		OCPUs:           high(144, oracleDocs),
		MemoryGB:        high(768, oracleDocs),
		NVMeDeviceBytes: high(tb(3.84), oracleDocs),
		VCNPorts:        high(1, oracleDocs),
		VCNGbpsPort:     high(100, oracleDocs),
		NICFamily:       high("ConnectX-6 Dx", oracleDocs),
		HCAs:            medium(mlx5("2"), cnAuth), // mlx5_0 and 1 serve the VCN
	}),
}
