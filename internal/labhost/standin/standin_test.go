// SPDX-License-Identifier: MPL-2.0

package standin

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

const model = "NVIDIA A100-SXM4-40GB"

// built compiles the programs into a directory of the test and describes the GPUs beside them.
func built(t *testing.T, gpus []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := Build(t.Context(), dir); err != nil {
		if errors.Is(err, ErrNoCompiler) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gpus"), gpus, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a program with the GPUs of dir.
func run(t *testing.T, dir, name string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OCIHPC_LAB_GPUS="+filepath.Join(dir, "gpus"))
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

func mpirun(processes, program string, args ...string) []string {
	line := []string{"--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-np", processes, program}
	if os.Geteuid() == 0 {
		line = append([]string{"--allow-run-as-root"}, line...)
	}
	return append(line, args...)
}

func TestOneProcessStandsForSeveralGPUs(t *testing.T) {
	t.Parallel()
	dir := built(t, GPUFile(8, model, 40<<30))
	stdout, stderr, status := run(t, dir, "./all_reduce_perf", "-b", "8", "-e", "1M", "-f", "8", "-g", "8", "-n", "2", "-J", "out.json")
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, stderr %q", status, stderr)
	}
	if got := strings.Count(stdout, "lab "+model+" (host memory)\n"); got != 8 {
		t.Errorf("%d rank lines, want 8:\n%s", got, stdout)
	}
	if got := strings.Count(stdout, "     float     sum      -1  "); got != 6 {
		t.Errorf("%d rows, want 6 (8 B to 256 KiB by 8):\n%s", got, stdout)
	}
	if !strings.Contains(stdout, "# Out of bounds values : 0 OK\n") {
		t.Errorf("no clean footer:\n%s", stdout)
	}
	var report struct {
		Version int
		Config  struct{ Devices []struct{ Hostname string } }
		Results []struct {
			Size       int64
			OutOfPlace struct{ Nwrong *float64 } `json:"out_of_place"`
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if report.Version != 3 || len(report.Results) != 6 || len(report.Config.Devices) != 1 || report.Results[5].Size != 262144 {
		t.Errorf("JSON report: %+v", report)
	}
}

// What the product reads of the stand-in is what it reads of the real one.
func TestOutputPassesAsThatOfNCCLTests(t *testing.T) {
	t.Setenv("NCCL_DEBUG", "INFO")
	dir := built(t, GPUFile(8, model, 40<<30))
	args := nccl.Args(job.Benchmark{MinSizeBytes: 8, MaxSizeBytes: 1 << 20, StepFactor: 8, DataType: "float", RedOp: "sum", Iterations: 2, WarmupIterations: 1}, 1)
	for name, tags := range map[string][]string{"plain": nil, "tagged": {"--tag-output"}} {
		stdout, stderr, status := run(t, dir, "mpirun", append(tags, mpirun("8", "./all_reduce_perf", args...)...)...)
		output, err := nccl.Parse(strings.NewReader(stdout), &status)
		if err != nil {
			t.Fatal(err)
		}
		outcome, failure := nccl.Right(output.Reports, output.Failure, nccl.Want{Ranks: 8, Hosts: 1})
		if outcome != job.Pass {
			t.Errorf("%s: %s %+v\n%s%s", name, outcome, failure, stdout, stderr)
			continue
		}
		report := output.Reports[0]
		if len(report.Rows) != 6 || report.NCCLTestsVersion != "2.19.6" || report.Ranks[7].Name != "lab "+model+" (host memory)" || report.Ranks[7].Device != 7 {
			t.Errorf("%s: %+v", name, report)
		}
		if log := output.NCCL; log == nil || log.Version != "0.0.0+lab" || log.Network != "Socket" || log.Channels["SHM"] != 8 || !log.NoRDMADevice {
			t.Errorf("%s: NCCL's log: %+v", name, log)
		}
	}
}

func TestEveryTypeAndOperationIsRight(t *testing.T) {
	t.Parallel()
	dir := built(t, GPUFile(6, model, 40<<30))
	stdout, stderr, status := run(t, dir, "mpirun", mpirun("3", "./all_reduce_perf", "-b", "1000", "-e", "9000", "-i", "4000", "-g", "2", "-n", "1", "-c", "2", "-o", "all", "-d", "all")...)
	if status != 0 {
		t.Fatalf("status %d:\n%s%s", status, stdout, stderr)
	}
	if got, want := strings.Count(stdout, "      -1  "), 8*5*3; got != want {
		t.Errorf("%d rows, want %d:\n%s", got, want, stdout)
	}
	if !strings.Contains(stdout, "# Out of bounds values : 0 OK\n") {
		t.Errorf("no clean footer:\n%s", stdout)
	}
}

func TestAWrongValueIsNoticed(t *testing.T) {
	t.Parallel()
	dir := built(t, append(GPUFile(4, model, 40<<30), "faulty=3\n"...))
	stdout, _, status := run(t, dir, "mpirun", mpirun("2", "./all_reduce_perf", "-b", "1K", "-e", "4K", "-f", "2", "-g", "2", "-n", "1")...)
	if status != 7 {
		t.Errorf("status %d, want 7 as nccl-tests since 2.17.7", status)
	}
	if !strings.Contains(stdout, "# Out of bounds values : 6 FAILED\n") || !strings.Contains(stdout, ": Test failure ") {
		t.Errorf("want 3 rows x 2 placements wrong:\n%s", stdout)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	dir := built(t, GPUFile(2, model, 40<<30))
	for _, test := range []struct {
		name           string
		args           []string
		stdout, stderr string
		status         int
	}{
		{"unknown option", []string{"--frobnicate"}, "USAGE: all_reduce_perf", "unrecognized option", 0},
		{"bad size", []string{"-b", "x"}, "", "invalid size specified for 'minbytes'\n", 255},
		{"sizes the wrong way round", []string{"-b", "2M", "-e", "1M"}, "", "2097152 > 1048576", 255},
		{"more GPUs than there are", []string{"-g", "3"}, ": Test failure ", "Invalid number of GPUs: 3 requested but only 2 were found.", 5},
		{"type that it does not have", []string{"-d", "half"}, "", "lab: type half is not implemented", 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr, status := run(t, dir, "./all_reduce_perf", test.args...)
			if status != test.status || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("status %d\nstdout %s\nstderr %s", status, stdout, stderr)
			}
		})
	}
}

// The text and the JSON report of single iterations are of the form that nccl-tests 2.19.6 print on GPUs.
func TestSingleIterations(t *testing.T) {
	t.Parallel()
	dir := built(t, append(GPUFile(2, model, 40<<30), "throttle=20\n"...))
	args := []string{"-b", "1M", "-e", "4M", "-f", "4", "-n", "10", "-z", "3", "-I", "1", "-K", "1", "-J", "out.json"}
	stdout, stderr, status := run(t, dir, "mpirun", mpirun("2", "./all_reduce_perf", args...)...)
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	for _, want := range []string{"time excludes barrier \n", "; summary skips first 1 iterations \n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	recorded, err := os.ReadFile("../../nccl/testdata/v2.19.6.periter")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := table(stdout), table(string(recorded)); !slices.Equal(got[:3], want[:3]) || len(got) != len(want) || len(got[3]) != len(want[3]) {
		t.Errorf("got\n%s\nwant it as\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	text, err := os.ReadFile(filepath.Join(dir, "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, report := range map[string]string{"text": stdout, "JSON": string(text)} {
		output, err := nccl.Parse(strings.NewReader(report), &status)
		if err != nil || len(output.Reports) != 1 || output.Failure != nil {
			t.Fatalf("%s: %+v, %v", name, output, err)
		}
		for _, row := range output.Reports[0].Rows {
			it := row.InPlace.Iterations
			if it == nil || *it.MaxUS < 20000 || *it.MinUS > *row.InPlace.TimeUS || *it.P99US != *it.MaxUS || *it.CVPercent < 1 {
				t.Fatalf("%s: %+v", name, it)
			}
			if name == "JSON" && (*it.Skipped != 1 || len(it.TimesUS) != 10 || len(it.ProcessMaxTimesUS) != 2 || it.TimesUS[4] < 20000 || it.ProcessMaxTimesUS[1][9] < 20000) {
				t.Errorf("%+v", it)
			}
		}
	}
}

// table gives the column heads and the rows.
func table(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "out-of-place") || strings.HasPrefix(line, "#       size") || strings.HasPrefix(line, "#        (B)") || strings.HasPrefix(line, "  ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// Versions that do not know an option print their usage, and end well.
func TestEarlierVersions(t *testing.T) {
	t.Parallel()
	dir := built(t, nil)
	for _, test := range []struct {
		version, option string
		usage           bool
		json            string
	}{
		{"2.18.5", "-I", true, `"version":1,`}, {"2.19.1", "-I", true, `"version":1,`},
		{"2.19.2", "-I", false, `"version":2,`}, {"2.19.5", "-K", true, `"version":2,`}, {"2.19.6", "-K", false, `"version":3,`},
	} {
		if err := os.WriteFile(filepath.Join(dir, "gpus"), append(GPUFile(2, model, 40<<30), "nccl_tests="+test.version+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, status := run(t, dir, "./all_reduce_perf", "-b", "1K", "-e", "1K", "-g", "2", test.option, "1")
		if usage := strings.Contains(stdout, "USAGE: "); status != 0 || usage != test.usage || usage != strings.Contains(stderr, "invalid option -- '"+test.option[1:]) {
			t.Errorf("%s with %s: status %d, %s%s", test.version, test.option, status, stdout, stderr)
		}
		if help, _, _ := run(t, dir, "./all_reduce_perf", "-h"); strings.Contains(help, "["+test.option+",") == test.usage {
			t.Errorf("%s: %s", test.version, help)
		}
		stdout, _, status = run(t, dir, "./all_reduce_perf", "-b", "1K", "-e", "1K", "-g", "2", "-J", test.version+test.option+".json")
		text, _ := os.ReadFile(filepath.Join(dir, test.version+test.option+".json"))
		if status != 0 || !strings.Contains(stdout, "# nccl-tests version "+test.version+" ") || !strings.Contains(string(text), test.json) || !json.Valid(text) {
			t.Errorf("%s: status %d, %s%s", test.version, status, stdout, text)
		}
	}
}

func TestJSONReportIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	dir := built(t, GPUFile(2, model, 40<<30))
	if err := os.WriteFile(filepath.Join(dir, "out.json"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _, status := run(t, dir, "./all_reduce_perf", "-b", "8", "-e", "8", "-g", "2", "-J", "out.json")
	if status != 0 || !strings.HasPrefix(stdout, "# Writing JSON output to out.json.0\n") {
		t.Errorf("status %d, stdout %s", status, stdout)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "out.json")); string(text) != "mine" {
		t.Errorf("the existing file now holds %q", text)
	}
}

func TestNvidiaSMI(t *testing.T) {
	t.Parallel()
	dir := built(t, GPUFile(2, model, 40<<30))
	smi := func(args ...string) (string, int) {
		stdout, stderr, status := run(t, dir, "./nvidia-smi", args...)
		if stderr != "" {
			t.Errorf("nvidia-smi %v: %s", args, stderr)
		}
		return stdout, status
	}
	if table, status := smi(); status != 0 || strings.Count(table, "lab "+model) != 2 || !strings.Contains(table, "40960MiB") {
		t.Errorf("status %d:\n%s", status, table)
	}
	if list, _ := smi("-L"); !strings.HasPrefix(list, "GPU 0: lab "+model+" (UUID: GPU-") || strings.Count(list, "\n") != 2 {
		t.Errorf("-L: %s", list)
	}
	want := "index, memory.total [MiB], ecc.errors.uncorrected.volatile.total\n0, 40960 MiB, 0\n1, 40960 MiB, 0\n"
	if got, _ := smi("--query-gpu=index,memory.total,ecc.errors.uncorrected.volatile.total", "--format=csv"); got != want {
		t.Errorf("csv:\n%s", got)
	}
	if got, _ := smi("--query-gpu=name,memory.total", "--format=csv,noheader,nounits", "-i", "1"); got != "lab "+model+", 40960\n" {
		t.Errorf("csv,noheader,nounits: %q", got)
	}
	uuids, _ := smi("--query-gpu=uuid", "--format=csv,noheader")
	if lines := strings.Fields(uuids); len(lines) != 2 || lines[0] == lines[1] || len(lines[0]) != len("GPU-00000000-0000-0000-0000-000000000000") {
		t.Errorf("uuids: %q", uuids)
	}
	if got, status := smi("--query-gpu=index,bogus", "--format=csv"); status != 2 || !strings.Contains(got, `Field "bogus" is not a valid field to query.`) {
		t.Errorf("status %d: %q", status, got)
	}
	if got, _ := smi("nvlink", "-s", "-i", "1"); !strings.HasPrefix(got, "GPU 1: lab "+model+" (UUID: ") || strings.Count(got, ": 25 GB/s\n") != 12 {
		t.Errorf("nvlink: %s", got)
	}
	if got, status := smi("-q"); status != 2 || !strings.Contains(got, "Invalid combination") {
		t.Errorf("-q without -x: status %d: %q", status, got)
	}
	if got, status := smi("--query-gpu=index"); status != 2 || !strings.Contains(got, "--format") {
		t.Errorf("status %d: %q", status, got)
	}
	if err := os.Remove(filepath.Join(dir, "gpus")); err != nil {
		t.Fatal(err)
	}
	if got, status := smi(); status != 9 || !strings.Contains(got, "couldn't communicate with the NVIDIA driver") {
		t.Errorf("without GPUs: status %d: %q", status, got)
	}
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Build(t.Context(), t.TempDir())
	if !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "libopenmpi-dev") {
		t.Errorf("got %v", err)
	}
}
