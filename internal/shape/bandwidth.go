// SPDX-License-Identifier: MPL-2.0

package shape

// Bandwidth is the all_reduce bus bandwidth, 10^9 bytes per second, over a number of nodes with messages of
// a range of sizes.
type Bandwidth struct {
	Nodes     int   `json:"nodes"`
	FromBytes int64 `json:"from_bytes"`
	ToBytes   int64 `json:"to_bytes"` // exclusive; 0 has no end
	// Min is the least that passes; Expected what was measured, for people: never a limit.
	Min      Value[float64] `json:"min_busbw"`
	Expected Value[float64] `json:"expected_busbw"`
}

// Busbw finds what is known for a number of nodes and a message of that size; ok is false where nothing is:
// results on two nodes do not predict those of larger clusters, nor large messages those of small ones.
func (s Shape) Busbw(nodes int, bytes int64) (b Bandwidth, ok bool) {
	for _, b := range s.AllReduce {
		if b.Nodes == nodes && b.FromBytes <= bytes && (b.ToBytes == 0 || bytes < b.ToBytes) {
			return b, true
		}
	}
	return Bandwidth{}, false
}

// MinBusbw is the least all_reduce bus bandwidth at 1 GiB and above over that many nodes, 10^9 bytes per
// second. It is Unknown, with the reason, where nobody published a limit.
func (s Shape) MinBusbw(nodes int) Value[float64] {
	if b, ok := s.Busbw(nodes, gib(1)); ok {
		return b.Min
	}
	return unknown[float64](noLimit)
}

const noLimit = "no limit is published for this number of nodes"

// measured is a result that was published: the bandwidth from a message size on.
type measured struct {
	nodes    int
	from     int64
	expected Value[float64]
}

// at is a measurement by nodes and GiB.
func at(nodes int, gibibytes int64, expected Value[float64]) measured {
	return measured{nodes, gib(gibibytes), expected}
}

// allReduce makes the rows of a shape: one and two nodes, then what else was measured, by nodes and size.
func allReduce(oneNode, twoNodes Value[float64], results ...measured) []Bandwidth {
	rows := []Bandwidth{}
	for nodes := 1; nodes <= mostNodes(results); nodes++ {
		limit := unknown[float64](noLimit)
		switch nodes {
		case 1:
			limit = oneNode
		case 2:
			limit = twoNodes
		}
		row := Bandwidth{Nodes: nodes, FromBytes: gib(1), Min: limit, Expected: unknown[float64](notMeasured)}
		for _, r := range results {
			switch {
			case r.nodes != nodes:
				continue
			case r.from > row.FromBytes:
				row.ToBytes = r.from
				rows = append(rows, row)
				row.FromBytes, row.ToBytes = r.from, 0
			}
			row.Expected = r.expected
		}
		rows = append(rows, row)
	}
	return rows
}

const notMeasured = "no measurement at these sizes is published"

func mostNodes(results []measured) int {
	most := 2
	for _, r := range results {
		most = max(most, r.nodes)
	}
	return most
}
