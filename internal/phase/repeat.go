// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"fmt"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// repeated is a run with all its repeats.
type repeated struct {
	runs    []job.Measurement
	summary job.Summary
}

// repeat makes a run as often as the job says, and judges the medians. It stops at a run that could not be
// made: what is missing keeps the rest from being judged.
func (w *work) repeat(ctx context.Context, r run) repeated {
	times := max(1, w.Job.Benchmark.Repeats)
	var all repeated
	for i := 1; i <= times; i++ {
		one := r
		if times > 1 {
			one.name, one.number = job.Repeated(r.name, i), i
		}
		m := w.measure(ctx, one)
		all.runs = append(all.runs, m)
		if m.Outcome == job.CouldNotRun {
			break
		}
	}
	all.summary = w.summarise(r, all.runs, times)
	return all
}

// take keeps runs for the result.
func (w *work) take(all ...repeated) {
	for _, r := range all {
		w.runs = append(w.runs, r.runs...)
		w.summaries = append(w.summaries, r.summary)
	}
}

// summarise puts the repeats of a run together. Where one of them gave no right results, its failure stands.
func (w *work) summarise(r run, runs []job.Measurement, times int) job.Summary {
	var reports []*job.Report
	var spoilt *job.Measurement
	for i := range runs {
		if m := &runs[i]; m.Report != nil && m.Outcome != job.CouldNotRun && !isWrong(m.Failure) {
			reports = append(reports, m.Report)
		} else if spoilt == nil || job.Worse(spoilt.Outcome, m.Outcome) != spoilt.Outcome {
			spoilt = m
		}
	}
	s := nccl.Summarise(reports)
	s.Scope, s.Nodes, s.Repeats = r.scope, runs[0].Nodes, times
	if spoilt != nil {
		s.Outcome, s.Failure = spoilt.Outcome, spoilt.Failure
		if times > 1 {
			failure := *spoilt.Failure
			failure.Message = fmt.Sprintf("repeat %d of %d: %s", spoilt.Repeat, times, failure.Message)
			s.Failure = &failure
		}
		return s
	}
	verdict := w.criteria(r, runs[0]).Judge(s)
	s.Outcome, s.Failure, s.Limits = verdict.Outcome, r.named(verdict.Failure), verdict.Limits
	s.Regressions, s.Remarks = verdict.Regressions, verdict.Remarks
	for _, m := range runs {
		for _, remark := range m.Remarks {
			if !slices.Contains(s.Remarks, remark) {
				s.Remarks = append(s.Remarks, remark)
			}
		}
	}
	return s
}

// isWrong says whether a failure makes a run's numbers worthless for the others.
func isWrong(f *job.Failure) bool {
	return f != nil && (f.Kind == nccl.KindWrongResults || f.Kind == nccl.KindMinBandwidthMissed || f.Kind == nccl.KindWrongTransport)
}
