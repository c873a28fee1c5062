// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// timesIterations says whether nccl-tests of all nodes can time single iterations: by the version that they showed in earlier
// runs, and where there was none by their help.
func (w *work) timesIterations(ctx context.Context) bool {
	known := false
	for _, m := range w.runs {
		if m.Report == nil {
			continue
		}
		if !nccl.TimesIterations(*m.Report) {
			return false
		}
		known = true
	}
	return known || w.helpTimesIterations(ctx)
}

// helpTimesIterations asks nccl-tests of all nodes for their help. In images that Slurm starts they cannot be asked.
func (w *work) helpTimesIterations(ctx context.Context) bool {
	can := make([]bool, len(w.nodes))
	var asking sync.WaitGroup
	for i, n := range w.nodes {
		program, err := w.program(n)
		if err != nil || n.found.Facts.NCCLTests == "" {
			return false
		}
		asking.Go(func() {
			var usage bytes.Buffer
			command := launch.Single(program, []string{"-h"}, w.environment(), n.found.Facts.OpenMPIBin)
			can[i] = n.ranks().Run(ctx, command, &usage, io.Discard) == nil && nccl.HelpTimesIterations(usage.String())
		})
	}
	asking.Wait()
	return !slices.Contains(can, false)
}

// timeIterations adds the times of single iterations to what a run measures.
func (r *run) timeIterations() {
	if r.batch != nil {
		r.batch.Args = slices.Concat(r.batch.Args, nccl.IterationArgs)
		r.command.Argv = r.batch.Command()
		return
	}
	r.command.Argv = slices.Concat(r.command.Argv, nccl.IterationArgs) // the program and its arguments are the end of it
}

// fastestOf gives the bus bandwidth that a run would reach if all its iterations were as the fastest; 0 when that is not known.
func fastestOf(m job.Measurement) float64 {
	if m.Report == nil {
		return 0
	}
	s := m.Report.Steadiness()
	if s == nil {
		return 0
	}
	return bandwidthOf(m) * (1 + s.Lost())
}
