// SPDX-License-Identifier: MPL-2.0

package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// uniformity is a fact that should be the same on all nodes; where it is not, that is a warning.
type uniformity struct {
	check  string
	what   string
	health bool                    // whether only those ask who ask for health
	value  func(*job.Facts) string // empty: not known
}

var uniformities = []uniformity{
	{"uniform_os", "system", true, func(f *job.Facts) string { return f.OS }},
	{"uniform_kernel", "kernel", true, func(f *job.Facts) string { return f.Kernel }},
	{"uniform_driver", "NVIDIA driver", false, func(f *job.Facts) string { return f.DriverVersion }},
	{"uniform_gpu_count", "number of GPUs", false, func(f *job.Facts) string {
		if len(f.GPUs) == 0 {
			return ""
		}
		return strconv.Itoa(len(f.GPUs))
	}},
	{"uniform_gpu_model", "GPU", true, func(f *job.Facts) string { return distinct(f.GPUs, func(g job.GPU) string { return g.Name }) }},
	{"uniform_vbios", "firmware of the GPUs", true, func(f *job.Facts) string { return distinct(f.GPUs, func(g job.GPU) string { return g.VBIOS }) }},
	{"uniform_hca_firmware", "firmware of the RDMA adapters", true, func(f *job.Facts) string {
		return distinct(f.HCAs, func(h job.HCA) string { return h.Firmware })
	}},
	{"uniform_open_mpi", "Open MPI", false, func(f *job.Facts) string { return f.OpenMPIVersion }},
	{"uniform_hpc_island", "HPC island", true, func(f *job.Facts) string {
		if f.Topology == nil {
			return ""
		}
		return short(f.Topology.HPCIsland)
	}},
}

// distinct joins the different values of a list, in its order.
func distinct[T any](list []T, value func(T) string) string {
	var all []string
	for _, element := range list {
		if v := value(element); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return strings.Join(all, ", ")
}

// CheckUniform adds to every node the checks that need all of them: that the nodes are alike. A node is
// compared with what most nodes have; of several such values the first in the order of the nodes counts.
// Checks that are skipped, and without health those that only belong to it, are left out.
func CheckUniform(nodes []job.NodeResult, health bool, skip []string) {
	if len(nodes) < 2 {
		return
	}
	for _, u := range uniformities {
		usual := u.mostCommon(nodes)
		if usual == "" || u.health && !health || slices.Contains(skip, u.check) {
			continue
		}
		for i := range nodes {
			if nodes[i].Facts != nil {
				nodes[i].Checks = append(nodes[i].Checks, u.judge(nodes[i].Facts, usual))
			}
		}
	}
}

// CheckClock tells whether a node's clock agrees with this machine's, from the node's time in its report and the
// time at which that came here. What lies between is the way of the report.
func CheckClock(r Report, received time.Time) job.Check {
	const name = "uniform_clock"
	off := received.Sub(r.At).Round(time.Millisecond)
	if off.Abs() > clocksApart {
		return check(name, job.Warn, fmt.Sprintf("the clock is %s from the head node's", off.Abs()), "")
	}
	return check(name, job.Pass, "the clock agrees with the head node's", "")
}

// clocksApart is more than a report needs on its way.
const clocksApart = 2 * time.Second

func (u uniformity) mostCommon(nodes []job.NodeResult) string {
	var order []string
	count := map[string]int{}
	for _, n := range nodes {
		if n.Facts == nil {
			continue
		}
		if value := u.value(n.Facts); value != "" {
			if count[value] == 0 {
				order = append(order, value)
			}
			count[value]++
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	if len(order) == 0 {
		return ""
	}
	return order[0]
}

func (u uniformity) judge(facts *job.Facts, usual string) job.Check {
	switch value := u.value(facts); value {
	case usual:
		return check(u.check, job.Pass, fmt.Sprintf("%s: %s, as on most nodes", u.what, value), "")
	case "":
		return check(u.check, job.CannotTell, fmt.Sprintf("%s: not known here, %s on most nodes", u.what, usual), "")
	default:
		return check(u.check, job.Warn, fmt.Sprintf("%s: %s, but %s on most nodes", u.what, value, usual), "")
	}
}
