// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"os"

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
	case len(p.nodes) == 1:
		return skipped("there is only one node")
	}
	gpus, err := p.gpusPerNode()
	if err != nil {
		return err
	}
	command, err := p.mpirun(gpus)
	if err != nil {
		return err
	}
	agent := launch.Agent{Nodes: map[string]launch.Node{}}
	for _, n := range p.nodes {
		agent.Nodes[n.Address] = n.at
	}
	if err := agent.Listen(ctx, p.Dir.Socket()); err != nil {
		return err
	}
	p.take(p.repeat(ctx, run{
		scope: job.ScopeAll, nodes: p.nodes, name: job.AllNodesRun, at: p.nodes[0].at, ranks: gpus * len(p.nodes),
		command: command, expect: p.Job.Benchmark.Expect, baseline: p.Job.Benchmark.Baseline,
	}))
	return agent.Close()
}

func (p allNodes) mpirun(gpus int) (launch.Command, error) {
	head := p.nodes[0]
	program, err := p.program(head)
	if err != nil {
		return launch.Command{}, err
	}
	m := launch.MPI{
		Program: program, Args: nccl.Args(*p.Job.Benchmark, 1), Env: p.environment(), RanksPerHost: gpus,
		OpenMPIBin: head.found.Facts.OpenMPIBin, Runner: p.Runner, Socket: p.Dir.Socket(), Root: os.Geteuid() == 0,
	}
	var networks []string
	for _, n := range p.nodes {
		m.Hosts = append(m.Hosts, n.Address)
		networks = append(networks, n.found.Facts.NetworkCIDR)
		if dir := n.found.Facts.NCCLTestsDir; dir != head.found.Facts.NCCLTestsDir {
			return launch.Command{}, &Stop{job.CouldNotRun, job.Failure{
				Kind: nccl.KindTestsMissing, Node: n.Name,
				Message: "nccl-tests are in " + dir + " on " + n.Name + ", but in " + head.found.Facts.NCCLTestsDir + " on " + head.Name,
				Advice:  "install nccl-tests in the same folder on all nodes",
			}}
		}
	}
	m.Networks = launch.CommonNetworks(networks)
	command, err := launch.MPIRun(m)
	if err != nil {
		return launch.Command{}, &Stop{job.CouldNotRun, job.Failure{Kind: nccl.KindMPIStartFailed, Message: err.Error()}}
	}
	return command, nil
}
