// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
)

func TestWhoIsStuck(t *testing.T) {
	t.Parallel()
	busy := func(ranks ...int) (all []node.Rank) {
		for _, r := range ranks {
			all = append(all, node.Rank{Rank: r, Ticks: 9})
		}
		return all
	}
	nodes := []string{"a", "b", "c"}
	for name, test := range map[string]struct {
		ranks [][]node.Rank
		node  string
		text  string
	}{
		"one stands still": {[][]node.Rank{busy(0, 1), {{Rank: 2}, {Rank: 3, Ticks: 5}}, busy(4, 5)}, "b", "rank 2 on b stands still, while the other ranks (5) work or wait"},
		"a whole node":     {[][]node.Rank{busy(0, 1), busy(2, 3), {{Rank: 4}, {Rank: 5}}}, "c", "rank 4 on c, rank 5 on c stand still, while the other ranks (4) work or wait"},
		"two nodes":        {[][]node.Rank{{{Rank: 0}, {Rank: 1, Ticks: 1}}, busy(2, 3), {{Rank: 4}, {Rank: 5, Ticks: 1}}}, "", "rank 0 on a, rank 4 on c stand still, while the other ranks (4) work or wait"},
		"none started":     {[][]node.Rank{busy(0, 1), busy(2, 3), {}}, "c", "no rank runs on c"},
		"does not tell":    {[][]node.Rank{busy(0, 1), busy(2, 3), nil}, "", ""},
		"all wait":         {[][]node.Rank{busy(0, 1), busy(2, 3), busy(4, 5)}, "", ""},
		"all stand still":  {[][]node.Rank{{{Rank: 0}}, {{Rank: 2}}, {{Rank: 4}}}, "", ""},
		"no launcher":      {[][]node.Rank{{}, {}, {}}, "", ""},
		"others' ranks":    {[][]node.Rank{busy(0, 1, 2, 3, 4, 5), {{Rank: 0}, {Rank: 2, Ticks: 1}, {Rank: 3, Ticks: 1}}, busy(4, 5)}, "", ""},
	} {
		if got := whoIsStuck(nodes, 2, test.ranks); got != (stuck{test.node, test.text}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
