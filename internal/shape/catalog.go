// SPDX-License-Identifier: MPL-2.0

package shape

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Sources, as the catalog names them.
const (
	oracleDocs      = "two or more of: Oracle's shape documentation, oci-hpc 3.1, oci-hpc-oke"
	oneDocument     = "one public Oracle document or stack"
	listShapes      = "Oracle's shape documentation; ListShapes"
	apiReference    = "OCI's API reference of this type names the shape"
	ociHPC          = "oci-hpc 3.1"
	ociHPCOKE       = "oci-hpc 3.1 and oci-hpc-oke agree"
	oke             = "oci-hpc-oke, 2026-08"
	cnAuth          = "oci-cn-auth configs/shapes.json"
	hpcCNAuth       = "oci-hpc 3.1 and oci-cn-auth agree"
	nvidiaName      = "NVIDIA's driver names the product so"
	gate            = "oci-hpc 3.1 health checks"
	tutorials       = "Oracle Japan's tutorials"
	troubleshooting = "oci-hpc's Troubleshooting.md, NCCL 2.23.4"
	argonne         = "Argonne's field notes"
)

// catalog holds every shape by name.
var catalog = byName(pascalVoltaShapes, ampereShapes, adaShapes, hopperShapes, blackwellShapes, graceShapes, amdShapes, hpcShapes)

func byName(families ...[]Shape) map[string]Shape {
	shapes := map[string]Shape{}
	for _, family := range families {
		for _, s := range family {
			shapes[s.Name] = s
		}
	}
	return shapes
}

func high[T any](v T, source string) Value[T]   { return Value[T]{v, High, source} }
func medium[T any](v T, source string) Value[T] { return Value[T]{v, Medium, source} }
func low[T any](v T, source string) Value[T]    { return Value[T]{v, Low, source} }

// unknown is the absence of a value, with the reason.
func unknown[T any](why string) Value[T] { return Value[T]{Source: why} }

// gib is GPU memory as vendors count it.
func gib(n int64) int64 { return n << 30 }

// tb is drive capacity as vendors count it.
func tb(n float64) int64 { return int64(n * 1e12) }

// mlx5 writes out HCA names: mlx5("0-2,5") is mlx5_0, mlx5_1, mlx5_2, mlx5_5.
func mlx5(ranges string) []string { return devices("mlx5_", ranges) }

func devices(prefix, ranges string) []string {
	var names []string
	for part := range strings.SplitSeq(ranges, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		for n := number(first); n <= number(last); n++ {
			names = append(names, prefix+strconv.Itoa(n))
		}
	}
	return names
}

// number panics on a mistake in the catalog itself, which the first test or start shows.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("shape catalog: %v", err))
	}
	return n
}

// variant is a shape that differs from another in what change sets.
func variant(of Shape, name string, change func(*Shape)) Shape {
	of.Name = name
	change(&of)
	return of
}

// merged is a new map of all entries; later ones win.
func merged(envs ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, env := range envs {
		maps.Copy(all, env)
	}
	return all
}

// Settings that many shapes share.
var (
	// noNVMe is for shapes with block volumes only.
	noNVMe = high(0, oracleDocs)

	noRDMAEnv = high(map[string]string{}, "no RDMA network: NCCL's defaults")

	// hcollOff keeps HCOLL from taking over MPI's collectives.
	hcollOff = map[string]string{
		"OMPI_MCA_coll":              "^hcoll",
		"OMPI_MCA_coll_hcoll_enable": "0",
		"HCOLL_ENABLE_MCAST_ALL":     "0",
	}
	ucxPML = map[string]string{"OMPI_MCA_pml": "ucx"}

	// queues are the longer receive queues that every current sample sets.
	queues = map[string]string{"RX_QUEUE_LEN": "8192", "IB_RX_QUEUE_LEN": "8192"}

	// roce: GID 3 is RoCE v2 over IPv4 on OCI's images; traffic class 41 (DSCP 10) is the class of GPU traffic.
	roce = map[string]string{"NCCL_IB_GID_INDEX": "3", "NCCL_IB_TC": "41", "NCCL_IB_SL": "0"}
)

const (
	noLocalNVMe = "no local NVMe"
	noRDMA      = "no RDMA network"
	notFound    = "no public source found"
	noGPU       = "no GPU"

	byListShapes = "OCI's API reference names the shape at no type; ListShapes tells it"
)
