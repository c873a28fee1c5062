// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// tune searches for settings that are better than those that the runs had.
type tune struct{ *work }

func (tune) Name() job.Phase { return job.PhaseTune }
func (tune) Title() string   { return "Search for better settings" }

func (p tune) Run(ctx context.Context) error {
	overall := p.overall()
	switch {
	case overall == nil || overall.Report == nil || isWrong(overall.Failure) || overall.Outcome == job.CouldNotRun:
		return skipped("there is no right result to compare with")
	case len(p.suspects) > 0:
		return skipped("first replace what is suspected")
	}
	gpus, err := p.gpusPerNode()
	if err != nil {
		return err
	}
	_, size, ok := nccl.AtLargest(overall.Report)
	if !ok {
		return skipped("the runs have no bus bandwidth")
	}
	s := newSettings(p.with(gpus, size), p.tell)
	s.tuned.SizeBytes = size
	tuning := *p.Job.Benchmark.Tuning
	toTry := nccl.SettingsToTry(tuning, len(p.nodes), overall.NCCL, p.environment())
	err = p.withAgent(ctx, func() error { return s.run(ctx, toTry, tuning) })
	p.tuned = &s.tuned
	if err != nil {
		return err
	}
	return remark{job.Pass, s.tuned.Conclusion}
}

// overall is the first run over all nodes, or of the only one.
func (w *work) overall() *job.Measurement {
	r := job.Result{Runs: w.runs, Nodes: make([]job.NodeResult, len(w.nodes))}
	for i, n := range w.nodes {
		r.Nodes[i].Name = n.Name
	}
	return r.Overall()
}

// with gives what measures the largest size over all nodes, or the only one, with settings over the others.
func (p tune) with(gpus int, size int64) measureWith {
	runs := 0
	return func(ctx context.Context, settings map[string]string) (job.Measurement, error) {
		b := *p.Job.Benchmark
		b.MinSizeBytes, b.MaxSizeBytes, b.Expect, b.Baseline = size, size, job.Expectation{}, nil
		b.Environment = maps.Clone(b.Environment)
		if b.Environment == nil {
			b.Environment = map[string]string{}
		}
		maps.Copy(b.Environment, settings)
		r, err := p.allOf(ctx, gpus, b)
		if err != nil {
			return job.Measurement{}, err
		}
		runs++
		r.scope, r.name, r.purpose = job.ScopeAll, job.TuningRun(runs), "search for better settings"
		return p.measure(ctx, r), nil
	}
}

// allOf gives the run that measures all nodes together, or the only one.
func (w *work) allOf(ctx context.Context, gpus int, b job.Benchmark) (run, error) {
	if len(w.nodes) == 1 {
		return w.alone(ctx, w.nodes[0], gpus, b)
	}
	return w.together(ctx, w.nodes, gpus, b)
}

func (p tune) tell(t job.Trial) {
	said := t.Problem
	if t.BusbwGBPerS != nil {
		said = fmt.Sprintf("%.4g GB/s", *t.BusbwGBPerS)
	}
	p.emit(job.Event{Type: job.EventOutput, Message: nameSettings(t.Environment) + ": " + said})
}

// measureWith measures with settings over those that the runs had.
type measureWith func(ctx context.Context, settings map[string]string) (job.Measurement, error)

// settings is a search in progress.
type settings struct {
	measure measureWith
	tell    func(job.Trial)
	tuned   job.Tuned
}

func newSettings(measure measureWith, tell func(job.Trial)) *settings {
	return &settings{measure: measure, tell: tell, tuned: job.Tuned{Environment: map[string]string{}, Trials: []job.Trial{}}}
}

// run tries each value of each variable beside the best ones so far, and measures the winner and the default in turns.
func (s *settings) run(ctx context.Context, toTry []nccl.Setting, tuning job.Tuning) error {
	most := cmp.Or(tuning.MaxRuns, job.DefaultTuningRuns)
	reached, err := s.try(ctx, nil)
	if err != nil {
		return err
	}
	best, reachedBest := map[string]string{}, reached
	for _, setting := range toTry {
		winner := ""
		for _, value := range setting.Values {
			if len(s.tuned.Trials) >= most || ctx.Err() != nil {
				break
			}
			with := maps.Clone(best)
			with[setting.Name] = value
			gbPerS, err := s.try(ctx, with)
			if err != nil {
				return err
			}
			if gbPerS > reachedBest {
				winner, reachedBest = value, gbPerS
			}
		}
		if winner != "" {
			best[setting.Name] = winner
		}
	}
	if len(best) == 0 {
		s.tuned.Conclusion = fmt.Sprintf("none of %d other settings was better", len(s.tuned.Trials)-1)
		return nil
	}
	return s.compare(ctx, best, cmp.Or(tuning.MinGainPercent, job.DefaultMinGainPercent))
}

// try measures with settings and notes the trial. It gives 0 where the run was no good.
func (s *settings) try(ctx context.Context, with map[string]string) (float64, error) {
	trial := job.Trial{Environment: maps.Clone(with)}
	if trial.Environment == nil {
		trial.Environment = map[string]string{}
	}
	m, err := s.measure(ctx, with)
	if err != nil {
		return 0, err
	}
	gbPerS, good := goodBusbw(m)
	if good {
		trial.BusbwGBPerS = &gbPerS
	} else {
		trial.Problem = "no bus bandwidth"
		if m.Failure != nil {
			trial.Problem = m.Failure.Message
		}
	}
	s.tuned.Trials = append(s.tuned.Trials, trial)
	s.tell(trial)
	return gbPerS, nil
}

// goodBusbw is that of a run with right results.
func goodBusbw(m job.Measurement) (gbPerS float64, good bool) {
	gbPerS, _, good = nccl.AtLargest(m.Report)
	if !good || m.Outcome == job.CouldNotRun || m.Outcome == job.Fail {
		return 0, false
	}
	return gbPerS, true
}

// compare measures the winner and the default in turns, so that both see the same machines, and keeps a winner whose gain is
// large enough and no chance.
func (s *settings) compare(ctx context.Context, best map[string]string, leastGain float64) error {
	var without, with []float64
	for range job.TuningPairs {
		for _, one := range []struct {
			values   *[]float64
			settings map[string]string
		}{{&without, nil}, {&with, best}} {
			m, err := s.measure(ctx, one.settings)
			if err != nil {
				return err
			}
			if gbPerS, good := goodBusbw(m); good {
				*one.values = append(*one.values, gbPerS)
			}
		}
		if err := ctx.Err(); err != nil {
			return err //nolint:wrapcheck // the caller knows why
		}
	}
	if len(without) == 0 || len(with) == 0 {
		s.tuned.Conclusion = nameSettings(best) + " gave no right results when it was measured again"
		return nil
	}
	t := &s.tuned
	t.Default, t.Best = job.NewSpread(without), job.NewSpread(with)
	if t.Default.Median == 0 { // nccl-tests print two decimals
		t.Conclusion = fmt.Sprintf("%s gives %.4g GB/s, but the default is too slow to compare with: see what is wrong first", nameSettings(best), t.Best.Median)
		return nil
	}
	gain := 100 * (t.Best.Median/t.Default.Median - 1)
	t.GainPercent, t.PValue = &gain, nccl.ChanceOfLess(without, with)
	words := fmt.Sprintf("%s gives %.4g GB/s (%.4g to %.4g) in place of %.4g (%.4g to %.4g): %+.1f %%",
		nameSettings(best), t.Best.Median, t.Best.Least, t.Best.Most, t.Default.Median, t.Default.Least, t.Default.Most, gain)
	switch {
	case gain < leastGain:
		t.Conclusion = fmt.Sprintf("%s, less than the %g %% asked for", words, leastGain)
	case !nccl.Significant(t.PValue):
		t.Conclusion = words + ", which may be chance"
	default:
		t.Environment, t.Conclusion = best, words
	}
	return nil
}

// nameSettings names settings for people.
func nameSettings(with map[string]string) string {
	if len(with) == 0 {
		return "default"
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(with)) {
		words = append(words, name+"="+with[name])
	}
	return strings.Join(words, " ")
}
