// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// eachNode measures every node alone, all at the same time: one process a node drives all its GPUs.
type eachNode struct{ *work }

func (eachNode) Name() job.Phase { return job.PhaseEachNode }
func (eachNode) Title() string   { return "Measure each node alone" }

func (p eachNode) Run(ctx context.Context) error {
	if p.Job.Benchmark == nil {
		return skipped("no benchmark was asked for")
	}
	gpus, err := p.gpusPerNode()
	if err != nil {
		return err
	}
	expect, baseline := p.expected()
	runs := make([]repeated, len(p.nodes))
	var done atomic.Int64
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, n := range p.nodes {
		alone, err := p.alone(ctx, n, gpus, *p.Job.Benchmark)
		if err != nil {
			return err
		}
		alone.expect, alone.baseline = expect, baseline
		group.Go(func() error {
			runs[i] = p.repeat(ctx, alone)
			p.emit(job.Event{
				Type: job.EventNode, Node: n.Name, Outcome: runs[i].summary.Outcome, Message: verdict(runs[i]),
				Done: int(done.Add(1)), Total: len(p.nodes),
			})
			return nil
		})
	}
	_ = group.Wait() // every failure is with its run
	p.take(runs...)
	if p.fitForOthers(runs) {
		return nil
	}
	for _, r := range runs { // with a node that does not work, a run over all would hang or fail
		if r.summary.Outcome == job.CouldNotRun {
			return &Stop{r.summary.Outcome, *r.summary.Failure}
		}
	}
	return nil
}

// expected is what each node alone is judged by. The run of the only node is the run over all nodes too.
func (p eachNode) expected() (job.Expectation, *job.Baseline) {
	b := p.Job.Benchmark
	if len(p.nodes) > 1 {
		return b.ExpectPerNode, nil
	}
	return b.ExpectPerNode.And(b.Expect, b.MaxSizeBytes), b.Baseline
}

// verdict puts a run with its repeats into one line.
func verdict(r repeated) string {
	if r.summary.Failure != nil {
		return r.summary.Failure.Message
	}
	if busbw, size, ok := r.summary.Peak(); ok {
		return fmt.Sprintf("%d ranks, up to %.2f GB/s bus bandwidth at %s", r.summary.Ranks, busbw, nccl.FormatBytes(size))
	}
	return "measured"
}
