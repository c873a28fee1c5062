// SPDX-License-Identifier: MPL-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/drawing"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// bar is what a node reached alone at its largest size.
type bar struct {
	node    string
	value   float64 // GB/s
	size    int64   // bytes
	outcome job.Outcome
}

// mostBars that are drawn: of more nodes, the slowest.
const mostBars = 64

// bars of the nodes, the slowest first.
func bars(r job.Result) []bar {
	var all []bar
	for _, node := range r.Nodes {
		run := r.Alone(node.Name)
		if run == nil {
			continue
		}
		if value, size, ok := nccl.AtLargest(run.Report); ok {
			all = append(all, bar{node.Name, value, size, run.Outcome})
		}
	}
	slices.SortStableFunc(all, func(a, b bar) int { return cmp.Compare(a.value, b.value) })
	return all
}

// barChart draws what each node reached alone beside the limit, where there is one; nil for less than two nodes.
func barChart(all []bar, limits []limit, f format) *drawing.Drawing {
	if len(all) < 2 {
		return nil
	}
	all = all[:min(len(all), mostBars)]
	const row, below = 22.0, 30.0
	names := 0
	for _, b := range all {
		names = max(names, len([]rune(b.node)))
	}
	left := min(float64(names)*7+14, f.width/2)
	d := &drawing.Drawing{Width: f.width, Height: float64(len(all))*row + 10 + below, Name: "Bus bandwidth of each node alone"}
	top := 0.0
	for _, b := range all {
		top = max(top, b.value)
	}
	drawn := limitsAt(limits, all[0].size)
	for _, l := range drawn {
		top = max(top, l.atLeast)
	}
	step := niceStep(top / 4)
	top = max(top, step)
	right := f.width - 60
	x := func(v float64) float64 { return left + v/top*(right-left) }
	bottom := float64(len(all))*row + 10
	for v := 0.0; v <= top*1.001; v += step {
		d.Line(drawing.Grid, drawing.Point{X: x(v), Y: 4}, drawing.Point{X: x(v), Y: bottom})
		d.Text(drawing.Label, drawing.Point{X: x(v), Y: bottom + 18}, drawing.Middle, fmt.Sprintf("%.4g", v))
	}
	for i, b := range all {
		y := float64(i)*row + 8
		d.Text(drawing.Label, drawing.Point{X: left - 8, Y: y + 12}, drawing.End, b.node)
		d.Box(barClass(b.outcome), drawing.Point{X: left, Y: y}, drawing.Point{X: x(b.value), Y: y + row - 6}, 1,
			fmt.Sprintf("%s alone: %s GB/s at %s, %s", b.node, number(&b.value), nccl.FormatBytes(b.size), outcomeWord(b.outcome)))
		d.Text(drawing.Value, drawing.Point{X: x(b.value) + 6, Y: y + 12}, drawing.Start, number(&b.value))
	}
	for _, l := range drawn {
		d.Line(l.class, drawing.Point{X: x(l.atLeast), Y: 2}, drawing.Point{X: x(l.atLeast), Y: bottom})
	}
	return d
}

func barClass(o job.Outcome) drawing.Class {
	switch o {
	case job.Fail, job.CouldNotRun:
		return drawing.Bad
	case job.Warn:
		return drawing.Doubtful
	case job.Pass, job.CannotTell:
	}
	return drawing.First
}

// limitsAt gives those for a size.
func limitsAt(limits []limit, size int64) []limit {
	return slices.DeleteFunc(slices.Clone(limits), func(l limit) bool { return size < l.from || l.to > 0 && size >= l.to })
}
