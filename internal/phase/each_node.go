// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
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
	runs := make([]job.Measurement, len(p.nodes))
	var done atomic.Int64
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, n := range p.nodes {
		program, err := p.program(n)
		if err != nil {
			return err
		}
		group.Go(func() error {
			runs[i] = p.measure(ctx, run{
				scope: job.ScopeNode, nodes: []*nodeWork{n}, name: job.NodeRun(n.Name), at: n.at, ranks: gpus,
				command: launch.Single(program, nccl.Args(*p.Job.Benchmark, gpus), p.environment(), n.found.Facts.OpenMPIBin),
				expect:  p.Job.Benchmark.ExpectPerNode,
			})
			p.emit(job.Event{
				Type: job.EventNode, Node: n.Name, Outcome: runs[i].Outcome, Message: verdict(runs[i]),
				Done: int(done.Add(1)), Total: len(p.nodes),
			})
			return nil
		})
	}
	_ = group.Wait() // every failure is with its run
	p.runs = append(p.runs, runs...)
	for _, m := range runs { // with a node that does not work, a run over all would hang or fail
		if m.Outcome == job.CouldNotRun {
			return &Stop{m.Outcome, *m.Failure}
		}
	}
	return nil
}

// verdict puts a measurement into one line.
func verdict(m job.Measurement) string {
	if m.Failure != nil {
		return m.Failure.Message
	}
	if m.Report != nil {
		if busbw, size, ok := m.Report.PeakBusbw(); ok {
			return fmt.Sprintf("%d ranks, up to %.2f GB/s bus bandwidth at %s", len(m.Report.Ranks), busbw, nccl.FormatBytes(size))
		}
	}
	return "measured"
}
