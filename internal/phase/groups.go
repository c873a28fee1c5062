// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/pattern"
)

// groups measures groups of nodes, and takes the results as trials.
type groups struct {
	*work
	gpus      int // of each node
	benchmark job.Benchmark
	options   pattern.Options
	limit     time.Duration
	// iterations says that single iterations are timed.
	iterations bool
}

// leastLimit is how long a run of a group may take at least; more where others took long.
const leastLimit = 2 * time.Minute

// groups gives what measures groups. They are judged by the limits of the run over all nodes, and where that was only too
// slow, they measure only the sizes that were judged.
func (w *work) groups(ctx context.Context, gpus int, all *job.Summary) *groups {
	g := &groups{work: w, gpus: gpus, benchmark: *w.Job.Benchmark, iterations: w.timesIterations(ctx)}
	for _, n := range w.near {
		g.options.Nodes = append(g.options.Nodes, n.Name)
	}
	g.options.MaxRuns = w.Job.Benchmark.MaxRuns
	longest := 0.0
	for _, m := range w.runs {
		if m.Outcome != job.CouldNotRun {
			longest = max(longest, m.Seconds)
		}
	}
	g.limit = min(time.Duration(g.benchmark.TimeoutSeconds)*time.Second, max(leastLimit, time.Duration(4*longest)*time.Second))
	if all != nil {
		g.judgeAs(*all)
	}
	if e := g.benchmark.Expect; e.MinBusbwGBPerS != nil {
		g.options.Mark = *e.MinBusbwGBPerS
	} else if len(e.Limits) > 0 && e.Limits[0].MinBusbwGBPerS != nil {
		g.options.Mark = *e.Limits[0].MinBusbwGBPerS
	}
	return g
}

// judgeAs takes the limits that the run over all nodes was judged by.
func (g *groups) judgeAs(all job.Summary) {
	limits := make([]job.Limit, 0, len(all.Limits))
	for _, l := range all.Limits {
		limits = append(limits, l.Limit)
	}
	for _, r := range all.Regressions {
		if least := r.BaselineGBPerS; r.Outcome == job.Fail {
			if most := g.benchmark.Baseline.MaxRegressionPercent; most != nil {
				least *= 1 - *most/100
			}
			limits = append(limits, job.Limit{FromBytes: r.SizeBytes, ToBytes: r.SizeBytes + 1, MinBusbwGBPerS: &least})
		}
	}
	if len(limits) > 0 { // of wrong results no bandwidth was judged
		g.benchmark.Expect = job.Expectation{Limits: limits}
	}
	if all.Runs >= 3 && len(all.Sizes) > 0 { // the noise is known
		if s := all.Sizes[len(all.Sizes)-1].OutOfPlace; s != nil && s.Median > 0 {
			g.options.Noise = max(0.05, (s.Most-s.Least)/s.Median)
		}
	}
	if len(limits) == 0 || !isSlow(all.Failure) {
		return
	}
	least := slices.MinFunc(limits, func(a, b job.Limit) int { return cmp.Compare(a.FromBytes, b.FromBytes) }).FromBytes
	b := &g.benchmark
	for b.MinSizeBytes < least && b.MinSizeBytes <= b.MaxSizeBytes/int64(b.StepFactor) {
		b.MinSizeBytes *= int64(b.StepFactor)
	}
}

// measure measures the groups of a round at the same time.
func (g *groups) measure(ctx context.Context, round pattern.Round) ([]pattern.Trial, error) {
	g.tell(round)
	runs := make([]run, len(round.Groups))
	for i, members := range round.Groups {
		var nodes []*nodeWork
		for _, n := range members {
			nodes = append(nodes, g.near[n])
		}
		r, err := g.runOf(ctx, nodes, g.gpus, g.benchmark)
		if err != nil {
			return nil, err
		}
		r.scope, r.purpose = job.ScopeGroup, round.Purpose
		r.name = job.GroupRun(len(g.runs) + i)
		runs[i] = r
	}
	measured := make([]job.Measurement, len(runs))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, r := range runs {
		group.Go(func() error {
			measured[i] = g.work.measure(ctx, r)
			g.emit(job.Event{Type: job.EventNode, Outcome: measured[i].Outcome, Message: inOneLine(measured[i])})
			return nil
		})
	}
	_ = group.Wait() // every failure is with its run
	g.runs = append(g.runs, measured...)
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	trials := make([]pattern.Trial, len(measured))
	for i, m := range measured {
		trials[i] = g.trial(round.Groups[i], m)
	}
	return trials, nil
}

// measureRail measures one GPU of each node.
func (g *groups) measureRail(ctx context.Context, round pattern.Round) ([]pattern.Trial, error) {
	g.tell(round)
	rail := round.Groups[0][0]
	b := g.benchmark
	b.Environment = maps.Clone(b.Environment)
	if b.Environment == nil {
		b.Environment = map[string]string{}
	}
	b.Environment["CUDA_DEVICE_ORDER"], b.Environment["CUDA_VISIBLE_DEVICES"] = "PCI_BUS_ID", strconv.Itoa(rail) // as nvidia-smi
	r, err := g.runOf(ctx, g.nodes, 1, b)
	if err != nil {
		return nil, err
	}
	r.scope, r.purpose, r.rail = job.ScopeRail, round.Purpose, &rail
	r.name = job.RailRun(len(g.runs), rail)
	m := g.work.measure(ctx, r)
	g.emit(job.Event{Type: job.EventNode, Outcome: m.Outcome, Message: inOneLine(m)})
	g.runs = append(g.runs, m)
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	return []pattern.Trial{g.trial(round.Groups[0], m)}, nil
}

func (g *groups) runOf(ctx context.Context, nodes []*nodeWork, gpus int, b job.Benchmark) (run, error) {
	r, err := g.together(ctx, nodes, gpus, b)
	r.limit = g.limit
	if g.iterations && err == nil {
		r.timeIterations()
	}
	return r, err
}

func (g *groups) tell(round pattern.Round) {
	what := fmt.Sprintf("1 group (run %d", round.First)
	if n := len(round.Groups); n > 1 {
		what = fmt.Sprintf("%d groups side by side (runs %d to %d", n, round.First, round.First+n-1)
	}
	g.emit(job.Event{Type: job.EventOutput, Message: fmt.Sprintf("%s: %s, of at most %d)", round.Purpose, what, round.AtMost)})
}

// inOneLine says what came of a run.
func inOneLine(m job.Measurement) string {
	who := strings.Join(m.Nodes, " ")
	if len(m.Nodes) > 4 {
		who = fmt.Sprintf("%s and %d more", strings.Join(m.Nodes[:3], " "), len(m.Nodes)-3)
	}
	if m.Rail != nil {
		who = fmt.Sprintf("rail %d", *m.Rail)
	}
	if m.Failure != nil {
		return who + ": " + m.Failure.Message
	}
	return fmt.Sprintf("%s: %.3g GB/s", who, bandwidthOf(m))
}

// trial is what a run says of its nodes.
func (w *work) trial(nodes []int, m job.Measurement) pattern.Trial {
	t := pattern.Trial{Nodes: nodes, GBPerS: bandwidthOf(m), Fastest: fastestOf(m)}
	if m.Failure == nil || m.Outcome == job.Pass || m.Outcome == job.Warn {
		return t
	}
	t.Said, t.SetUp = m.Failure.Message, isSetUp(m.Failure)
	switch {
	case m.Outcome == job.CouldNotRun:
		t.Verdict = pattern.Failed
	case isSlow(m.Failure):
		t.Verdict = pattern.Slow
	default:
		t.Verdict = pattern.Wrong
	}
	for i, n := range w.near {
		if named := m.Failure.Node; named != "" && (named == n.Name || named == n.Address || n.found.Facts != nil && named == n.found.Facts.Hostname) {
			t.Named = append(t.Named, i)
		}
	}
	return t
}

// bandwidthOf gives the bus bandwidth at the largest size, the lesser one of both placements; 0 when there is none.
func bandwidthOf(m job.Measurement) float64 {
	if m.Report == nil || len(m.Report.Rows) == 0 {
		return 0
	}
	last := m.Report.Rows[len(m.Report.Rows)-1]
	least := 0.0
	for _, half := range []*job.Placement{last.OutOfPlace, last.InPlace} {
		if half != nil && half.BusbwGBPerS != nil && (least == 0 || *half.BusbwGBPerS < least) {
			least = *half.BusbwGBPerS
		}
	}
	return least
}

// isSlow says whether a run was right, but not fast enough.
func isSlow(f *job.Failure) bool {
	return f != nil && slices.Contains([]string{nccl.KindTooSlow, nccl.KindRegression, nccl.KindMinBandwidthMissed}, f.Kind)
}

// isSetUp says whether a run failed by what it was asked for or by how nodes are set up, for which replacing one is no cure.
func isSetUp(f *job.Failure) bool {
	broken := []string{
		nccl.KindWrongResults, nccl.KindTooSlow, nccl.KindRegression, nccl.KindMinBandwidthMissed, nccl.KindNoOutput, nccl.KindIncomplete,
		nccl.KindCUDAError, nccl.KindNCCLError, nccl.KindTimeout, nccl.KindMPIStartFailed, nccl.KindConnectionLost, nccl.KindKilled, nccl.KindCrashed, nccl.KindNonzeroExit,
	}
	return f != nil && !slices.Contains(broken, f.Kind)
}
