// SPDX-License-Identifier: MPL-2.0

package shape

import "cmp"

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
	s.MPIEnv = low(map[string]string{"UCX_IB_TRAFFIC_CLASS": "105"}, "inferred: oci-cn-auth gives HPC traffic the class 105")
	s.LinkWriteGbps = cmp.Or(s.LinkWriteGbps, unknown[float64](notFound))
	s.LinkLatencyMicros = cmp.Or(s.LinkLatencyMicros, unknown[float64](notFound))
	s.AllReduce = allReduce(unknown[float64](noGPU), unknown[float64](noGPU))
	return s
}

var hpcShapes = []Shape{
	hpc(Shape{
		Name:            "BM.HPC2.36",
		OCPUs:           high(36, oracleDocs),
		Platform:        unknown[string](byListShapes),
		MemoryGB:        low(384, oneDocument),
		NVMeDeviceBytes: low(tb(6.4), "sources conflict: 6.4 or 6.7 TB"),
		VCNPorts:        low(1, oneDocument),
		VCNGbpsPort:     low(25, oneDocument),
		NICFamily:       high("ConnectX-5 Ex", oracleDocs),
		HCAs:            medium(mlx5("0"), cnAuth),
		Topology:        onePort("5e", "enp94s0f0"),
	}),
	hpc(Shape{
		Name:              "BM.Optimized3.36",
		OCPUs:             high(36, oracleDocs),
		Platform:          high("INTEL_ICELAKE_BM", apiReference),
		MemoryGB:          high(512, oracleDocs),
		NVMeDeviceBytes:   high(tb(3.84), oracleDocs),
		VCNPorts:          high(2, oracleDocs),
		VCNGbpsPort:       high(50, oracleDocs),
		NICFamily:         high("ConnectX-5 Ex", oracleDocs),
		HCAs:              high(mlx5("2"), hpcCNAuth),
		LinkWriteGbps:     medium(96.0, gate),
		LinkLatencyMicros: medium(5.0, gate),
		Topology:          onePort("98", "ens800f0"),
	}),
	hpc(Shape{
		Name:            "BM.HPC.E5.144",
		OCPUs:           high(144, oracleDocs),
		Platform:        unknown[string](byListShapes),
		MemoryGB:        high(768, oracleDocs),
		NVMeDeviceBytes: high(tb(3.84), oracleDocs),
		VCNPorts:        high(1, oracleDocs),
		VCNGbpsPort:     high(100, oracleDocs),
		NICFamily:       high("ConnectX-6 Dx", oracleDocs),
		HCAs:            medium(mlx5("2"), cnAuth),
		Topology:        onePort("e1", "ens500f0"), // mlx5_0 and 1 serve the VCN
	}),
}
