// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// chart is bus bandwidth over message size, the latter on a logarithmic axis, in the units of an SVG.
type chart struct {
	Width, Height            float64
	Left, Right, Top, Bottom float64 // edges of the plot
	XTicks, YTicks           []tick
	Series                   []series
}

type tick struct {
	At    float64
	Label string
}

type series struct {
	Class  string // of CSS
	Points []point
	Path   string
}

type point struct {
	X, Y  float64
	Label string
}

// curve is a series before it is drawn: bandwidth by size.
type curve struct {
	class, name string
	bySize      map[int64]float64
}

// Classes of curves.
const (
	classNode       = "node"
	classBadNode    = "bad-node" // alone, and not passed
	classInPlace    = "in-place"
	classOutOfPlace = "out-of-place"
)

// curves of a result: each node alone in thin lines, and the overall run, both placements, on top.
func curves(r job.Result, overall *job.Measurement) []curve {
	var all []curve
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Scope == job.ScopeNode && run.Report != nil && run != overall {
			class := classNode
			if run.Outcome != job.Pass {
				class = classBadNode
			}
			all = append(all, curveOf(class, strings.Join(run.Nodes, " ")+" alone", run.Report.Rows, outOfPlace))
		}
	}
	if overall != nil && overall.Report != nil {
		all = append(all, curveOf(classInPlace, "in place", overall.Report.Rows, inPlace),
			curveOf(classOutOfPlace, "out of place", overall.Report.Rows, outOfPlace))
	}
	return slices.DeleteFunc(all, func(c curve) bool { return len(c.bySize) == 0 })
}

func outOfPlace(row job.Row) *job.Placement { return row.OutOfPlace }
func inPlace(row job.Row) *job.Placement    { return row.InPlace }

// curveOf takes the lowest bandwidth where a size was measured several times.
func curveOf(class, name string, rows []job.Row, half func(job.Row) *job.Placement) curve {
	c := curve{class: class, name: name, bySize: map[int64]float64{}}
	for _, row := range rows {
		h := half(row)
		if h == nil || h.BusbwGBPerS == nil || row.SizeBytes <= 0 {
			continue
		}
		lowest, measured := c.bySize[row.SizeBytes]
		if !measured || *h.BusbwGBPerS < lowest {
			c.bySize[row.SizeBytes] = *h.BusbwGBPerS
		}
	}
	return c
}

// newChart draws curves into an SVG of this size with about so many labels on the axis of sizes; nil when
// there is nothing to draw.
func newChart(all []curve, width, height float64, labels int) *chart {
	var sizes []int64
	top := 0.0
	for _, c := range all {
		for size, busbw := range c.bySize {
			sizes = append(sizes, size)
			top = max(top, busbw)
		}
	}
	if len(sizes) == 0 {
		return nil
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	c := &chart{Width: width, Height: height, Left: 52, Right: width - 20, Top: 16, Bottom: height - 44}
	step := niceStep(top / 4)
	top = max(step, math.Ceil(top/step)*step)

	first, last := math.Log2(float64(sizes[0])), math.Log2(float64(sizes[len(sizes)-1]))
	x := func(size int64) float64 {
		if first == last {
			return (c.Left + c.Right) / 2
		}
		return c.Left + 12 + (math.Log2(float64(size))-first)/(last-first)*(c.Right-c.Left-24)
	}
	y := func(busbw float64) float64 { return c.Bottom - busbw/top*(c.Bottom-c.Top) }

	every := (len(sizes) + labels - 1) / labels
	for i := len(sizes) - 1; i >= 0; i -= every { // the largest is always labelled
		c.XTicks = append(c.XTicks, tick{x(sizes[i]), nccl.FormatBytes(sizes[i])})
	}
	for v := 0.0; v <= top*1.001; v += step {
		c.YTicks = append(c.YTicks, tick{y(v), fmt.Sprintf("%.4g", v)})
	}
	for _, curve := range all {
		s := series{Class: curve.class}
		for _, size := range sizes {
			busbw, ok := curve.bySize[size]
			if !ok {
				continue
			}
			p := point{x(size), y(busbw), fmt.Sprintf("%s: %s GB/s at %s", curve.name, number(&busbw), nccl.FormatBytes(size))}
			command := "L"
			if len(s.Points) == 0 {
				command = "M"
			}
			s.Path += fmt.Sprintf("%s%.1f %.1f", command, p.X, p.Y)
			s.Points = append(s.Points, p)
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// niceStep gives the next 1, 2, 2.5 or 5 times a power of ten.
func niceStep(atLeast float64) float64 {
	if atLeast <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(atLeast)))
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if factor*power >= atLeast {
			return factor * power
		}
	}
	return 10 * power
}
