// SPDX-License-Identifier: MPL-2.0

package job

import (
	"errors"
	"slices"
	"strings"
)

var (
	slurmWord    = form(`^[A-Za-z0-9][A-Za-z0-9._@:/+-]{0,127}$`)
	slurmFeature = form(`^[A-Za-z0-9_.&|*()\[\],:-]{1,255}$`)
	slurmGRES    = form(`^[A-Za-z0-9_.:,/-]{1,255}$`)
	slurmMount   = form(`^[A-Za-z0-9._/+@%=-]+(:[A-Za-z0-9._/+@%=-]+){1,2}$`)
	slurmImage   = form(`^[A-Za-z0-9./][A-Za-z0-9._/:@#+-]{0,999}$`)
	slurmOption  = form(`^--[a-z][a-z0-9-]*(=[A-Za-z0-9._/:@%+,=-]*)?$`)
)

// slurmOwn are the options of sbatch that the runner sets, or that would take a run out of its hands.
var slurmOwn = []string{
	"--account", "--array", "--batch", "--chdir", "--clusters", "--constraint", "--dependency", "--error", "--exclusive", "--export", "--export-file",
	"--get-user-env", "--gid", "--gres", "--help", "--hold", "--input", "--job-name", "--kill-on-invalid-dep", "--mail-type", "--mail-user", "--mem",
	"--nodefile", "--nodelist", "--nodes", "--no-requeue", "--ntasks", "--ntasks-per-node", "--open-mode", "--output", "--oversubscribe", "--parsable",
	"--partition", "--qos", "--quiet", "--requeue", "--reservation", "--test-only", "--time", "--time-min", "--uid", "--usage", "--version", "--wait", "--wrap",
}

// Validate finds what is wrong with the batch jobs.
func (s Slurm) Validate() error {
	var v problems
	v.slurm("", s)
	return errors.Join(v.list...)
}

func (v *problems) launcher(j Job) {
	b := *j.Benchmark
	if b.Launcher != LauncherAuto && !slices.Contains(Launchers, b.Launcher) {
		v.add("benchmark.launcher %q is not one of %v", b.Launcher, Launchers)
	}
	if b.Launcher == LauncherSingle && len(j.Nodes) > 1 && b.Pattern != PatternPerNode {
		v.add("benchmark.launcher single starts one process on one node: with %d nodes, set benchmark.pattern to %s, or leave the launcher to mpirun", len(j.Nodes), PatternPerNode)
	}
	switch {
	case b.Slurm == nil:
	case b.Launcher != LauncherSlurm:
		v.add("benchmark.slurm is for launcher slurm, and the launcher is %q", b.Launcher)
	default:
		v.slurm("benchmark.slurm.", *b.Slurm)
	}
	switch {
	case b.Container == nil:
	case b.Launcher == LauncherSlurm:
		v.add("benchmark.container is for launchers other than slurm: name the image in slurm.image, which Pyxis runs")
	default:
		v.container("benchmark.container.", *b.Container)
	}
	if s := b.NCCLTestsSource; s != nil {
		v.ncclTestsSource("benchmark.nccl_tests_source.", *s)
		switch {
		case b.NCCLTestsDir != "":
			v.add("benchmark.nccl_tests_dir names nccl-tests that are there, and nccl_tests_source what to build them from: leave one of them out")
		case b.Slurm != nil && (b.Slurm.Image != "" || b.Slurm.Chooses()):
			v.add("benchmark.nccl_tests_source builds on the job's nodes, and slurm.image and slurm.nodes have the ranks run elsewhere")
		}
	}
	if b.Slurm.Chooses() {
		if len(j.Nodes) > 1 {
			v.add("benchmark.slurm.nodes lets Slurm choose the nodes: name the node alone that the batch job is submitted on, and not %d", len(j.Nodes))
		}
		if b.Pattern != "" && b.Pattern != PatternAuto && b.Pattern != PatternAll {
			v.add("benchmark.pattern %s names nodes, and slurm.nodes lets Slurm choose them", b.Pattern)
		}
		if b.GPUsPerNode == 0 {
			v.add("benchmark.gpus_per_node is needed with slurm.nodes: nobody can count the GPUs of nodes that Slurm is still to choose")
		}
	}
}

func (v *problems) slurm(field string, s Slurm) {
	for _, word := range []struct {
		name, value string
		form        pattern
	}{
		{"partition", s.Partition, slurmWord}, {"account", s.Account, slurmWord}, {"qos", s.QOS, slurmWord}, {"reservation", s.Reservation, slurmWord},
		{"constraint", s.Constraint, slurmFeature}, {"gres", s.GRES, slurmGRES}, {"image", s.Image, slurmImage},
	} {
		for part := range strings.SplitSeq(word.value, ",") {
			if word.value != "" && !word.form.MatchString(part) {
				v.add("%s%s %q has a form that Slurm does not know", field, word.name, word.value)
				break
			}
		}
	}
	for _, number := range []struct {
		name  string
		value int
	}{{"nodes", s.Nodes}, {"time_limit_seconds", s.TimeLimitSeconds}, {"queue_seconds", s.QueueSeconds}} {
		if number.value < 0 {
			v.add("%s%s is negative", field, number.name)
		}
	}
	if s.MPI != "" && !slices.Contains([]SlurmMPI{SlurmPMIx, SlurmPMI2, SlurmMPIRun}, s.MPI) {
		v.add("%smpi %q is not pmix, pmi2 or mpirun", field, s.MPI)
	}
	if s.Image != "" && s.MPI == SlurmMPIRun {
		v.add("%smpi mpirun runs on the nodes, and image has the ranks run in containers, which srun alone starts: use pmi2 or pmix, whichever the image's MPI knows", field)
	}
	if len(s.Mounts) > 0 && s.Image == "" {
		v.add("%smounts are for containers: name an image, too", field)
	}
	if len(s.Mounts) > 0 {
		v.each(field+"mounts", s.Mounts, slurmMount, "SOURCE:TARGET or SOURCE:TARGET:FLAGS")
	}
	if s.SharedDir != "" {
		v.path(field+"shared_dir", s.SharedDir)
	}
	for _, option := range s.Options {
		name, _, _ := strings.Cut(option, "=")
		switch {
		case !slurmOption.MatchString(option):
			v.add("%soptions: %q is not of the form --name=value, without blanks and quotes", field, option)
		case slices.Contains(slurmOwn, name):
			v.add("%soptions: %s is set by the runner, or has an argument of its own here", field, name)
		}
	}
}
