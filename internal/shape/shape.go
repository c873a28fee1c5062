// SPDX-License-Identifier: MPL-2.0

// Package shape is the one catalog of OCI GPU and RDMA shapes: what a node of a shape has, and which
// settings and limits belong to it. Cloud-init, checks, launchers, verdicts and the lab all read it.
//
// The catalog is in catalog_*.go, one file a family, one literal a shape. What the catalog returns is
// shared by all callers: treat its maps and slices as read-only.
package shape

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Confidence in a value.
type Confidence string

// Confidences. Only High and Medium values may be pass/fail limits.
const (
	High    Confidence = "high"   // several independent sources, or Oracle's own
	Medium  Confidence = "medium" // one good source
	Low     Confidence = "low"    // inferred, or sources conflict: shown, never a limit
	Unknown Confidence = ""       // no value; Source says why
)

// Value is a fact with its origin.
type Value[T any] struct {
	V          T
	Confidence Confidence
	// Source of the value; the reason for its absence when Confidence is Unknown.
	Source string
}

// MarshalJSON writes value, confidence and source; the value is null where there is none.
func (v Value[T]) MarshalJSON() ([]byte, error) {
	document := struct {
		Value      *T         `json:"value"`
		Confidence Confidence `json:"confidence"`
		Source     string     `json:"source"`
	}{nil, v.Confidence, v.Source}
	if v.Known() {
		document.Value = &v.V
	} else {
		document.Confidence = "unknown"
	}
	return json.Marshal(document)
}

// Usable says whether the value may decide a pass or a fail.
func (v Value[T]) Usable() bool { return v.Confidence == High || v.Confidence == Medium }

// Known says whether there is a value at all.
func (v Value[T]) Known() bool { return v.Confidence != Unknown }

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
	Name      string        `json:"name"`
	GPUVendor Vendor        `json:"gpu_vendor"`
	GPUs      Value[int]    `json:"gpus"`
	GPUModel  Value[string] `json:"gpu_model"` // as nvidia-smi names it, such as NVIDIA A100-SXM4-40GB
	// GPUMemoryBytes is a GPU's nominal memory; tools show a little less.
	GPUMemoryBytes Value[int64] `json:"gpu_memory_bytes"`
	OCPUs          Value[int]   `json:"ocpus"`
	// Platform is the type of platform configuration that OCI takes for instances of the shape.
	Platform Value[string] `json:"platform"`
	MemoryGB Value[int]    `json:"memory_gb"`
	// NVMeDevices is the number of local NVMe devices: an expectation. What is there is found at boot.
	NVMeDevices     Value[int]    `json:"nvme_devices"`
	NVMeDeviceBytes Value[int64]  `json:"nvme_device_bytes"` // of one device
	VCNPorts        Value[int]    `json:"vcn_ports"`
	VCNGbpsPort     Value[int]    `json:"vcn_gbps_per_port"` // gigabits per second, a port
	NICFamily       Value[string] `json:"nic_family"`
	RDMAPorts       Value[int]    `json:"rdma_ports"`
	RDMAGbpsPort    Value[int]    `json:"rdma_gbps_per_port"` // gigabits per second, a port
	// HCAsPerPort is the number of PCI functions, each an HCA of its own, by which one RDMA port is used.
	HCAsPerPort Value[int]      `json:"hcas_per_port"`
	HCAs        Value[[]string] `json:"hcas"` // data HCAs for NCCL, such as mlx5_0
	// NCCLEnv holds the public recommendations for NCCL on the shape, by variable name, without NCCL_IB_HCA
	// (see [Shape.Environment]), without NCCL_SOCKET_IFNAME (interface names depend on the image), and
	// without variables on which the sources conflict.
	NCCLEnv Value[map[string]string] `json:"nccl_environment"`
	// MPIEnv holds the same for Open MPI, UCX and HCOLL, which start the ranks and carry no data of NCCL.
	MPIEnv Value[map[string]string] `json:"mpi_environment"`
	// AllReduce is by nodes and message size, from 1 GiB on; see [Shape.Busbw] and [Shape.MinBusbw].
	AllReduce []Bandwidth `json:"all_reduce"`
	// LinkWriteGbps is the least that ib_write_bw must show between two nodes, gigabits per second an HCA.
	LinkWriteGbps Value[float64] `json:"min_ib_write_bw_gbps"`
	// LinkLatencyMicros is the most that ib_write_lat may show between two nodes, microseconds.
	LinkLatencyMicros Value[float64] `json:"max_ib_write_lat_us"`
	Topology          Topology       `json:"topology"`
}

// Lookup finds a shape by its exact name.
func Lookup(name string) (Shape, bool) {
	s, ok := catalog[name]
	return s, ok
}

// Names of all shapes, sorted.
func Names() []string { return slices.Sorted(maps.Keys(catalog)) }

// All shapes, sorted by name.
func All() []Shape {
	all := make([]Shape, 0, len(catalog))
	for _, name := range Names() {
		all = append(all, catalog[name])
	}
	return all
}

// IsRDMA says whether the shape has ports for a cluster network.
func (s Shape) IsRDMA() bool { return s.RDMAPorts.V > 0 || len(s.HCAs.V) > 0 }

// NeedsMemoryCluster says whether OCI offers a shape only in GPU memory clusters: those of Grace Blackwell
// racks, also such as are not in the catalog yet.
func NeedsMemoryCluster(name string) bool { return strings.HasPrefix(name, "BM.GPU.GB") }

// Environment is what to set for NCCL on the shape: the usable part of the catalog, as a new map. An
// empty map means that NCCL's defaults are the best that is known.
func (s Shape) Environment() map[string]string {
	env := map[string]string{}
	if s.NCCLEnv.Usable() {
		maps.Copy(env, s.NCCLEnv.V)
	}
	if s.HCAs.Usable() && len(s.HCAs.V) > 0 {
		env["NCCL_IB_HCA"] = "=" + strings.Join(s.HCAs.V, ",") // "=": mlx5_1 must not match mlx5_10
	}
	return env
}
