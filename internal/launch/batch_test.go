// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func someBatch(s job.Slurm) Batch {
	return Batch{
		Settings: s, Name: "ocihpc-0a-all_nodes.k1", Nodes: []string{"gpu-1", "gpu-2"}, RanksPerNode: 8,
		Program: "/opt/oci-hpc/nccl-test/build/all_reduce_perf", Args: []string{"-b", "8"}, Env: map[string]string{"NCCL_IB_HCA": "=mlx5_0,mlx5_1", "NOTE": "it's $HOME"},
		OpenMPIBin: "/usr/mpi/gcc/openmpi-4.1.7/bin", Networks: []string{"10.0.1.0/24"}, Dir: "/home/opc/.ocihpc/jobs/0a", Limit: 10 * time.Minute,
	}
}

func TestBatchScript(t *testing.T) {
	t.Parallel()
	head := `#!/bin/sh
# Written by ocihpc-runner.
#SBATCH --job-name=ocihpc-0a-all_nodes.k1
#SBATCH --output="/home/opc/.ocihpc/jobs/0a/ocihpc-0a-all_nodes.k1.out"
#SBATCH --open-mode=truncate
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --exclusive
#SBATCH --overcommit
#SBATCH --mem=0
`
	environment := `export NCCL_IB_HCA==mlx5_0,mlx5_1
export NOTE='it'"'"'s $HOME'
export LD_LIBRARY_PATH=/usr/mpi/gcc/openmpi-4.1.7/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SLURM_CPU_BIND=none
`
	tail := `
status=$?
echo $status >/home/opc/.ocihpc/jobs/0a/ocihpc-0a-all_nodes.k1.exit.new && mv /home/opc/.ocihpc/jobs/0a/ocihpc-0a-all_nodes.k1.exit.new /home/opc/.ocihpc/jobs/0a/ocihpc-0a-all_nodes.k1.exit
exit $status
`
	for name, test := range map[string]struct {
		settings job.Slurm
		options  string
		command  string
	}{
		"on the nodes": {
			job.Slurm{}, "#SBATCH --time=11\n#SBATCH --no-requeue\n#SBATCH --nodelist=gpu-1,gpu-2\n",
			"/usr/mpi/gcc/openmpi-4.1.7/bin/mpirun --bind-to none --map-by ppr:8:node:OVERSUBSCRIBE --mca btl_tcp_if_include 10.0.1.0/24 -np 16 -x NCCL_IB_HCA -x NOTE /opt/oci-hpc/nccl-test/build/all_reduce_perf -b 8",
		},
		"all settings, in a container": {
			job.Slurm{
				Partition: "gpu,spare", Account: "ops", QOS: "high", Constraint: "roce&rack1", Reservation: "acceptance", GRES: "gpu:8", TimeLimitSeconds: 3601,
				Image: "nvcr.io#nvidia/pytorch:24.01-py3", Mounts: []string{"/a:/b", "/c:/d:ro"}, Options: []string{"--comment=x", "--contiguous"},
			},
			"#SBATCH --time=61\n#SBATCH --no-requeue\n#SBATCH --nodelist=gpu-1,gpu-2\n#SBATCH --partition=\"gpu,spare\"\n#SBATCH --account=\"ops\"\n#SBATCH --qos=\"high\"\n" +
				"#SBATCH --constraint=\"roce&rack1\"\n#SBATCH --reservation=\"acceptance\"\n#SBATCH --gres=\"gpu:8\"\n#SBATCH --comment=x\n#SBATCH --contiguous\n",
			"srun --mpi=pmi2 --nodes=2 --ntasks-per-node=8 --ntasks=16 --label --kill-on-bad-exit=1 --overcommit '--container-image=nvcr.io#nvidia/pytorch:24.01-py3' " +
				"--container-mounts=/a:/b,/c:/d:ro --container-env=NCCL_IB_HCA,NOTE /opt/oci-hpc/nccl-test/build/all_reduce_perf -b 8",
		},
	} {
		got, err := someBatch(test.settings).Script()
		if want := head + test.options + environment + test.command + tail; err != nil || got != want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

func TestBatchOnChosenNodes(t *testing.T) {
	t.Parallel()
	b := someBatch(job.Slurm{Nodes: 4, MPI: job.SlurmPMIx})
	b.Nodes, b.Program, b.OpenMPIBin, b.Search = nil, "all_reduce_perf", "", []string{t.TempDir(), "/opt/nccl-tests/build"}
	got, err := b.Script()
	if err != nil || strings.Contains(got, "--nodelist") {
		t.Fatalf("%v\n%s", err, got)
	}
	for _, line := range []string{"#SBATCH --nodes=4\n", "for dir in " + strings.Join(b.Search, " ") + "; do", "--ntasks=32 ", " all_reduce_perf -b 8\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
	b.Settings.Image = "nccl:1"
	if got := b.Command(); !slices.Equal(got[len(got)-6:], []string{"sh", "-c", "for dir in " + strings.Join(b.Search, " ") + `; do [ ! -d "$dir" ] || PATH=$PATH:$dir; done; exec "$(command -v "$0_mpi" || echo "$0")" "$@"`, "all_reduce_perf", "-b", "8"}) {
		t.Errorf("in a container: %q", got)
	}
	for _, want := range []string{"all_reduce_perf", "all_reduce_perf_mpi"} { // the second is there in the second round
		program := filepath.Join(b.Search[0], want)
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho $0 $@\n"), 0o755); err != nil { // #nosec G306 -- a program
			t.Fatal(err)
		}
		argv := b.Command()
		argv = argv[slices.Index(argv, "sh"):]
		if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output(); err != nil || string(out) != program+" -b 8\n" {
			t.Errorf("%s, %v", out, err)
		}
	}
	b.Dir = "/home/a\"b"
	if _, err := b.Script(); err == nil {
		t.Error("a quote in the directory would end the option")
	}
}

// Answers of Slurm 22.05; the first is a real one.
func TestBatchState(t *testing.T) {
	t.Parallel()
	const shown = "JobId=7 JobName=ocihpc-0a-all_nodes.k1 UserId=opc(1000) GroupId=opc(1000) MCS_label=N/A Priority=1 Nice=0 Account=(null) QOS=(null) " +
		"JobState=%STATE% Reason=%REASON% Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=%CODE% RunTime=00:00:02 TimeLimit=00:11:00 " +
		"Partition=gpu NodeList=gpu-[1-2] BatchHost=gpu-1 NumNodes=2 Comment=JobState=COMPLETED ExitCode=0:0 \n"
	for _, test := range []struct {
		state, reason, code string
		waiting, over       bool
		status              int
		said                string
	}{
		{"PENDING", "Resources", "0:0", true, false, -1, "Resources"},
		{"RUNNING", "None", "0:0", false, false, -1, ""},
		{"COMPLETING", "None", "0:0", false, false, -1, ""},
		{"COMPLETED", "None", "0:0", false, true, 0, ""},
		{"FAILED", "NonZeroExitCode", "7:0", false, true, 7, "NonZeroExitCode"},
		{"CANCELLED", "None", "0:15", false, true, 143, ""},
		{"NODE_FAIL", "None", "1:0", false, true, 1, ""},
	} {
		text := strings.NewReplacer("%STATE%", test.state, "%REASON%", test.reason, "%CODE%", test.code).Replace(shown)
		s := parseShownJob(text)
		if s.state != test.state || s.waiting() != test.waiting || s.over() != test.over || s.status != test.status || s.reason != test.said || s.host != "gpu-1" || s.nodes != "gpu-[1-2]" {
			t.Errorf("%s: %+v", test.state, s)
		}
	}
	for text, want := range map[string]batchState{
		"CANCELLED by 1000|0:15|gpu-[1-2]|None\nCANCELLED|0:15|gpu-1|None\n": {state: "CANCELLED", reason: "by 1000", nodes: "gpu-[1-2]", status: 143},
		"TIMEOUT|0:0|gpu-1|None\n":             {state: "TIMEOUT", nodes: "gpu-1", status: 0},
		"PENDING|0:0|None assigned|Priority\n": {state: "PENDING", reason: "Priority", nodes: "None assigned", status: -1},
	} {
		if got, ok := parseAccounted(text); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	if _, ok := parseAccounted("Slurm accounting storage is disabled\n"); ok {
		t.Error("a message is taken for a state")
	}
}

func FuzzBatchState(f *testing.F) {
	f.Add("JobState=FAILED Reason=NonZeroExitCode ExitCode=7:0")
	f.Add("COMPLETED|0:0|gpu-1|None")
	f.Fuzz(func(t *testing.T, text string) {
		s := parseShownJob(text)
		if s.status >= 0 && !s.over() {
			t.Errorf("%q has a status before its end", text)
		}
		if a, ok := parseAccounted(text); ok && a.status >= 0 && !a.over() {
			t.Errorf("%q has a status before its end", text)
		}
	})
}
