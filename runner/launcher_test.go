// SPDX-License-Identifier: MPL-2.0

package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// One node by mpirun has a process for each rank, where it else has one for all.
func TestLauncherOfOneNode(t *testing.T) {
	t.Parallel()
	for launcher, program := range map[job.Launcher]string{job.LauncherAuto: "all_reduce_perf", job.LauncherSingle: "all_reduce_perf", job.LauncherMPIRun: "mpirun"} {
		t.Run(program+string(launcher), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1)
			c.job.Shape = "BM.GPU.H100.8" // for its settings
			c.job.Checks.Skip = allChecks()
			c.job.Benchmark.Launcher = launcher
			c.job.Benchmark.Environment["UCX_TLS"] = "self"
			result, status := c.run()
			if status != 0 || len(result.Runs) != 1 {
				t.Fatalf("status %d: %+v", status, result.Failure)
			}
			run := result.Runs[0]
			if got := filepath.Base(run.Command[0]); got != program {
				t.Errorf("started by %s", got)
			}
			if len(run.Report.Ranks) != gpusPerNode || run.Environment["NCCL_IB_GID_INDEX"] != "3" {
				t.Errorf("%d ranks, environment %v", len(run.Report.Ranks), run.Environment)
			}
			pids := map[string]bool{}
			for _, rank := range regexp.MustCompile(`Rank +\d+ .*Pid +(\d+)`).FindAllStringSubmatch(c.read(c.dir.RunLog(job.NodeRun("gpu-1"))), -1) {
				pids[rank[1]] = true
			}
			if processes := map[bool]int{false: 1, true: gpusPerNode}[launcher == job.LauncherMPIRun]; len(pids) != processes {
				t.Errorf("%d processes, want %d", len(pids), processes)
			}
			// The user's settings count over the shape's; those for MPI are for MPI alone.
			if mpi := launcher == job.LauncherMPIRun; (run.Environment["OMPI_MCA_coll"] == "^hcoll") != mpi || run.Environment["UCX_TLS"] != "self" || strings.Contains(strings.Join(run.Command, " "), "-x UCX_TLS") != mpi {
				t.Errorf("environment %v, command %q", run.Environment, run.Command)
			}
		})
	}
}

// allChecks are the names of all checks: the test's node is none of the shape.
func allChecks() []string {
	var names []string
	for _, kind := range job.CheckKinds {
		names = append(names, kind.Name)
	}
	return slices.Clip(names)
}
