// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
)

// prepare has what the ranks need on every node: a container to run in, and nccl-tests.
type prepare struct{ *work }

func (prepare) Name() job.Phase { return job.PhasePrepare }
func (prepare) Title() string   { return "Prepare the nodes for the ranks" }

// prepares says whether there is something to prepare.
func (w *work) prepares() bool {
	b := w.Job.Benchmark
	return b != nil && (b.Container != nil || b.NCCLTestsSource != nil)
}

func (p prepare) Run(ctx context.Context) error {
	b := p.Job.Benchmark
	if b.NCCLTestsSource != nil {
		if err := p.everywhere(ctx, p.makeTestsDir); err != nil {
			return err
		}
	}
	if b.Container != nil {
		if err := p.everywhere(ctx, p.enterContainer); err != nil {
			return err
		}
	}
	if b.NCCLTestsSource != nil {
		return p.haveTests(ctx)
	}
	return nil
}

// everywhere does something on all nodes at the same time, and gives the first failure.
func (p prepare) everywhere(ctx context.Context, do func(context.Context, *nodeWork) (said string, err error)) error {
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, n := range p.nodes {
		group.Go(func() error {
			said, err := do(ctx, n)
			if said == "" && err == nil {
				return nil
			}
			event := job.Event{Type: job.EventNode, Node: n.Name, Outcome: job.Pass, Message: said, Done: int(done.Add(1)), Total: len(p.nodes)}
			if err != nil {
				event.Outcome, event.Message = job.CouldNotRun, err.Error()
			}
			p.emit(event)
			return err
		})
	}
	return group.Wait()
}

// ranks is where the ranks of a node run.
func (n *nodeWork) ranks() launch.Node {
	if n.inside != nil {
		return *n.inside
	}
	return n.at
}
