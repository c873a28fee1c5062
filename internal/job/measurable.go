// SPDX-License-Identifier: MPL-2.0

package job

import (
	"fmt"
	"slices"
	"strings"
)

// What nccl-tests measure, in their words.
var (
	// Collectives: alltoallv from nccl-tests 2.19.0 on; hypercube for a power of two of ranks.
	Collectives = []string{"all_gather", "all_reduce", "alltoall", "alltoallv", "broadcast", "gather", "hypercube",
		"reduce", "reduce_scatter", "scatter", "sendrecv"}
	// DataTypes: those of 8 bits need NCCL 2.24 or later, and nccl-tests built against it.
	DataTypes = []string{"int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"}
	// RedOps: mulsum multiplies by a scalar before it sums.
	RedOps = []string{"sum", "prod", "min", "max", "avg", "mulsum"}
)

// MPISuffix ends the names of nccl-tests that were built with MPI beside others, as NVIDIA's images have them (nccl-tests'
// README: NAME_SUFFIX).
const MPISuffix = "_mpi"

// CheckCollective says why nccl-tests cannot measure it; nil when they can.
func CheckCollective(name string) error { return isOne("collective", name, Collectives) }

// CheckDataType says why nccl-tests cannot measure with it; nil when they can.
func CheckDataType(name string) error { return isOne("data type", name, DataTypes) }

// CheckRedOp says why nccl-tests cannot measure with it; nil when they can.
func CheckRedOp(name string) error { return isOne("reduction", name, RedOps) }

func isOne(what, name string, known []string) error {
	switch {
	case slices.Contains(known, name):
		return nil
	case name == "all":
		return fmt.Errorf("%q measures one %s after the other into one table, which cannot be judged as one: name one of %s, and measure others by further benchmarks", name, what, strings.Join(known, ", "))
	}
	return fmt.Errorf("%q is no %s of nccl-tests: they have %s", name, what, strings.Join(known, ", "))
}

// CheckRanks says why a collective cannot be measured with so many ranks; nil when it can.
func CheckRanks(collective string, ranks int) error {
	if collective == "hypercube" && ranks&(ranks-1) != 0 {
		return fmt.Errorf("hypercube needs a power of two of ranks, and there are %d", ranks)
	}
	return nil
}
