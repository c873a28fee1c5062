// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// whichGPUs suspects single GPUs in place of nodes that are wrong alone, where some of a node's GPUs are wrong by themselves
// and the others are not: each GPU of such a node is measured alone, all at the same time.
func (p localise) whichGPUs(ctx context.Context, suspects []job.Suspect, gpus int) ([]job.Suspect, error) {
	var found []job.Suspect
	for _, s := range suspects {
		at := slices.IndexFunc(p.nodes, func(n *nodeWork) bool { return n.Name == s.Nodes[0] })
		summary := slices.IndexFunc(p.summaries, func(m job.Summary) bool {
			return m.Scope == job.ScopeNode && slices.Equal(m.Nodes, s.Nodes) && isWrong(m.Failure)
		})
		if summary < 0 || gpus < 2 {
			found = append(found, s)
			continue
		}
		runs, err := p.eachGPU(ctx, p.nodes[at], gpus)
		if err != nil {
			return suspects, err
		}
		found = append(found, wrongGPUs(s, runs)...)
	}
	return found, nil
}

// wrongGPUs gives the GPUs of a suspected node that are wrong alone, or the node where that does not tell.
func wrongGPUs(node job.Suspect, runs []job.Measurement) []job.Suspect {
	var wrong []job.Suspect
	for gpu, m := range runs {
		if m.Outcome != job.Fail || !isWrong(m.Failure) {
			continue
		}
		wrong = append(wrong, job.Suspect{
			Kind: job.SuspectGPU, Nodes: node.Nodes, Index: &gpu, Confidence: job.Certain, Symptom: job.SymptomWrong, Replace: node.Replace,
			Evidence: slices.Concat(node.Evidence, []string{fmt.Sprintf("GPU %d alone: %s", gpu, m.Failure.Message)}),
		})
	}
	if len(wrong) == 0 || len(wrong) == len(runs) {
		return []job.Suspect{node}
	}
	return wrong
}

// eachGPU measures every GPU of a node alone.
func (p localise) eachGPU(ctx context.Context, n *nodeWork, gpus int) ([]job.Measurement, error) {
	program, err := p.program(n)
	if err != nil {
		return nil, err
	}
	p.emit(job.Event{Type: job.EventOutput, Message: fmt.Sprintf("each of the %d GPUs of %s alone", gpus, n.Name)})
	runs := make([]job.Measurement, gpus)
	var group errgroup.Group
	for gpu := range gpus {
		env := maps.Clone(p.environment())
		// The order of nvidia-smi.
		env["CUDA_DEVICE_ORDER"], env["CUDA_VISIBLE_DEVICES"] = "PCI_BUS_ID", strconv.Itoa(gpu)
		group.Go(func() error {
			runs[gpu] = p.measure(ctx, run{
				scope: job.ScopeRail, rail: &gpu, purpose: "each GPU alone", nodes: []*nodeWork{n}, at: n.at, ranks: 1,
				name:    job.RailRun(len(p.runs)+gpu, gpu),
				command: launch.Single(program, nccl.Args(*p.Job.Benchmark, 1), env, n.found.Facts.OpenMPIBin),
			})
			return nil
		})
	}
	_ = group.Wait() // every failure is with its run
	p.runs = append(p.runs, runs...)
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	return runs, nil
}
