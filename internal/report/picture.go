// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"html/template"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/drawing"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// picture of a result, for wide and for narrow screens.
type picture struct {
	ID           string // of the section, and the name of its file
	Title, Unit  string
	wide, narrow *drawing.Drawing
}

// pictures of a result: those that there is something to draw for.
func pictures(r job.Result) []picture {
	overall := r.Overall()
	limits := limitsOf(appliedTo(r, overall))
	var alone []limit
	if len(r.Nodes) > 0 {
		alone = limitsOf(appliedTo(r, r.Alone(r.Nodes[0].Name)))
	}
	bandwidth, latency, nodes := curves(r, overall, busbw), curves(r, overall, timeUS), bars(r)
	medians(bandwidth, r.OverallSummary())
	var all []picture
	add := func(id, title, unit string, draw func(format) *drawing.Drawing) {
		if d := draw(wide); d != nil {
			all = append(all, picture{id, title, unit, d, draw(narrow)})
		}
	}
	add("bandwidth", "Bus bandwidth over message size", "GB/s, 10⁹ bytes per second", func(f format) *drawing.Drawing { return bandwidthChart(bandwidth, limits, f) })
	add("latency", "Time of one operation over message size", "logarithmic", func(f format) *drawing.Drawing { return latencyChart(latency, f) })
	add("each-node", "Each node alone, at its largest size", "GB/s", func(f format) *drawing.Drawing { return barChart(nodes, alone, f) })
	add("pairs", "Pairs of nodes, at their largest size", "GB/s", func(f format) *drawing.Drawing { return heatMap(r, f) })
	return all
}

// element is the picture for a page.
func (p picture) element(narrow bool) template.HTML {
	if narrow {
		return template.HTML(p.narrow.Element("narrow")) // #nosec G203 -- it escapes what it is given
	}
	return template.HTML(p.wide.Element("wide")) // #nosec G203 -- it escapes what it is given
}

// appliedTo gives the limits that a run, or all its repeats, were judged by.
func appliedTo(r job.Result, run *job.Measurement) []job.AppliedLimit {
	if run == nil {
		return nil
	}
	if s := r.SummaryOf(run.Scope, run.Nodes...); s != nil && len(s.Limits) > 0 {
		return s.Limits
	}
	return run.Limits
}

func limitsOf(applied []job.AppliedLimit) []limit {
	var all []limit
	for _, l := range applied {
		if l.MinBusbwGBPerS != nil {
			all = append(all, limit{drawing.Limit, l.FromBytes, l.ToBytes, *l.MinBusbwGBPerS})
		}
		if l.WarnBusbwGBPerS != nil {
			all = append(all, limit{drawing.Doubtful, l.FromBytes, l.ToBytes, *l.WarnBusbwGBPerS})
		}
	}
	return all
}

// legend says what a line of a chart is.
type legend struct {
	Class drawing.Class
	Words string
}

func legends(applied []job.AppliedLimit) []legend {
	var all []legend
	for _, l := range applied {
		if l.MinBusbwGBPerS != nil {
			all = append(all, legend{drawing.Limit, fmt.Sprintf("at least %.4g GB/s (%s)", *l.MinBusbwGBPerS, l.Origin)})
		}
		if l.WarnBusbwGBPerS != nil {
			all = append(all, legend{drawing.Doubtful, fmt.Sprintf("a warning below %.4g GB/s (%s)", *l.WarnBusbwGBPerS, l.Origin)})
		}
	}
	return all
}

// medians puts those of all repeats into the curves of the overall run.
func medians(all []curve, s *job.Summary) {
	if s == nil || s.Runs < 2 {
		return
	}
	for i := range all {
		var half func(job.SizeSummary) *job.Spread
		switch all[i].class {
		case drawing.First:
			half = func(s job.SizeSummary) *job.Spread { return s.OutOfPlace }
		case drawing.Second:
			half = func(s job.SizeSummary) *job.Spread { return s.InPlace }
		default:
			continue
		}
		all[i].name += fmt.Sprintf(", median of %d runs", s.Runs)
		all[i].spread = map[int64][2]float64{}
		for _, size := range s.Sizes {
			if spread := half(size); spread != nil {
				all[i].bySize[size.SizeBytes] = spread.Median
				all[i].spread[size.SizeBytes] = [2]float64{spread.Least, spread.Most}
			}
		}
	}
}
