// SPDX-License-Identifier: MPL-2.0

// Package shape is the one catalog of OCI GPU and RDMA shapes: what a node of a shape has, and which
// settings and limits belong to it. Cloud-init, checks, launchers, verdicts and the lab all read it.
package shape

// Confidence in a value.
type Confidence string

// Confidences. Only High and Medium values may be pass/fail limits.
const (
	High   Confidence = "high"   // several independent sources, or Oracle's own
	Medium Confidence = "medium" // one good source
	Low    Confidence = "low"    // inferred, or sources conflict: shown, never a limit
)

// Value is a fact with its origin.
type Value[T any] struct {
	V          T
	Confidence Confidence
	Source     string
}

// Usable says whether the value may decide a pass or a fail.
func (v Value[T]) Usable() bool { return v.Confidence == High || v.Confidence == Medium }

// Vendor of the GPUs.
type Vendor string

// Vendors.
const (
	NVIDIA Vendor = "NVIDIA"
	AMD    Vendor = "AMD"
	NoGPU  Vendor = ""
)

// Shape is one OCI shape.
type Shape struct {
	Name           string
	GPUVendor      Vendor
	GPUs           Value[int]
	GPUModel       Value[string] // as nvidia-smi names it, such as NVIDIA A100-SXM4-40GB
	GPUMemoryBytes Value[int64]
	OCPUs          Value[int]
	MemoryGB       Value[int]
	NVMeDevices    Value[int]
	RDMAPorts      Value[int]
	RDMAGbpsPort   Value[int]      // gigabits per second, a port
	HCAs           Value[[]string] // data HCAs for NCCL, such as mlx5_0
	// NCCLEnv holds what Oracle recommends for NCCL, UCX and Open MPI on the shape, by variable name.
	NCCLEnv Value[map[string]string]
	// MinBusbwAllReduce is the least all_reduce bus bandwidth at 1 GiB and above, 10^9 bytes per second,
	// by number of nodes: [1] one node, [2] two nodes or more. Zero value: no usable limit is known.
	MinBusbwAllReduce map[int]Value[float64]
}

// Lookup finds a shape by its exact name.
func Lookup(name string) (Shape, bool) {
	s, ok := catalog[name]
	return s, ok
}
