// SPDX-License-Identifier: MPL-2.0

package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/drawing"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

//go:embed report.html.tmpl
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"bytes":   nccl.FormatBytes,
	"cells":   cells,
	"wrongIn": func(h *job.Placement) bool { return h != nil && h.WrongResults != nil && *h.WrongResults > 0 },
	"word":    outcomeWord,
	"reason":  reason,
	"join":    strings.Join,
	"spaced":  func(name string) string { return strings.ReplaceAll(name, "_", " ") },
	"title":   func(o job.Outcome) string { return strings.ToUpper(verdictWord(o)[:1]) + verdictWord(o)[1:] },
	"mark":    mark,
	"shell":   shellescape.QuoteCommand,
	"drawn":   func(p picture, narrow bool) template.HTML { return p.element(narrow) },
	"colours": func(dark bool) template.CSS { return template.CSS(drawing.Variables(dark)) }, // #nosec G203 -- our own
	"marks":   func() template.CSS { return template.CSS(drawing.CSS()) },                    // #nosec G203 -- our own
	"named":   runName,
	"nccl":    networkOf,
	"chance": func(p *float64) string {
		if p == nil {
			return "–"
		}
		return fmt.Sprintf("%.3f", *p)
	},
	"number":  func(v float64) string { return number(&v) },
	"reached": number,
	"seconds": func(s float64) string { return duration(time.Duration(s * float64(time.Second))) },
}).Parse(page))

// HTML writes a result as one file that needs nothing else: no script, no network. The error is the writer's.
func HTML(w io.Writer, r job.Result) error {
	if err := pageTemplate.Execute(w, newView(r)); err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	return nil
}

// view is what the page shows.
type view struct {
	job.Result
	Headline string
	Lab      string // device names, when they are the lab's
	Figures  []figure
	Pictures []picture
	Good     int      // nodes alone in the charts that passed
	Bad      []string // those that did not
	Limits   []legend // of the chart
	Compared []job.Regression
	Overall  *job.Measurement
	Kinds    bool     // rows differ in more than size
	Checks   []string // those that did not pass everywhere
	Passed   []string // the others
	Rows     []nodeRow
	Notes    []note
	Versions []pair
	Started  string
}

type figure struct{ Value, Unit, Label string }

type pair struct{ Name, Value string }

// nodeRow is a node in the table of nodes.
type nodeRow struct {
	job.NodeResult
	Outcome job.Outcome
	Alone   *job.Measurement
	Peak    string      // GB/s
	Checks  []job.Check // in the order of view.Checks; an empty one where the node lacks it
}

// note is a check or run that did not pass.
type note struct {
	Node, What string
	Outcome    job.Outcome
	Message    string
	Advice     string
}

func newView(r job.Result) view {
	overall := r.Overall()
	v := view{Result: r, Overall: overall, Headline: headline(overall)}
	v.Runs = slices.Clone(r.Runs)
	slices.SortStableFunc(v.Runs, func(a, b job.Measurement) int { return strings.Compare(string(a.Scope), string(b.Scope)) }) // all, then node
	v.Pictures = pictures(r)
	for _, b := range bars(r) {
		if b.outcome == job.Pass {
			v.Good++
		} else {
			v.Bad = append(v.Bad, b.node)
		}
	}
	v.Limits = legends(appliedTo(r, overall))
	if s := r.OverallSummary(); s != nil {
		v.Compared = s.Regressions
	}
	for i := range r.Runs {
		if report := r.Runs[i].Report; report != nil && isLab(report) {
			v.Lab = deviceNames(report)
		}
	}
	if overall != nil && overall.Report != nil {
		v.Kinds = len(distinct(overall.Report.Rows, kindOf)) > 1
	}
	v.Figures = figures(r, overall)
	v.nodes(r)
	v.Versions = versions(r, overall)
	if !r.StartedAt.IsZero() {
		v.Started = r.StartedAt.UTC().Format("2 January 2006, 15:04 UTC")
	}
	return v
}

// headline says in one sentence what came out.
func headline(overall *job.Measurement) string {
	if overall == nil || overall.Report == nil {
		return "There is no measurement over all nodes"
	}
	report := overall.Report
	collective := report.Collective
	if collective == "" {
		collective = "The collective"
	}
	gbPerS, size, ok := report.PeakBusbw()
	if !ok {
		return fmt.Sprintf("%s gave no bandwidth on %s", collective, hosts(report))
	}
	return fmt.Sprintf("%s reached %s GB/s bus bandwidth at %s", collective, number(&gbPerS), nccl.FormatBytes(size))
}

func figures(r job.Result, overall *job.Measurement) []figure {
	var all []figure
	if overall != nil && overall.Report != nil {
		report := overall.Report
		if gbPerS, size, ok := report.PeakBusbw(); ok {
			all = append(all, figure{number(&gbPerS), "GB/s", "peak bus bandwidth, at " + nccl.FormatBytes(size)})
		}
		all = append(all, figure{fmt.Sprint(len(report.Ranks)), "", "GPUs on " + hosts(report)},
			figure{wrong(report), "", "wrong values"})
	} else {
		all = append(all, figure{fmt.Sprint(len(r.Nodes)), "", "nodes"})
	}
	if d := r.FinishedAt.Sub(r.StartedAt); d > 0 {
		all = append(all, figure{duration(d), "", "from start to end"})
	}
	return all
}

// duration is rounded to what matters.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}

func (v *view) nodes(r job.Result) {
	for _, node := range r.Nodes {
		for _, check := range node.Checks {
			if check.Outcome != job.Pass && !slices.Contains(v.Checks, check.Name) {
				v.Checks = append(v.Checks, check.Name)
			}
		}
	}
	for _, node := range r.Nodes {
		for _, check := range node.Checks {
			if !slices.Contains(v.Checks, check.Name) && !slices.Contains(v.Passed, check.Name) {
				v.Passed = append(v.Passed, check.Name)
			}
		}
	}
	for _, node := range r.Nodes {
		row := nodeRow{NodeResult: node, Outcome: r.NodeOutcome(node.Name), Alone: r.Alone(node.Name)}
		if row.Alone != nil {
			row.Peak = peakNumber(row.Alone.Report)
		}
		for _, name := range v.Checks {
			row.Checks = append(row.Checks, checkOf(node, name))
		}
		v.Rows = append(v.Rows, row)
		for _, check := range node.Checks {
			if check.Outcome != job.Pass {
				v.Notes = append(v.Notes, note{node.Name, check.Name, check.Outcome, check.Message, check.Advice})
			}
		}
		if f := failureOf(row.Alone); f != nil {
			v.Notes = append(v.Notes, note{node.Name, "run alone", row.Alone.Outcome, f.Message, f.Advice})
		}
	}
	v.Notes = together(v.Notes)
}

// together makes one note of those that say the same of several nodes.
func together(notes []note) []note {
	nodes := map[note][]string{}
	var merged []note
	for _, n := range notes {
		node := n.Node
		n.Node = ""
		if nodes[n] == nil {
			merged = append(merged, n)
		}
		nodes[n] = append(nodes[n], node)
	}
	for i, n := range merged {
		merged[i].Node = nodeNames(nodes[n])
	}
	return merged
}

func failureOf(run *job.Measurement) *job.Failure {
	if run == nil {
		return nil
	}
	return run.Failure
}

func checkOf(node job.NodeResult, name string) job.Check {
	for _, check := range node.Checks {
		if check.Name == name {
			return check
		}
	}
	return job.Check{}
}

func peakNumber(r *job.Report) string {
	if r == nil {
		return ""
	}
	gbPerS, _, ok := r.PeakBusbw()
	if !ok {
		return ""
	}
	return number(&gbPerS)
}

func gpus(f *job.Facts) string {
	names := distinct(f.GPUs, func(g job.GPU) string { return g.Name })
	if len(names) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d × %s", len(f.GPUs), strings.Join(names, ", "))
}

// versions lists what the nodes run; a value with nodes in brackets where they differ.
func versions(r job.Result, overall *job.Measurement) []pair {
	var all []pair
	add := func(name, value string) {
		if value != "" {
			all = append(all, pair{name, value})
		}
	}
	if overall != nil && overall.Report != nil {
		add("nccl-tests", overall.Report.NCCLTestsVersion)
	}
	for _, fact := range []struct {
		name string
		of   func(*job.Facts) string
	}{
		{"GPUs of a node", gpus},
		{"Operating system", func(f *job.Facts) string { return f.OS }},
		{"Kernel", func(f *job.Facts) string { return strings.TrimSpace(f.Kernel + " " + f.Arch) }},
		{"NVIDIA driver", func(f *job.Facts) string { return f.DriverVersion }},
		{"Open MPI", func(f *job.Facts) string { return f.OpenMPIVersion }},
	} {
		byValue := map[string][]string{}
		for _, node := range r.Nodes {
			if node.Facts != nil && fact.of(node.Facts) != "" {
				byValue[fact.of(node.Facts)] = append(byValue[fact.of(node.Facts)], node.Name)
			}
		}
		values := slices.Sorted(maps.Keys(byValue))
		if len(values) > 1 {
			for i, value := range values {
				values[i] = fmt.Sprintf("%s (%s)", value, strings.Join(byValue[value], ", "))
			}
		}
		add(fact.name, strings.Join(values, "; "))
	}
	add("Result key", r.Key)
	return all
}

// mark is the sign of an outcome, so that it does not depend on colour.
func mark(o job.Outcome) string {
	switch o {
	case job.Pass:
		return "✓"
	case job.Warn:
		return "!"
	case job.Fail, job.CouldNotRun:
		return "✕"
	case job.CannotTell:
		return "?"
	}
	return "–"
}
