// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"maps"
	"os"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// alone gives the run that measures a node alone, with all its ranks.
func (w *work) alone(ctx context.Context, n *nodeWork, gpus int, b job.Benchmark) (run, error) {
	r := run{scope: job.ScopeNode, nodes: []*nodeWork{n}, name: job.NodeRun(n.Name), at: n.ranks(), ranks: gpus}
	var err error
	if b.Launcher == job.LauncherSlurm {
		return r.asBatch(w.batch(ctx, r.nodes, gpus, b))
	}
	r.command, err = w.aloneCommand(n, gpus, b)
	return r, err
}

// together gives the run that measures some nodes together.
func (w *work) together(ctx context.Context, nodes []*nodeWork, gpus int, b job.Benchmark) (run, error) {
	r := run{nodes: nodes, at: w.nodes[0].ranks(), expect: b.Expect, ranks: gpus * len(nodes)}
	var err error
	if b.Launcher == job.LauncherSlurm {
		return r.asBatch(w.batch(ctx, nodes, gpus, b))
	}
	r.command, err = w.mpirun(nodes, gpus, b)
	return r, err
}

func (r run) asBatch(b *launch.Batch, err error) (run, error) {
	if err != nil {
		return r, err
	}
	r.batch = b
	r.command = launch.Command{Argv: b.Command(), Env: b.Env}
	r.ranks = b.RanksPerNode * r.hosts()
	return r, nil
}

// hosts is how many nodes take part.
func (r run) hosts() int {
	if r.batch != nil && len(r.batch.Nodes) == 0 {
		return r.batch.Settings.Nodes
	}
	return len(r.nodes)
}

func (w *work) aloneCommand(n *nodeWork, gpus int, b job.Benchmark) (launch.Command, error) {
	program, err := w.program(n)
	if err != nil {
		return launch.Command{}, err
	}
	if b.Launcher != job.LauncherMPIRun {
		env := w.environment()
		maps.Copy(env, b.Environment)
		return launch.Single(program, nccl.Args(b, gpus), env, n.found.Facts.OpenMPIBin), nil
	}
	env := w.mpiEnvironment()
	maps.Copy(env, b.Environment)
	command, err := launch.MPIRunAlone(launch.MPI{
		Program: program, Args: nccl.Args(b, 1), Env: env, Hosts: []string{n.Address}, RanksPerHost: gpus,
		OpenMPIBin: n.found.Facts.OpenMPIBin, Version: n.found.Facts.OpenMPIVersion, Runner: n.ranks().Runner,
		Root: os.Geteuid() == 0 || n.inside != nil || w.Job.SSH.User == "root",
	})
	if err != nil {
		return launch.Command{}, &Stop{job.CouldNotRun, job.Failure{Kind: nccl.KindMPIStartFailed, Node: n.Name, Message: err.Error()}}
	}
	return command, nil
}

// needsMPI says whether the runs need Open MPI on the nodes.
func (w *work) needsMPI() bool {
	switch w.Job.Benchmark.Launcher {
	case job.LauncherSingle:
		return false
	case job.LauncherMPIRun:
		return true
	case job.LauncherSlurm:
		s := w.slurmSettings()
		return s.Starter() == job.SlurmMPIRun && !s.Chooses()
	case job.LauncherAuto:
	}
	return len(w.nodes) > 1
}

// mpiEnvironment is [work.environment] with the shape's settings for Open MPI, UCX and HCOLL, where the user has none. Open MPI
// takes UCX by itself where it finds adapters: were it forced to, it would not start on a node whose UCX finds none.
func (w *work) mpiEnvironment() map[string]string {
	env := map[string]string{}
	if s, ok := shape.Lookup(w.Job.Shape); ok && s.MPIEnv.Usable() {
		maps.Copy(env, s.MPIEnv.V)
		delete(env, "OMPI_MCA_pml")
	}
	if w.Job.Benchmark.Container != nil { // its seccomp profile forbids what Open MPI else tries first
		env["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
	}
	maps.Copy(env, w.environment())
	return env
}

// nearOrder gives nodes so that those near each other follow each other.
func nearOrder(nodes []*nodeWork) []*nodeWork {
	places := make([]launch.Place, len(nodes))
	for i, n := range nodes {
		places[i].Name = n.Name
		if n.found.Facts != nil {
			places[i].Topology = n.found.Facts.Topology
		}
	}
	ordered := make([]*nodeWork, len(nodes))
	for i, place := range launch.NearOrder(places) {
		ordered[i] = nodes[place]
	}
	return ordered
}
