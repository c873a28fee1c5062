// SPDX-License-Identifier: MPL-2.0

package node

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// uniformity is a fact that should be the same on all nodes.
type uniformity struct {
	check   string
	what    string
	outcome job.Outcome // when it is not
	advice  string
	value   func(*job.Facts) string // empty: not known
}

var uniformities = []uniformity{
	{
		check: "uniform_driver", what: "NVIDIA driver", outcome: job.Warn,
		advice: "use one image for all nodes, or update the driver where it differs",
		value:  func(f *job.Facts) string { return f.DriverVersion },
	},
	{
		check: "uniform_gpu_count", what: "number of GPUs", outcome: job.Warn,
		advice: "find out why GPUs are missing, or name the number of GPUs a node in the job",
		value: func(f *job.Facts) string {
			if len(f.GPUs) == 0 {
				return ""
			}
			return strconv.Itoa(len(f.GPUs))
		},
	},
	{
		check: "uniform_open_mpi", what: "Open MPI", outcome: job.Warn,
		advice: "Open MPI of different versions cannot work together: install the same on all nodes",
		value:  func(f *job.Facts) string { return f.OpenMPIVersion },
	},
}

// CheckUniform adds to every node the checks that need all of them: that the nodes are alike. A node is
// compared with what most nodes have; of several such values the first in the order of the nodes counts.
func CheckUniform(nodes []job.NodeResult) {
	if len(nodes) < 2 {
		return
	}
	for _, u := range uniformities {
		usual := u.mostCommon(nodes)
		if usual == "" {
			continue
		}
		for i := range nodes {
			if nodes[i].Facts != nil {
				nodes[i].Checks = append(nodes[i].Checks, u.judge(nodes[i].Facts, usual))
			}
		}
	}
}

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
		return check(u.check, u.outcome, fmt.Sprintf("%s: %s, but %s on most nodes", u.what, value, usual), u.advice)
	}
}
