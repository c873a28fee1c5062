// SPDX-License-Identifier: MPL-2.0

package shape

var pascalVoltaShapes = []Shape{
	{
		Name:            "BM.GPU2.2",
		GPUVendor:       NVIDIA,
		GPUs:            high(2, oracleDocs),
		GPUModel:        low("Tesla P100-SXM2-16GB", "inferred: PCIe or SXM2 is not said"),
		GPUMemoryBytes:  high(gib(16), oracleDocs),
		OCPUs:           high(28, oracleDocs),
		MemoryGB:        high(192, oracleDocs),
		NVMeDevices:     noNVMe,
		NVMeDeviceBytes: unknown[int64](noLocalNVMe),
		VCNPorts:        high(2, oracleDocs),
		VCNGbpsPort:     high(25, oracleDocs),
		NICFamily:       unknown[string](notFound),
		RDMAPorts:       high(0, oracleDocs),
		RDMAGbpsPort:    unknown[int](noRDMA),
		HCAsPerPort:     unknown[int](noRDMA),
		HCAs:            unknown[[]string](noRDMA),
		NCCLEnv:         noRDMAEnv,
		MPIEnv:          noRDMAEnv,
		MinBusbwAllReduce: map[int]Value[float64]{
			1: unknown[float64](notFound),
			2: unknown[float64](noRDMA),
		},
	},
	{
		Name:            "BM.GPU3.8",
		GPUVendor:       NVIDIA,
		GPUs:            high(8, oracleDocs),
		GPUModel:        medium("Tesla V100-SXM2-16GB", nvidiaName),
		GPUMemoryBytes:  high(gib(16), oracleDocs),
		OCPUs:           high(52, oracleDocs),
		MemoryGB:        high(768, oracleDocs),
		NVMeDevices:     noNVMe,
		NVMeDeviceBytes: unknown[int64](noLocalNVMe),
		VCNPorts:        high(2, oracleDocs),
		VCNGbpsPort:     high(25, oracleDocs),
		NICFamily:       unknown[string](notFound),
		RDMAPorts:       high(0, oracleDocs),
		RDMAGbpsPort:    unknown[int](noRDMA),
		HCAsPerPort:     unknown[int](noRDMA),
		HCAs:            unknown[[]string](noRDMA),
		NCCLEnv:         noRDMAEnv,
		MPIEnv:          noRDMAEnv,
		MinBusbwAllReduce: map[int]Value[float64]{
			1: unknown[float64]("no limit is published; Oracle Japan's tutorials measured about 135 at 1 GB"),
			2: unknown[float64](noRDMA),
		},
	},
}
