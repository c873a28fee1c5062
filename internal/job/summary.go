// SPDX-License-Identifier: MPL-2.0

package job

import "slices"

// Overall gives the run over all nodes, the first of its repeats, or that of the only node; nil when there was none.
func (r *Result) Overall() *Measurement {
	for i := range r.Runs {
		if r.Runs[i].Scope == ScopeAll {
			return &r.Runs[i]
		}
	}
	if len(r.Nodes) == 1 {
		return r.Alone(r.Nodes[0].Name)
	}
	return nil
}

// Alone gives the run of one node alone, the first of its repeats; nil when there was none.
func (r *Result) Alone(node string) *Measurement {
	for i := range r.Runs {
		if r.Runs[i].Scope == ScopeNode && slices.Equal(r.Runs[i].Nodes, []string{node}) {
			return &r.Runs[i]
		}
	}
	return nil
}

// NodeOutcome is the worst of a node's checks and its own run.
func (r *Result) NodeOutcome(node string) Outcome {
	worst := Pass
	for _, n := range r.Nodes {
		if n.Name != node {
			continue
		}
		if n.Facts == nil && n.Setup == nil {
			worst = CouldNotRun
		}
		worst = Worse(worst, n.Setup.Outcome())
		for _, check := range n.Checks {
			worst = Worse(worst, check.Outcome)
		}
	}
	for _, run := range r.Runs {
		if run.Scope == ScopeNode && slices.Equal(run.Nodes, []string{node}) {
			worst = Worse(worst, run.Outcome)
		}
	}
	if s := r.SummaryOf(ScopeNode, node); s != nil {
		worst = Worse(worst, s.Outcome)
	}
	return worst
}

// OverallSummary gives the summary of the runs over all nodes, or of those of the only node; nil when there is none.
func (r *Result) OverallSummary() *Summary {
	overall := r.Overall()
	if overall == nil {
		return nil
	}
	return r.SummaryOf(overall.Scope, overall.Nodes...)
}

// SummaryOf gives the summary of the runs over these nodes; nil when there is none.
func (r *Result) SummaryOf(scope Scope, nodes ...string) *Summary {
	for i := range r.Summaries {
		if r.Summaries[i].Scope == scope && slices.Equal(r.Summaries[i].Nodes, nodes) {
			return &r.Summaries[i]
		}
	}
	return nil
}

// severity orders outcomes. A check that cannot tell is no reason to doubt a node.
var severity = []Outcome{CannotTell, Pass, Warn, Fail, CouldNotRun}

// Worse gives the worse of two outcomes.
func Worse(a, b Outcome) Outcome {
	if slices.Index(severity, b) > slices.Index(severity, a) {
		return b
	}
	return a
}

// Hosts gives the hosts of the report's ranks, in order of their first rank.
func (r *Report) Hosts() []string {
	var hosts []string
	for _, rank := range r.Ranks {
		if !slices.Contains(hosts, rank.Host) {
			hosts = append(hosts, rank.Host)
		}
	}
	return hosts
}

// Wrong adds up the wrong values of all rows; nil when no row counted them.
func (r *Report) Wrong() *int64 {
	var total *int64
	for _, row := range r.Rows {
		for _, half := range []*Placement{row.OutOfPlace, row.InPlace} {
			if half == nil || half.WrongResults == nil {
				continue
			}
			if total == nil {
				total = new(int64)
			}
			*total += *half.WrongResults
		}
	}
	return total
}
