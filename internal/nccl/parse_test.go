// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

var update = flag.Bool("update", false, "write testdata/*.golden.json anew")

// logs gives the outputs in testdata, with the exit status that each run had; nil where it is not known.
// v2.* are real ones of nccl-tests on H200 GPUs; mpirun4.* are Open MPI 4.1.4 with the lab's all_reduce_perf.
func logs(t testing.TB) (names []string, statuses map[string]*int) {
	t.Helper()
	text, err := os.ReadFile("testdata/EXIT_STATUS")
	if err != nil {
		t.Fatal(err)
	}
	statuses = map[string]*int{}
	for line := range strings.Lines(string(text)) {
		var name string
		status := new(int)
		if _, err := fmt.Sscanf(line, "%s rc=%d", &name, status); err != nil {
			t.Fatalf("EXIT_STATUS: %q: %v", line, err)
		}
		statuses[name] = status
	}
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, ".golden.json") {
			names = append(names, filepath.Base(file))
		}
	}
	if len(names) < 60 {
		t.Fatalf("only %d logs in testdata", len(names))
	}
	return names, statuses
}

func readLog(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(t testing.TB, text string, status *int) Output {
	t.Helper()
	output, err := Parse(strings.NewReader(text), status)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func parseLog(t testing.TB, name string) Output {
	t.Helper()
	_, statuses := logs(t)
	return parse(t, readLog(t, name), statuses[name])
}

func TestGolden(t *testing.T) {
	t.Parallel()
	names, statuses := logs(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.MarshalIndent(parse(t, readLog(t, name), statuses[name]), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden.json")
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if string(got)+"\n" != string(want) {
				t.Errorf("differs from %s; look at it with -update and git diff:\n%s", golden, got)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// placed is a placement with every value present.
func placed(time, algbw, busbw float64, wrong int64) *job.Placement {
	return &job.Placement{TimeUS: &time, AlgbwGBPerS: &algbw, BusbwGBPerS: &busbw, WrongResults: &wrong}
}

func unchecked(p *job.Placement) *job.Placement {
	p.WrongResults = nil
	return p
}

func iterated(p *job.Placement, least, most, p99, cv float64) *job.Placement {
	p.Iterations = &job.Iterations{MinUS: &least, MaxUS: &most, P99US: &p99, CVPercent: &cv}
	return p
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNumbersByHand repeats values that were copied from the logs by eye, so that goldens cannot just be wrong.
func TestNumbersByHand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		log        string
		collective string
		version    string
		rows       int
		row        int
		want       job.Row
		average    float64
	}{
		{"v2.16.8.all_reduce", "all_reduce", "", 9, 8, job.Row{SizeBytes: 134217728, Count: 33554432, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(469.7, 285.75, 285.75, 0), InPlace: placed(468.0, 286.77, 286.77, 0)}, 66.3881},
		{"v2.19.6.all_reduce", "all_reduce", "2.19.6", 9, 0, job.Row{SizeBytes: 8, Count: 2, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(11.07, 0, 0, 0), InPlace: placed(11.76, 0, 0, 0)}, 66.2377},
		{"v2.19.6.reduce", "reduce", "2.19.6", 4, 3, job.Row{SizeBytes: 33554432, Count: 8388608, Type: "float", RedOp: "sum", Root: ptr(0),
			OutOfPlace: placed(104.92, 319.82, 319.82, 0), InPlace: placed(105.15, 319.11, 319.11, 0)}, 98.2037},
		{"v2.16.8.broadcast", "broadcast", "", 4, 1, job.Row{SizeBytes: 32768, Count: 8192, Type: "float", RedOp: "none", Root: ptr(0),
			OutOfPlace: placed(10.54, 3.11, 3.11, 0), InPlace: placed(11.10, 2.95, 2.95, 0)}, 96.0275},
		{"v2.16.8.hypercube", "hypercube", "", 4, 2, job.Row{SizeBytes: 1048576, Count: 131072, Type: "float", RedOp: "", Root: ptr(-1),
			OutOfPlace: placed(20.14, 26.03, 26.03, 0), InPlace: placed(16.65, 31.48, 31.48, 0)}, 56.015},
		{"v2.19.6.alltoall", "alltoall", "2.19.6", 4, 3, job.Row{SizeBytes: 33554432, Count: 4194304, Type: "float", RedOp: "none", Root: ptr(-1),
			OutOfPlace: placed(80.82, 415.16, 207.58, 0), InPlace: unchecked(placed(79.79, 420.53, 210.27, 0))}, 62.324},
		{"v2.16.8.nocheck", "all_reduce", "", 3, 2, job.Row{SizeBytes: 16777216, Count: 4194304, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: unchecked(placed(77.62, 216.15, 216.15, 0)), InPlace: unchecked(placed(74.61, 224.88, 224.88, 0))}, 137.657},
		{"v2.19.6.periter", "all_reduce", "2.19.6", 2, 1, job.Row{SizeBytes: 4194304, Count: 1048576, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: iterated(placed(37.19, 112.77, 112.77, 0), 35.26, 50.18, 50.18, 8.43), InPlace: iterated(placed(36.96, 113.48, 113.48, 0), 35.20, 44.96, 44.96, 5.33)}, 86.565},
		{"v2.19.6.stamps", "all_reduce", "2.19.6", 2, 0, job.Row{SizeBytes: 1048576, Count: 262144, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(13.99, 74.96, 74.96, 0), InPlace: placed(13.67, 76.71, 76.71, 0)}, 100.066},
		{"v2.16.8.one", "all_reduce", "", 3, 2, job.Row{SizeBytes: 67108864, Count: 16777216, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(35.23, 1904.73, 0, 0), InPlace: placed(0.22, 301274.36, 0, 0)}, 0},
		{"v2.19.6.one", "all_reduce", "2.19.6", 3, 1, job.Row{SizeBytes: 8388608, Count: 2097152, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(7.18, 1169.0, 0, 0), InPlace: placed(0.47, 17666, 0, 0)}, 0},
		{"v2.16.8.oom", "all_reduce", "", 1, 0, job.Row{SizeBytes: 48247057064, Count: 12061764266, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(137861, 349.97, 349.97, 0), InPlace: placed(138084, 349.40, 349.40, 0)}, 349.686},
		{"v2.19.6.types", "all_reduce", "2.19.6", 12, 10, job.Row{SizeBytes: 1048576, Count: 1048576, Type: "f8e4m3", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(16.19, 64.77, 64.77, 0), InPlace: placed(16.15, 64.92, 64.92, 0)}, 71.9999},
		{"v2.16.8.ops", "all_reduce", "", 12, 11, job.Row{SizeBytes: 4194304, Count: 2097152, Type: "half", RedOp: "mulsum", Root: ptr(-1),
			OutOfPlace: placed(33.71, 124.44, 124.44, 0), InPlace: placed(33.59, 124.88, 124.88, 0)}, 92.7236},
		{"v2.19.6.info", "all_reduce", "2.19.6", 3, 0, job.Row{SizeBytes: 1048576, Count: 262144, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(15.09, 69.48, 69.48, 0), InPlace: placed(14.78, 70.97, 70.97, 0)}, 170.128},
		{"v2.19.6.cycles", "all_reduce", "2.19.6", 4, 3, job.Row{SizeBytes: 4194304, Count: 1048576, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(34.18, 122.72, 122.72, 0), InPlace: placed(33.50, 125.21, 125.21, 0)}, 98.4583},
		{"v2.19.6.report.json", "all_reduce", "", 3, 2, job.Row{SizeBytes: 67108864, Count: 16777216, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: placed(248.37595, 270.190669, 270.190669, 0), InPlace: placed(248.64865, 269.894343, 269.894343, 0)}, 170.322528},
	} {
		t.Run(test.log, func(t *testing.T) {
			t.Parallel()
			output := parseLog(t, test.log)
			if output.Failure != nil || len(output.Reports) != 1 {
				t.Fatalf("%d reports, failure %+v", len(output.Reports), output.Failure)
			}
			r := output.Reports[0]
			if r.Collective != test.collective || r.NCCLTestsVersion != test.version || !r.Complete || len(r.Rows) != test.rows {
				t.Fatalf("%s %q, complete %t, %d rows", r.Collective, r.NCCLTestsVersion, r.Complete, len(r.Rows))
			}
			if got, want := encoded(t, r.Rows[test.row]), encoded(t, test.want); got != want {
				t.Errorf("row %d\n got %s\nwant %s", test.row, got, want)
			}
			if r.AvgBusbwGBPerS == nil || *r.AvgBusbwGBPerS != test.average || r.OutOfBounds == nil || *r.OutOfBounds != 0 {
				t.Errorf("average %v, out of bounds %v", r.AvgBusbwGBPerS, r.OutOfBounds)
			}
			wantRanks := []job.Rank{{Rank: 0, Host: "vm", Device: 0, Name: "NVIDIA H200"}, {Rank: 1, Host: "vm", Device: 1, Name: "NVIDIA H200"}}
			if strings.HasSuffix(test.log, ".one") || strings.HasSuffix(test.log, ".json") { // -J lists the first GPU of a process
				wantRanks = wantRanks[:1]
			}
			if !slices.Equal(r.Ranks, wantRanks) {
				t.Errorf("ranks %+v", r.Ranks)
			}
		})
	}
}

func TestFailuresOfTheLogs(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"v2.16.8.badopt": KindUnknownOption, "v2.19.6.badopt": KindUnknownOption, "v2.16.8.json_log": KindUnknownOption,
		"v2.16.8.periter": KindUnknownOption, "v2.16.8.stamps": KindUnknownOption,
		"v2.16.8.badsize": KindBadSize, "v2.19.6.badsize": KindBadSize,
		"v2.16.8.toomany": KindTooFewGPUs, "v2.19.6.toomany": KindTooFewGPUs,
		"v2.16.8.minbw": KindMinBandwidthMissed, "v2.19.6.minbw": KindMinBandwidthMissed,
		"mpirun4.slots": KindMPIStartFailed, "mpirun4.root": KindMPIStartFailed, "mpirun4.unreachable": KindMPIStartFailed,
		"mpirun4.no_ssh":  KindMPIStartFailed,
		"mpirun4.missing": KindTestsMissing, "mpirun4.killed": KindKilled, "mpirun4.crashed": KindCrashed,
		"mpirun4.hung": KindTimeout, "mpirun4.wrong": KindWrongResults, "mpirun4.few": KindTooFewGPUs,
	}
	names, _ := logs(t)
	for _, name := range names {
		failure := parseLog(t, name).Failure
		if kind, failed := want[name]; !failed {
			if failure != nil {
				t.Errorf("%s: unexpected failure %+v", name, failure)
			}
		} else if failure == nil || failure.Kind != kind || failure.Message == "" || failure.Advice == "" {
			t.Errorf("%s: got %+v, want %s", name, failure, kind)
		}
	}
	for name, part := range map[string]string{
		"v2.16.8.json_log":    "option -J",
		"v2.19.6.badopt":      "option --frobnicate",
		"v2.19.6.toomany":     "16 GPUs were asked for, but only 2 were found",
		"mpirun4.wrong":       "all_reduce gave wrong values: 1 at 8 B, 1 at 64 B, 1 at 512 B and 3 more",
		"mpirun4.unreachable": "192.0.2.1",
		"mpirun4.no_ssh":      "finds no ssh",
	} {
		if message := parseLog(t, name).Failure.Message; !strings.Contains(message, part) {
			t.Errorf("%s: %q lacks %q", name, message, part)
		}
	}
}

// The JSON report holds the whole environment of the process.
func TestEnvironmentIsNeverKept(t *testing.T) {
	t.Parallel()
	const name = "v2.19.6.report.json"
	if !strings.Contains(readLog(t, name), "SECRET_TOKEN=do-not-leak") {
		t.Fatal("the log holds no secret: this test tests nothing")
	}
	if text := encoded(t, parseLog(t, name)); strings.Contains(text, "do-not-leak") {
		t.Errorf("secret kept: %s", text)
	}
}

func TestRowsAreReportedAsTheyCome(t *testing.T) {
	t.Parallel()
	var sizes []int64
	p := NewParser(func(row job.Row) { sizes = append(sizes, row.SizeBytes) })
	text := readLog(t, "v2.19.6.all_reduce")
	for i := range len(text) { // one byte at a time
		if n, err := p.Write([]byte{text[i]}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if seen := strings.Count(text[:i+1], "       0\n"); len(sizes) != seen {
			t.Fatalf("at byte %d: %d rows reported, %d are there", i, len(sizes), seen)
		}
	}
	if got, want := encoded(t, p.Finish(ptr(0))), encoded(t, parse(t, text, ptr(0))); got != want || len(sizes) != 9 {
		t.Errorf("differs from Parse: %s", got)
	}
}
