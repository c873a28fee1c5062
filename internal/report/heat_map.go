// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/drawing"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// cell is what two nodes reached together, the last time that they were measured.
type cell struct {
	value   float64 // GB/s; 0 when they reached none
	size    int64   // bytes
	outcome job.Outcome
}

// pairs of nodes that were measured, by their places in the job.
func pairs(r job.Result) map[[2]int]cell {
	place := map[string]int{}
	for i, node := range r.Nodes {
		place[node.Name] = i
	}
	found := map[[2]int]cell{}
	for i := range r.Runs {
		run := &r.Runs[i]
		if len(run.Nodes) != 2 || len(r.Nodes) < 3 {
			continue
		}
		a, b := place[run.Nodes[0]], place[run.Nodes[1]]
		c := cell{outcome: run.Outcome}
		if run.Report != nil {
			c.value, c.size, _ = nccl.AtLargest(run.Report)
		}
		found[[2]int{min(a, b), max(a, b)}] = c
	}
	return found
}

// heatMap draws node by node what pairs reached; nil when no pair was measured. Only nodes of a pair are in it.
func heatMap(r job.Result, f format) *drawing.Drawing {
	found := pairs(r)
	if len(found) == 0 {
		return nil
	}
	var nodes []int
	top := 0.0
	for pair, c := range found {
		nodes = append(nodes, pair[0], pair[1])
		top = max(top, c.value)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	longest := 0
	for _, n := range nodes {
		longest = max(longest, len([]rune(r.Nodes[n].Name)))
	}
	left := min(float64(longest)*7+14, f.width*0.4)
	const above = 26.0
	side := min((f.width-left-10)/float64(len(nodes)), 64)
	d := &drawing.Drawing{Width: f.width, Height: above + side*float64(len(nodes)) + 10, Name: "Bus bandwidth of pairs of nodes"}
	for i, a := range nodes {
		at := float64(i) * side
		if side >= 9 {
			d.Text(drawing.Label, drawing.Point{X: left - 8, Y: above + at + side/2 + 4}, drawing.End, r.Nodes[a].Name)
		}
		if side >= 18 {
			d.Text(drawing.Label, drawing.Point{X: left + at + side/2, Y: above - 8}, drawing.Middle, fmt.Sprint(i+1))
		}
		for j, b := range nodes {
			from := drawing.Point{X: left + float64(j)*side + 1, Y: above + at + 1}
			to := drawing.Point{X: from.X + side - 2, Y: from.Y + side - 2}
			c, measured := found[[2]int{min(a, b), max(a, b)}]
			if !measured {
				d.Box(drawing.Absent, from, to, absentStrength(a == b), "")
				continue
			}
			drawCell(d, c, top, from, to, r.Nodes[a].Name+" and "+r.Nodes[b].Name)
		}
	}
	return d
}

// absentStrength tells a node with itself from a pair that was not measured.
func absentStrength(same bool) float64 {
	if same {
		return 1
	}
	return 0.35
}

func drawCell(d *drawing.Drawing, c cell, top float64, from, to drawing.Point, names string) {
	class, strength := drawing.First, 1.0
	if top > 0 {
		strength = 0.15 + 0.85*c.value/top
	}
	text, title := fmt.Sprintf("%.4g", c.value), fmt.Sprintf("%s: %s GB/s at %s", names, number(&c.value), nccl.FormatBytes(c.size))
	if c.outcome == job.Fail || c.outcome == job.CouldNotRun {
		class, strength = drawing.Bad, 1
		title += ", " + outcomeWord(c.outcome)
	}
	if c.value == 0 {
		text, title = mark(c.outcome), names+": "+outcomeWord(c.outcome)
	}
	d.Box(class, from, to, strength, title)
	if to.X-from.X >= 34 {
		ink := drawing.Strong
		if strength < 0.5 {
			ink = drawing.Value
		}
		d.Text(ink, drawing.Point{X: (from.X + to.X) / 2, Y: (from.Y+to.Y)/2 + 4}, drawing.Middle, text)
	}
}
