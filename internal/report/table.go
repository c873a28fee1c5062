// SPDX-License-Identifier: MPL-2.0

// Package report shows results to people: as text on a terminal and as one self-contained HTML file.
package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// Table writes a result as text for a terminal: what the set-up did, the measured sizes of the run over all nodes, each node
// alone, checks that did not pass, suspects, and the verdict. The error is the writer's.
func Table(w io.Writer, r job.Result) error {
	p := &printer{w: w}
	p.setUp(r)
	overall := r.Overall()
	if overall != nil && overall.Report != nil {
		p.report(overall.Report)
		p.line("")
	}
	p.eachNode(r, overall)
	p.checks(r)
	if overall != nil && overall.Report != nil {
		p.summary(overall.Report)
	}
	p.evidence(r, overall)
	p.suspects(r)
	p.tuned(r.Tuned)
	p.verdict(r.Outcome, r.Failure)
	return p.err
}

// Reports writes what nccl-tests printed, and why it is no good where it is not. The error is the writer's.
func Reports(w io.Writer, reports []job.Report, failure *job.Failure) error {
	p := &printer{w: w}
	for i := range reports {
		if len(reports) > 1 {
			p.line("Report %d of %d", i+1, len(reports))
		}
		p.report(&reports[i])
		p.line("")
		p.summary(&reports[i])
		p.line("")
	}
	if failure == nil {
		p.line("No failure")
	} else {
		p.line("Failure     %s", failure.Kind)
		p.failure(failure)
	}
	return p.err
}

// printer keeps the first error of its writer. Whatever a node said is stripped of control characters.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		text := strings.Map(printable, fmt.Sprintf(format, args...))
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(text, " "))
	}
}

func printable(r rune) rune {
	if r == '\n' {
		return r
	}
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return -1
	}
	return r
}

func (p *printer) report(r *job.Report) {
	p.line("%s", title(r))
	if isLab(r) {
		p.line("LAB: the devices are %s; no number here is a GPU's.", deviceNames(r))
	}
	if len(r.Rows) == 0 {
		p.line("No size was measured.")
		return
	}
	several := len(distinct(r.Rows, kindOf)) > 1
	kindWidth := 0
	if several {
		for _, row := range r.Rows {
			kindWidth = max(kindWidth, len(kindOf(row))+2)
		}
	}
	const half = "%12s %9s %9s %7s"
	p.line("%12s%*s%-40s %s", "", kindWidth, "", "            out of place", "            in place")
	p.line("%12s%*s"+half+half, "size", kindWidth, kindTitle(several), "time", "algbw", "busbw", "wrong", "time", "algbw", "busbw", "wrong")
	p.line("%12s%*s"+half+half, "", kindWidth, "", "us", "GB/s", "GB/s", "", "us", "GB/s", "GB/s", "")
	for _, row := range r.Rows {
		kind := ""
		if several {
			kind = kindOf(row)
		}
		args := []any{nccl.FormatBytes(row.SizeBytes), kindWidth, kind}
		for _, h := range []*job.Placement{row.OutOfPlace, row.InPlace} {
			for _, value := range cells(h) {
				args = append(args, value)
			}
		}
		p.line("%12s%*s"+half+half, args...)
	}
}

func kindTitle(several bool) string {
	if several {
		return "type op"
	}
	return ""
}

// kindOf names what a row measures besides its size.
func kindOf(row job.Row) string {
	if row.RedOp == "none" {
		return row.Type
	}
	return strings.TrimSpace(row.Type + " " + row.RedOp)
}

func (p *printer) eachNode(r job.Result, overall *job.Measurement) {
	var alone []job.Measurement
	width := 4
	for _, run := range r.Runs {
		if run.Scope == job.ScopeNode {
			alone = append(alone, run)
			width = max(width, len(aloneName(run)))
		}
	}
	if len(alone) == 0 || len(alone) == 1 && overall != nil && overall.Scope == job.ScopeNode {
		return
	}
	p.line("Each node alone")
	for _, run := range alone {
		p.line("  %-*s  %-24s  %s", width, aloneName(run), peak(run.Report), outcomeWord(run.Outcome))
		if run.Failure != nil {
			p.line("    %s", run.Failure.Message)
		}
	}
	p.line("")
}

// aloneName names a run of one node, and which of its repeats it is.
func aloneName(run job.Measurement) string {
	name := strings.Join(run.Nodes, " ")
	if run.Repeat > 0 {
		name += fmt.Sprintf(" (run %d)", run.Repeat)
	}
	return name
}

// checks shows what did not pass; what several nodes say alike is said once.
func (p *printer) checks(r job.Result) {
	var order []job.Check
	nodes := map[job.Check][]string{}
	for _, node := range r.Nodes {
		for _, check := range node.Checks {
			if check.Outcome == job.Pass {
				continue
			}
			if nodes[check] == nil {
				order = append(order, check)
			}
			nodes[check] = append(nodes[check], node.Name)
		}
	}
	if len(order) == 0 {
		return
	}
	p.line("Checks that did not pass")
	for _, check := range order {
		p.line("  %s  %s: %s (%s)", nodeNames(nodes[check]), check.Name, check.Message, outcomeWord(check.Outcome))
		if check.Advice != "" {
			p.line("    %s", check.Advice)
		}
	}
	p.line("")
}

// nodeNames names the nodes that say the same.
func nodeNames(nodes []string) string {
	const shown = 4
	if len(nodes) <= shown {
		return strings.Join(nodes, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(nodes[:shown], " "), len(nodes)-shown)
}

func (p *printer) summary(r *job.Report) {
	p.line("Ranks       %d on %s", len(r.Ranks), hosts(r))
	p.line("Wrong       %s", wrong(r))
	p.line("Peak busbw  %s", peak(r))
}

func (p *printer) verdict(outcome job.Outcome, failure *job.Failure) {
	p.line("Verdict     %s", verdictWord(outcome))
	p.failure(failure)
}

func (p *printer) failure(f *job.Failure) {
	if f == nil {
		return
	}
	p.line("Reason      %s", reason(f))
	if f.Advice != "" {
		p.line("Advice      %s", f.Advice)
	}
}

// reason is a failure's message with its node, unless the message names it already.
func reason(f *job.Failure) string {
	if strings.Contains(f.Message, f.Node) {
		return f.Message
	}
	return f.Node + ": " + f.Message
}

// title says what a report is of.
func title(r *job.Report) string {
	parts := []string{r.Collective}
	if r.Collective == "" {
		parts[0] = "collective"
	}
	if kinds := distinct(r.Rows, kindOf); len(kinds) == 1 {
		parts = append(parts, kinds[0])
	}
	version := ""
	if r.NCCLTestsVersion != "" {
		version = ", nccl-tests " + r.NCCLTestsVersion
	}
	return fmt.Sprintf("%s on %s of %s%s", strings.Join(parts, " "), count(len(r.Ranks), "GPU"), hosts(r), version)
}

// isLab says whether devices of the lab took part, whose names begin so.
func isLab(r *job.Report) bool {
	return slices.ContainsFunc(r.Ranks, func(rank job.Rank) bool { return strings.HasPrefix(rank.Name, "lab ") })
}

func deviceNames(r *job.Report) string {
	return strings.Join(distinct(r.Ranks, func(rank job.Rank) string { return rank.Name }), ", ")
}

// distinct gives the different names of items, in order.
func distinct[T any](items []T, name func(T) string) []string {
	var names []string
	for _, item := range items {
		if n := name(item); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// cells gives the four values of a placement; a dash for each that is absent.
func cells(h *job.Placement) [4]string {
	if h == nil {
		h = &job.Placement{}
	}
	text := [4]string{number(h.TimeUS), number(h.AlgbwGBPerS), number(h.BusbwGBPerS), "-"}
	if h.WrongResults != nil {
		text[3] = strconv.FormatInt(*h.WrongResults, 10)
	}
	return text
}

// number gives a value with two decimals, and fewer as it gets longer.
func number(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v < 1000:
		return strconv.FormatFloat(*v, 'f', 2, 64)
	case *v < 10000:
		return strconv.FormatFloat(*v, 'f', 1, 64)
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

func peak(r *job.Report) string {
	if r == nil {
		return "no report"
	}
	gbPerS, size, ok := r.PeakBusbw()
	if !ok {
		return "no bandwidth"
	}
	return fmt.Sprintf("%s GB/s at %s", number(&gbPerS), nccl.FormatBytes(size))
}

func wrong(r *job.Report) string {
	n := r.Wrong()
	if n == nil {
		return "not checked"
	}
	return strconv.FormatInt(*n, 10)
}

func hosts(r *job.Report) string { return count(len(r.Hosts()), "host") }

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// verdictWord is outcomeWord for a whole result.
func verdictWord(o job.Outcome) string {
	if o == job.Warn {
		return "passed with warnings"
	}
	return outcomeWord(o)
}

func outcomeWord(o job.Outcome) string {
	switch o {
	case job.Pass:
		return "passed"
	case job.Warn:
		return "warning"
	case job.Fail:
		return "failed"
	case job.CouldNotRun:
		return "could not run"
	case job.CannotTell:
		return "cannot tell"
	case "":
		return "no verdict"
	}
	return string(o)
}
