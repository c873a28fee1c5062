// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/pattern"
)

// localise measures groups of nodes to find out which node, link or rail is at fault.
type localise struct{ *work }

func (localise) Name() job.Phase { return job.PhaseLocalise }

func (p localise) Title() string {
	switch p.pattern() {
	case job.PatternPairs:
		return "Measure pairs of nodes"
	case job.PatternTwoPass:
		return "Measure pairs of nodes, and suspects with good nodes"
	case job.PatternRoundRobin:
		return "Measure every node with every other"
	case job.PatternRails:
		return "Measure each rail"
	default:
		return "Search for what is at fault"
	}
}

func (p localise) Run(ctx context.Context) error {
	if p.Job.Benchmark == nil {
		return skipped("no benchmark was asked for")
	}
	if p.pattern() != job.PatternAuto && len(p.nodes) == 1 {
		return &Stop{job.CouldNotRun, job.Failure{Kind: "invalid_job", Message: fmt.Sprintf("the pattern %s needs two nodes or more", p.pattern())}}
	}
	gpus, err := p.gpusPerNode()
	if err != nil {
		return err
	}
	p.near = nearOrder(p.nodes)
	var finding pattern.Finding
	err = p.withAgent(ctx, func() error {
		var err error
		if p.pattern() == job.PatternAuto {
			finding, err = p.auto(ctx, gpus)
		} else {
			finding, err = p.fixed(ctx, gpus)
		}
		return err
	})
	p.suspects = append(p.suspects, finding.Suspects...)
	p.conclusion = finding.Conclusion
	for _, s := range p.suspects {
		p.emit(job.Event{Type: job.EventNode, Outcome: job.Warn, Message: fmt.Sprintf("%s is suspected (%s): %s", s.Name(), s.Confidence, strings.Join(s.Evidence, "; "))})
	}
	switch {
	case err != nil:
		return err
	case p.pattern() != job.PatternAuto:
		return p.verdict(finding)
	case len(p.suspects) > 0:
		return remark{job.Warn, p.conclusion}
	}
	return remark{message: p.conclusion}
}

// auto searches where all nodes together are not good, or not all of them can be measured together.
func (p localise) auto(ctx context.Context, gpus int) (pattern.Finding, error) {
	var err error
	if p.suspects, err = p.whichGPUs(ctx, p.badAlone(), gpus); err != nil {
		return pattern.Finding{}, err
	}
	among := p.without(p.suspects)
	all := p.summaryOfAll()
	switch {
	case all != nil && (all.Outcome == job.Pass || all.Outcome == job.Warn):
		return pattern.Finding{}, skipped("all nodes together are good")
	case all != nil && isSetUp(all.Failure):
		return pattern.Finding{}, skipped("no node is to blame for it")
	case len(among) < 2:
		return pattern.Finding{}, skipped("there are no two nodes left to measure together")
	}
	g := p.groups(ctx, gpus, all)
	var whole *pattern.Trial
	if all != nil && len(p.suspects) == 0 {
		whole = new(p.trial(among, *p.worstOfAll()))
	}
	return pattern.Auto(ctx, g.options, among, whole, g.measure)
}

// fixed measures by the pattern that the job names.
func (p localise) fixed(ctx context.Context, gpus int) (pattern.Finding, error) {
	g := p.groups(ctx, gpus, nil)
	switch p.pattern() {
	case job.PatternPairs:
		return pattern.Pairs(ctx, g.options, g.measure)
	case job.PatternTwoPass:
		return pattern.TwoPass(ctx, g.options, g.measure)
	case job.PatternRails:
		g.options.Nodes = nil
		for rail := range gpus {
			g.options.Nodes = append(g.options.Nodes, fmt.Sprintf("rail %d", rail))
		}
		return pattern.Rails(ctx, g.options, gpus, g.measureRail)
	default:
		return pattern.RoundRobin(ctx, g.options, g.measure)
	}
}

// verdict of a pattern that is not for a search alone: every group of it must be good.
func (p localise) verdict(f pattern.Finding) error {
	var worst *pattern.Trial
	for i, t := range f.Trials {
		if worst == nil || t.Verdict > worst.Verdict {
			worst = &f.Trials[i]
		}
	}
	switch {
	case worst == nil || worst.Verdict == pattern.Good:
		return remark{job.Pass, f.Conclusion}
	case worst.Verdict == pattern.Unsteady: // all reach their mark
		return &Stop{job.Warn, job.Failure{
			Kind: nccl.KindUnsteady, Message: "single iterations are far slower than others: " + f.Conclusion,
			Advice: "look for what comes and goes on the suspects: links that flap, clocks that are throttled, other programs",
		}}
	}
	failure := job.Failure{
		Kind: "suspects", Message: worst.Said + " (" + f.Conclusion + ")",
		Advice: "look at the suspects and their evidence in the report",
	}
	if worst.Said == "" {
		failure.Message = f.Conclusion
	}
	outcome := job.Fail
	if worst.Verdict == pattern.Failed && len(f.Suspects) == 0 {
		outcome = job.CouldNotRun
	}
	return &Stop{outcome, failure}
}

// badAlone suspects the nodes that are wrong alone or do not run alone, and those that are much slower alone than others.
func (w *work) badAlone() []job.Suspect {
	var suspects []job.Suspect
	best := 0.0
	for i := range w.summaries {
		if gbPerS, _, ok := w.summaries[i].Peak(); ok && w.summaries[i].Scope == job.ScopeNode {
			best = max(best, gbPerS)
		}
	}
	for i := range w.summaries {
		s := &w.summaries[i]
		if s.Scope != job.ScopeNode || s.Failure == nil || s.Outcome == job.Warn {
			continue
		}
		suspect := job.Suspect{
			Kind: job.SuspectNode, Nodes: s.Nodes, Confidence: job.Certain, Symptom: symptomOf(s), Replace: true,
			Evidence: []string{"alone: " + s.Failure.Message},
		}
		if isSlow(s.Failure) {
			gbPerS, _, _ := s.Peak()
			if gbPerS > best*(1-pattern.DefaultNoise)/(1+pattern.DefaultNoise) {
				continue // slow, but so are the others
			}
			suspect.Confidence = job.Likely
			suspect.Evidence = append(suspect.Evidence, fmt.Sprintf("alone it reaches %.3g GB/s, and the best node %.3g GB/s", gbPerS, best))
		}
		suspects = append(suspects, suspect)
	}
	return suspects
}

// symptomOf says how a node shows that is bad alone.
func symptomOf(s *job.Summary) job.Symptom {
	switch {
	case s.Outcome == job.CouldNotRun:
		return job.SymptomFailed
	case isSlow(s.Failure):
		return job.SymptomSlow
	}
	return job.SymptomWrong
}

// without gives the nodes that no suspicion is about.
func (w *work) without(suspects []job.Suspect) []int {
	var rest []int
	for i, n := range w.near {
		if !slices.ContainsFunc(suspects, func(s job.Suspect) bool { return slices.Contains(s.Nodes, n.Name) }) {
			rest = append(rest, i)
		}
	}
	return rest
}

func (w *work) summaryOfAll() *job.Summary {
	for i := range w.summaries {
		if w.summaries[i].Scope == job.ScopeAll {
			return &w.summaries[i]
		}
	}
	return nil
}

// worstOfAll is the worst of the runs over all nodes. Where their medians alone were judged, it gets that verdict.
func (w *work) worstOfAll() *job.Measurement {
	var worst *job.Measurement
	for i := range w.runs {
		if m := &w.runs[i]; m.Scope == job.ScopeAll && (worst == nil || job.Worse(worst.Outcome, m.Outcome) != worst.Outcome) {
			worst = m
		}
	}
	if worst != nil && worst.Outcome == job.Pass {
		judged := *worst
		judged.Outcome, judged.Failure = w.summaryOfAll().Outcome, w.summaryOfAll().Failure
		return &judged
	}
	return worst
}

// found says whether the search has named somebody with some confidence.
func (w *work) found() bool {
	return slices.ContainsFunc(w.suspects, func(s job.Suspect) bool { return s.Confidence != job.Possible })
}

// fitForOthers says whether a job goes on, though not all of its nodes run alone, to find out about the others.
func (w *work) fitForOthers(runs []repeated) bool {
	unfit := 0
	for _, r := range runs {
		if r.summary.Outcome != job.CouldNotRun {
			continue
		}
		if unfit++; isSetUp(r.summary.Failure) {
			return false
		}
	}
	return w.pattern() == job.PatternAuto && 2*unfit < len(runs)
}

// errInterrupted ends a search with the job.
var errInterrupted = errors.New("the search was interrupted")
