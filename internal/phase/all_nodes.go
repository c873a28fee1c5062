// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// allNodes measures all nodes together, one rank a GPU, started by mpirun.
type allNodes struct{ *work }

func (allNodes) Name() job.Phase { return job.PhaseAllNodes }
func (allNodes) Title() string   { return "Measure all nodes together" }

func (p allNodes) Run(ctx context.Context) error {
	switch {
	case p.Job.Benchmark == nil:
		return skipped("no benchmark was asked for")
	case len(p.nodes) == 1 && p.pattern() == job.PatternAuto:
		return skipped("there is only one node")
	}
	if unfit := p.cannotRunAlone(); len(unfit) > 0 {
		return skipped("with " + strings.Join(unfit, ", ") + " it would not run")
	}
	gpus, err := p.gpusPerNode()
	if err != nil {
		return err
	}
	all, err := p.together(ctx, p.nodes, gpus, *p.Job.Benchmark)
	if err != nil {
		return err
	}
	all.scope, all.name, all.baseline = job.ScopeAll, job.AllNodesRun, p.Job.Benchmark.Baseline
	return p.withAgent(ctx, func() error {
		p.take(p.repeat(ctx, all))
		return nil
	})
}

// cannotRunAlone names the nodes whose own run did not come to its end.
func (w *work) cannotRunAlone() []string {
	var names []string
	for _, m := range w.runs {
		if m.Scope == job.ScopeNode && m.Outcome == job.CouldNotRun {
			names = append(names, m.Nodes...)
		}
	}
	return names
}

// withAgent lets mpirun, while f runs, start its daemons over the job's connections.
func (w *work) withAgent(ctx context.Context, f func() error) error {
	agent := launch.Agent{Nodes: map[string]launch.Node{}}
	for _, n := range w.nodes {
		agent.Nodes[n.Address] = n.ranks()
	}
	if err := agent.Listen(ctx, w.Dir.Socket()); err != nil {
		return err
	}
	err := f()
	return errors.Join(err, agent.Close())
}

// mpirun gives the command that measures some nodes together. It runs on the head node, whether that is one of them or not.
func (w *work) mpirun(nodes []*nodeWork, gpus int, b job.Benchmark) (launch.Command, error) {
	head := w.nodes[0]
	program, err := w.program(head)
	if err != nil {
		return launch.Command{}, err
	}
	m := launch.MPI{
		Program: program, Args: nccl.Args(b, 1), Env: w.mpiEnvironment(), RanksPerHost: gpus,
		OpenMPIBin: head.found.Facts.OpenMPIBin, Version: head.found.Facts.OpenMPIVersion, Runner: w.Runner, Socket: w.Dir.Socket(), Root: os.Geteuid() == 0,
	}
	if head.inside != nil {
		m.Runner, m.Socket, m.Root = job.ContainerRunner, job.ContainerSocket, true
	}
	networks := []string{head.found.Facts.NetworkCIDR}
	for _, n := range nearOrder(nodes) {
		m.Hosts = append(m.Hosts, n.Address)
		networks = append(networks, n.found.Facts.NetworkCIDR)
		if there := n.found.Facts.NCCLTests; there != head.found.Facts.NCCLTests {
			return launch.Command{}, &Stop{job.CouldNotRun, job.Failure{
				Kind: nccl.KindTestsMissing, Node: n.Name,
				Message: "nccl-tests are " + there + " on " + n.Name + ", but " + program + " on " + head.Name,
				Advice:  "install nccl-tests at the same path on all nodes",
			}}
		}
	}
	m.Networks = launch.CommonNetworks(networks)
	for name, value := range b.Environment { // what is for these runs alone counts over all
		m.Env[name] = value
	}
	command, err := launch.MPIRun(m)
	if err != nil {
		return launch.Command{}, &Stop{job.CouldNotRun, job.Failure{Kind: nccl.KindMPIStartFailed, Message: err.Error()}}
	}
	return command, nil
}
