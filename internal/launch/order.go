// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"cmp"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Place is a node and where it is.
type Place struct {
	Name     string
	Topology *job.Topology // nil when it is not known
}

// NearOrder gives the indexes of places so that those near each other follow each other: by HPC island, network block, local
// block and rack. NCCL's rings follow the ranks, and so the hosts. The place that was first stays first, then come those
// next to it; within a rack the order is kept, as it is where nothing is known.
func NearOrder(places []Place) []int {
	order := make([]int, len(places))
	seen := make([]map[string]int, levels) // when a block of a level first appears
	for level := range seen {
		seen[level] = map[string]int{}
	}
	for i, p := range places {
		order[i] = i
		for level := range levels {
			if key := blockOf(p, level); seen[level][key] == 0 {
				seen[level][key] = i + 1
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		for level := range levels {
			if c := cmp.Compare(seen[level][blockOf(places[a], level)], seen[level][blockOf(places[b], level)]); c != 0 {
				return c
			}
		}
		return 0
	})
	return order
}

const levels = 4

// blockOf names the block of a level, from the island at 0 to the rack at 3, that a place is in. An unknown one is a block of
// its own in the block around it.
func blockOf(p Place, level int) string {
	if p.Topology == nil {
		return ""
	}
	path := ""
	for _, id := range []string{p.Topology.HPCIsland, p.Topology.NetworkBlock, p.Topology.LocalBlock, p.Topology.Rack}[:level+1] {
		path += id + "\n"
	}
	return path
}
