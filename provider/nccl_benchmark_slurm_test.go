// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// TestAccNCCLBenchmark_slurm has real slurmctld, slurmd and munged on the nodes. What is submitted survives Terraform and the runner, and is
// found again.
func TestAccNCCLBenchmark_slurm(t *testing.T) {
	if _, err := exec.LookPath("slurmctld"); err != nil {
		t.Skip("Slurm is not installed: run `tools/setup.sh test`")
	}
	l := startLab(t)
	tf := acctest.NewTerraform(t, pair(l), l.Info.Environ()...)
	tf.Apply()
	nodes := hosts(t, l)
	acctest.StartSlurm(t, l, nodes)
	controller := nodes[0]
	ask := func(line string) string {
		t.Helper()
		out, err := l.Exec(t.Context(), controller, "bash", "-c", line)
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	_ = func() string {
		t.Helper()
		return ask("squeue --noheader --states=all --format='%j' | grep -c ^ocihpc- || :")
	}

	for _, mpi := range []string{"mpirun", "pmix"} {
		t.Run(mpi, func(t *testing.T) {
			tf.Configure(measured(l, quick, `launcher = "slurm"`, fmt.Sprintf(`slurm = { partition = "gpu", mpi = %q, options = ["--comment=acceptance"] }`, mpi)))
			tf.Apply()
			b := tf.State(benchmarkAddress).Values
			if fmt.Sprintln(b["outcome"], b["ranks"], b["hosts"], b["wrong"]) != "pass 4 2 0\n" {
				t.Errorf("%v: %v ranks on %v hosts, %v wrong", b["outcome"], b["ranks"], b["hosts"], b["wrong"])
			}
			tf.ExpectNoChanges()
			leftBySlurm(t, l, nodes)
		})
	}
}

// leftBySlurm expects that no file of a batch job is left on any node.
func leftBySlurm(t *testing.T, l *lab.Lab, nodes []string) {
	t.Helper()
	for _, host := range nodes {
		left, err := l.Exec(t.Context(), host, "sh", "-c", `find /home/opc/.ocihpc -name '*.out' -o -name '*.exit' -o -name '*.slurm.json'; pgrep -a 'slurmstepd|mpirun|orted|all_reduce' || :`)
		if got := strings.TrimSpace(string(left)); got != "" {
			t.Errorf("%s: %q (%v)", host, got, err)
		}
	}
}
