// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// TestAccNCCLBenchmark_slurm has real slurmctld, slurmd and munged on the nodes. What is submitted survives Terraform and the runner, and is
// found again. The cases that make test-slurm adds take minutes.
func TestAccNCCLBenchmark_slurm(t *testing.T) {
	if _, err := exec.LookPath("slurmctld"); err != nil {
		t.Skip("Slurm is not installed: run `tools/setup.sh test`")
	}
	t.Parallel()
	l := startLab(t)
	tf := acctest.NewTerraform(t, pair(l), l.Info.Environ()...)
	tf.Apply()
	nodes := nodesOf(tf.State(clusterAddress)) // the runner works on the first one, where Slurm's controller is, too
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
	submitted := func() string {
		t.Helper()
		return ask("squeue --noheader --states=all --format=%j | grep -c ^ocihpc- || :")
	}

	minutes := func(name string, test func(*testing.T)) {
		t.Helper()
		if os.Getenv("OCIHPC_TEST_SLURM") != "" {
			t.Run(name, test)
		}
	}
	for _, mpi := range []string{"mpirun", "pmix"} {
		minutes(mpi, func(t *testing.T) {
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

	// What is killed: Terraform with its provider, and the runner with all that it runs. Only Slurm is left.
	kill := func(t *testing.T, apply *acctest.Running) {
		t.Helper()
		apply.KillProvider()
		apply.Kill()
		apply.Wait()
		ask("pkill -9 ocihpc-runner; while pgrep ocihpc-runner >/dev/null; do sleep 0.1; done")
	}
	const medium = "max_size_bytes = 262144\n  iterations = 150" // long enough to be disturbed
	const together = "pattern = \"all\"\n  launcher = \"slurm\""
	const endless = "max_size_bytes = 262144\n  iterations = 1000000" // until it is ended
	settings := func(name, sweep string) string {
		return measured(l, sweep, together, `slurm = { mpi = "pmix" }`, fmt.Sprintf(`triggers = { name = %q }`, name))
	}
	once := func(t *testing.T, before string) {
		t.Helper()
		tf.Apply()
		if outcome := tf.State(benchmarkAddress).Values["outcome"]; outcome != "pass" {
			t.Errorf("outcome %v", outcome)
		}
		if now := submitted(); now != before {
			t.Errorf("%s batch jobs, and %s before the second apply:\n%s", now, before, ask("squeue --states=all"))
		}
		leftBySlurm(t, l, nodes)
	}

	minutes("killed while it waits", func(t *testing.T) {
		ask("scontrol update partitionname=gpu state=down")
		before := submitted()
		tf.Configure(settings("waits", quick))
		apply := tf.Start("apply", "-auto-approve", "-no-color", "-input=false")
		acctest.Eventually(t, "the batch job waits", func() bool { return submitted() != before })
		kill(t, apply)
		at := submitted()
		ask("scontrol update partitionname=gpu state=up")
		once(t, at)
	})
	t.Run("killed while it runs", func(t *testing.T) {
		tf.Configure(settings("runs", medium))
		apply := tf.Start("apply", "-auto-approve", "-no-color", "-input=false")
		acctest.Eventually(t, "the ranks run", func() bool { return ask("pgrep all_reduce || :") != "" })
		kill(t, apply)
		if ask("pgrep all_reduce || :") == "" {
			t.Fatal("the ranks ended with the runner")
		}
		once(t, submitted())
	})
	minutes("killed, and over since", func(t *testing.T) {
		tf.Configure(settings("over", medium))
		apply := tf.Start("apply", "-auto-approve", "-no-color", "-input=false")
		acctest.Eventually(t, "the ranks run", func() bool { return ask("pgrep all_reduce || :") != "" })
		kill(t, apply)
		acctest.Eventually(t, "the batch job is over", func() bool { return ask("squeue --noheader") == "" })
		once(t, submitted())
	})
	minutes("waits too long", func(t *testing.T) {
		ask("scontrol update partitionname=gpu state=down")
		tf.Configure(measured(l, quick, together, `slurm = { mpi = "pmix", queue_seconds = 2 }`))
		status, output := tf.Run("apply", "-auto-approve", "-no-color", "-input=false")
		ask("scontrol update partitionname=gpu state=up")
		if status == 0 {
			t.Fatalf("it was measured:\n%s", output)
		}
		expectText(t, output, "Unable to measure nodes", "waited in vain", "PartitionDown", "queue_seconds")
		if queue := ask("squeue --noheader"); queue != "" {
			t.Errorf("it still waits: %s", queue)
		}
	})
	minutes("rejected", func(t *testing.T) {
		tf.Configure(measured(l, quick, together, `slurm = { partition = "other" }`))
		status, output := tf.Run("apply", "-auto-approve", "-no-color", "-input=false")
		if status == 0 {
			t.Fatalf("it was measured:\n%s", output)
		}
		expectText(t, output, "Slurm did not take the batch job", "invalid partition specified: other")
	})
	minutes("cancelled by us", func(t *testing.T) {
		tf.Configure(settings("ours", endless))
		apply := tf.Start("apply", "-auto-approve", "-no-color", "-input=false")
		acctest.Eventually(t, "the ranks run", func() bool { return ask("pgrep all_reduce || :") != "" })
		ask("setpriv --reuid=opc --regid=opc --init-groups env HOME=/home/opc sh -c 'cd; runner=$(echo .ocihpc/bin/ocihpc-runner*); $runner cancel $(ls -td .ocihpc/jobs/* | head -n 1)'")
		if status, output := apply.Wait(); status == 0 {
			t.Fatalf("it was measured:\n%s", output)
		}
		if queue := ask("squeue --noheader"); queue != "" {
			t.Errorf("it goes on: %s", queue)
		}
		leftBySlurm(t, l, nodes)
	})
	minutes("cancelled by others", func(t *testing.T) {
		tf.Configure(settings("cancelled", endless))
		apply := tf.Start("apply", "-auto-approve", "-no-color", "-input=false")
		acctest.Eventually(t, "the ranks run", func() bool { return ask("pgrep all_reduce || :") != "" })
		ask("scancel --state=RUNNING --user=opc")
		status, output := apply.Wait()
		if status == 0 {
			t.Fatalf("it was measured:\n%s", output)
		}
		expectText(t, output, "was ended by Slurm or an administrator")
		leftBySlurm(t, l, nodes)
	})
	tf.Destroy()
}

// leftBySlurm expects that no file of a batch job is left on any node, and no process as soon as Slurm has cleaned up.
func leftBySlurm(t *testing.T, l *lab.Lab, nodes []string) {
	t.Helper()
	for _, host := range nodes {
		ask := func(line string) string {
			out, err := l.Exec(t.Context(), host, "sh", "-c", line)
			if err != nil {
				t.Errorf("%s: %v", host, err)
			}
			return strings.TrimSpace(string(out))
		}
		if got := ask(`find /home/opc/.ocihpc -name '*.out' -o -name '*.exit' -o -name '*.slurm.json'; cat /home/opc/.ocihpc/jobs/*/*.out 2>/dev/null | tail -n 4`); got != "" {
			t.Errorf("%s: %q", host, got)
		}
		acctest.Eventually(t, "the end of all ranks on "+host, func() bool { return ask("pgrep -a 'slurmstepd|mpirun|orted|all_reduce' || :") == "" })
	}
}
