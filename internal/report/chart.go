// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/drawing"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// curve is a value over message sizes, in bytes.
type curve struct {
	class  drawing.Class
	name   string
	bySize map[int64]float64
	spread map[int64][2]float64 // least and most over repeats; nil for one run alone
}

// curves of a result: each node alone in thin lines, and the overall run, both placements, on top.
func curves(r job.Result, overall *job.Measurement, value func(*job.Placement) *float64) []curve {
	var all []curve
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Scope == job.ScopeNode && run.Report != nil && run != overall {
			class := drawing.Background
			if run.Outcome != job.Pass {
				class = drawing.Bad
			}
			all = append(all, curveOf(class, strings.Join(run.Nodes, " ")+" alone", run.Report.Rows, outOfPlace, value))
		}
	}
	if overall != nil && overall.Report != nil {
		all = append(all, curveOf(drawing.Second, "in place", overall.Report.Rows, inPlace, value),
			curveOf(drawing.First, "out of place", overall.Report.Rows, outOfPlace, value))
	}
	return slices.DeleteFunc(all, func(c curve) bool { return len(c.bySize) == 0 })
}

func outOfPlace(row job.Row) *job.Placement { return row.OutOfPlace }
func inPlace(row job.Row) *job.Placement    { return row.InPlace }

func busbw(p *job.Placement) *float64  { return p.BusbwGBPerS }
func timeUS(p *job.Placement) *float64 { return p.TimeUS }

// curveOf takes the first value where a size was measured several times, with other data types or operations.
func curveOf(class drawing.Class, name string, rows []job.Row, half func(job.Row) *job.Placement, value func(*job.Placement) *float64) curve {
	c := curve{class: class, name: name, bySize: map[int64]float64{}}
	for _, row := range rows {
		h := half(row)
		if h == nil || value(h) == nil || row.SizeBytes <= 0 {
			continue
		}
		if _, measured := c.bySize[row.SizeBytes]; !measured {
			c.bySize[row.SizeBytes] = *value(h)
		}
	}
	return c
}

// limit of bus bandwidth over a range of sizes, in bytes; to 0 is open.
type limit struct {
	class    drawing.Class
	from, to int64
	atLeast  float64
}

// bandwidthChart draws bus bandwidth over message size; nil when there is nothing to draw.
func bandwidthChart(all []curve, limits []limit, f format) *drawing.Drawing {
	sizes, top := extent(all)
	if len(sizes) == 0 {
		return nil
	}
	for _, l := range limits {
		top = max(top, l.atLeast)
	}
	step := niceStep(top / 4)
	top = max(step, math.Ceil(top/step)*step)
	p := newPlot("Bus bandwidth over message size", f, sizes)
	p.y = func(v float64) float64 { return p.bottom - v/top*(p.bottom-p.top) }
	for v := 0.0; v <= top*1.001; v += step {
		p.level(v, fmt.Sprintf("%.4g", v))
	}
	for _, l := range limits {
		to := l.to
		if to == 0 || to > sizes[len(sizes)-1] {
			to = sizes[len(sizes)-1]
		}
		if from := max(l.from, sizes[0]); from <= to {
			p.Line(l.class, drawing.Point{X: p.x(from) - 12, Y: p.y(l.atLeast)}, drawing.Point{X: p.x(to) + 12, Y: p.y(l.atLeast)})
		}
	}
	p.curves(all, sizes, "%s: %s GB/s at %s")
	return p.Drawing
}

// latencyChart draws time over message size, both logarithmic; nil when there is nothing to draw.
func latencyChart(all []curve, f format) *drawing.Drawing {
	sizes, top := extent(all)
	if len(sizes) == 0 || top <= 0 {
		return nil
	}
	least := top
	for _, c := range all {
		for _, v := range c.bySize {
			if v > 0 {
				least = min(least, v)
			}
		}
	}
	first, last := math.Floor(math.Log10(least)), math.Ceil(math.Log10(top))
	last = max(last, first+1)
	p := newPlot("Time of one operation over message size", f, sizes)
	p.y = func(v float64) float64 {
		return p.bottom - (math.Log10(max(v, math.Pow(10, first)))-first)/(last-first)*(p.bottom-p.top)
	}
	for power := first; power <= last; power++ {
		p.level(math.Pow(10, power), microseconds(math.Pow(10, power)))
	}
	p.curves(all, sizes, "%s: %s µs at %s")
	return p.Drawing
}

// microseconds in the unit that reads best.
func microseconds(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%g s", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%g ms", v/1e3)
	}
	return fmt.Sprintf("%g µs", v)
}

// extent gives the sizes of all curves, sorted, and the greatest value.
func extent(all []curve) ([]int64, float64) {
	var sizes []int64
	top := 0.0
	for _, c := range all {
		for size, v := range c.bySize {
			sizes = append(sizes, size)
			top = max(top, v)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes), top
}

// format of a chart: its size, and about how many labels its axis of sizes has.
type format struct {
	width, height float64
	labels        int
}

var (
	wide   = format{960, 380, 9}
	narrow = format{400, 300, 4}
)

// plot is a drawing with message sizes on a logarithmic axis.
type plot struct {
	*drawing.Drawing
	left, right, top, bottom float64
	x                        func(size int64) float64
	y                        func(v float64) float64
}

func newPlot(name string, f format, sizes []int64) *plot {
	p := &plot{
		Drawing: &drawing.Drawing{Width: f.width, Height: f.height, Name: name},
		left:    52, right: f.width - 20, top: 16, bottom: f.height - 44,
	}
	first, last := math.Log2(float64(sizes[0])), math.Log2(float64(sizes[len(sizes)-1]))
	p.x = func(size int64) float64 {
		if first == last {
			return (p.left + p.right) / 2
		}
		return p.left + 12 + (math.Log2(float64(size))-first)/(last-first)*(p.right-p.left-24)
	}
	every := (len(sizes) + f.labels - 1) / f.labels
	for i := len(sizes) - 1; i >= 0; i -= every { // the largest is always labelled
		x := p.x(sizes[i])
		p.Line(drawing.Grid, drawing.Point{X: x, Y: p.bottom}, drawing.Point{X: x, Y: p.bottom + 5})
		p.Text(drawing.Label, drawing.Point{X: x, Y: p.bottom + 21}, drawing.Middle, nccl.FormatBytes(sizes[i]))
	}
	p.Text(drawing.Label, drawing.Point{X: p.right, Y: f.height - 5}, drawing.End, "message size (logarithmic)")
	return p
}

// level draws a line across at a value.
func (p *plot) level(v float64, label string) {
	y := p.y(v)
	p.Line(drawing.Grid, drawing.Point{X: p.left, Y: y}, drawing.Point{X: p.right, Y: y})
	p.Text(drawing.Label, drawing.Point{X: p.left - 8, Y: y + 4}, drawing.End, label)
}

// curves draws them; the format of the dots' titles takes the curve's name, the value and the size.
func (p *plot) curves(all []curve, sizes []int64, title string) {
	for _, c := range all {
		var line []drawing.Point
		for _, size := range sizes {
			if v, ok := c.bySize[size]; ok {
				line = append(line, drawing.Point{X: p.x(size), Y: p.y(v)})
			}
		}
		p.Line(c.class, line...)
		for size, spread := range c.spread {
			p.Line(drawing.Background, drawing.Point{X: p.x(size), Y: p.y(spread[0])}, drawing.Point{X: p.x(size), Y: p.y(spread[1])})
		}
		radius := 4.0
		if c.class == drawing.Background || c.class == drawing.Bad {
			radius = 2
		}
		for _, size := range sizes {
			if v, ok := c.bySize[size]; ok {
				p.Dot(c.class, drawing.Point{X: p.x(size), Y: p.y(v)}, radius, fmt.Sprintf(title, c.name, number(&v), nccl.FormatBytes(size)))
			}
		}
	}
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
