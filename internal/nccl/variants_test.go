// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// What launchers and NCCL do to a log changes nothing in what it says.
func TestSameReportThroughEveryDisguise(t *testing.T) {
	t.Parallel()
	plain := readLog(t, "v2.19.6.all_reduce")
	want := encoded(t, parse(t, plain, ptr(0)))
	everyLine := func(prefix string) string {
		return regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(plain, strings.ReplaceAll(prefix, "$", "$$")+"${1}")
	}
	rows := regexp.MustCompile(`(?m)^( +[0-9]+ +[0-9]+ +float +sum +-1)(.{33})(.{33})$`)
	if got := len(rows.FindAllString(plain, -1)); got != 9 {
		t.Fatalf("%d rows match", got)
	}
	for name, text := range map[string]string{
		"mpirun --tag-output":               everyLine("[1,0]<stdout>:"),
		"mpirun --tag-output with times":    everyLine("Sat Nov 21 05:15:25 2026[1,0]<stdout>:"),
		"Open MPI 5":                        everyLine("[prterun-host-4711@1,0]<stdout>: "),
		"srun --label":                      everyLine("0: "),
		"kubectl logs --prefix":             everyLine("[pod/launcher-x2/nccl] "),
		"docker compose":                    everyLine("launcher-1  | "),
		"kubectl logs --timestamps":         everyLine("2026-11-21T05:15:25.123456789Z "),
		"carriage returns":                  strings.ReplaceAll(plain, "\n", "\r\n"),
		"pieces of a line tagged":           rows.ReplaceAllString(everyLine("[1,0]<stdout>:"), "$1"),
		"a message after each row's head":   rows.ReplaceAllString(plain, "${1}vm:9302:9310 [0] NCCL INFO Channel 00/24 : 0 1\n$2$3"),
		"messages between all parts":        rows.ReplaceAllString(plain, "${1}vm:9302:9310 [0] NCCL INFO a\nvm:9302:9310 [1] NCCL INFO b\n${2}vm:9302:9310 [1] NCCL INFO c\n$3"),
		"messages with a time":              rows.ReplaceAllString(plain, "$1[2026-11-21 05:15:25] vm:9302:9310 [0] misc/socket.cc:7 NCCL WARN x\n$2$3"),
		"messages of a host like a number":  strings.ReplaceAll(rows.ReplaceAllString(plain, "${1}10-0-0-1:9302:9310 [0] NCCL INFO a\n${2}10-0-0-1:9302:9310 [1] NCCL INFO c\n$3"), "vm device", "10-0-0-1 device"),
		"messages of another host":          rows.ReplaceAllString(plain, "${1}node-7:9302:9310 [0] NCCL INFO a\n$2$3"),
		"head, first and second half apart": rows.ReplaceAllString(plain, "$1\n$2\n$3"),
	} {
		if name == "pieces of a line tagged" {
			text = regexp.MustCompile(`(-1|  0)(  )`).ReplaceAllString(everyLine("[1,0]<stdout>:"), "$1[1,0]<stdout>:$2")
		}
		if text == plain {
			t.Fatalf("%s: the log was not changed", name)
		}
		output := parse(t, text, ptr(0))
		output.NCCL = nil // TestNCCLLog
		got := strings.ReplaceAll(encoded(t, output), "10-0-0-1", "vm")
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// Versions of which no real log is at hand, written after their source.
func TestOtherEras(t *testing.T) {
	t.Parallel()
	v2 := `# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 
#
# Using devices
#   Rank  0 Pid  29541 on     gpu-a device  0 [0x06] Tesla V100-SXM2-16GB
#   Rank  1 Pid  29541 on     gpu-a device  1 [0x07] Tesla V100-SXM2-16GB
#
#                                                     out-of-place                       in-place          
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
           8             2   float     sum    11.90    0.00    0.00  0e+00    11.75    0.00    0.00  1e-07
          16             4   float     sum    12.00    1.50    1.50  0e+00    12.10    1.49    1.49    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.7475 
#
`
	v1 := `nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 1048576(bytes) warmup iters: 5 iters: 20 validation: 1 
# NCCL Tests compiled with NCCL 2.0
# Using devices
#   Rank  0 on      gpu-a device  0 [0x06] Tesla P100-SXM2-16GB
#   Rank  1 on      gpu-a device  1 [0x07] Tesla P100-SXM2-16GB

#                                                 out-of-place                    in-place
#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res
           8             2   float     sum    0.055   0.25   0.25    0e+00    0.053   0.25   0.25    0e+00

 Out of bounds values : 0 OK
 Avg bus bandwidth    : 0.25 

`
	for _, test := range []struct {
		name, text string
		rows       int
		want       job.Row
	}{
		{"2.11", v2, 2, job.Row{SizeBytes: 16, Count: 4, Type: "float", RedOp: "sum",
			OutOfPlace: unchecked(placed(12.00, 1.50, 1.50, 0)), InPlace: unchecked(placed(12.10, 1.49, 1.49, 0))}},
		{"1.0", v1, 1, job.Row{SizeBytes: 8, Count: 2, Type: "float", RedOp: "sum",
			OutOfPlace: unchecked(placed(55, 0.25, 0.25, 0)), InPlace: unchecked(placed(53, 0.25, 0.25, 0))}},
	} {
		output := parse(t, test.text, ptr(0))
		if output.Failure != nil || len(output.Reports) != 1 {
			t.Fatalf("%s: %s", test.name, encoded(t, output))
		}
		r := output.Reports[0]
		if !r.Complete || len(r.Rows) != test.rows || len(r.Ranks) != 2 || r.Ranks[1].Host != "gpu-a" || r.OutOfBounds == nil {
			t.Errorf("%s: %s", test.name, encoded(t, r))
		}
		if got := encoded(t, r.Rows[test.rows-1]); got != encoded(t, test.want) {
			t.Errorf("%s: got %s", test.name, got)
		}
	}
}

func TestNotANumber(t *testing.T) {
	t.Parallel()
	text := readLog(t, "v2.19.6.hypercube")
	rows := regexp.MustCompile(`(?m)^ +[0-9].*\n`)
	for _, average := range []string{"nan", "-nan"} {
		// What hypercube prints with a number of ranks that is no power of two.
		r := parse(t, strings.Replace(rows.ReplaceAllString(text, ""), ": 55.2329", ": "+average, 1), ptr(0)).Reports[0]
		if !r.Complete || len(r.Rows) != 0 || r.AvgBusbwGBPerS != nil || r.OutOfBounds == nil {
			t.Errorf("%s: %s", average, encoded(t, r))
		}
	}
	for _, value := range []string{"nan", "-nan", "inf", "N/A"} {
		r := parse(t, strings.Replace(text, "180.35  180.35", "180.35  "+value, 1), ptr(0)).Reports[0]
		if last := r.Rows[3].OutOfPlace; last.BusbwGBPerS != nil || last.AlgbwGBPerS == nil || last.WrongResults == nil {
			t.Errorf("%s: %s", value, encoded(t, r.Rows[3]))
		}
	}
}

func TestSeveralReports(t *testing.T) {
	t.Parallel()
	text := readLog(t, "v2.16.8.all_reduce")
	lines := strings.SplitAfter(text, "\n")
	var interleaved strings.Builder
	for _, line := range lines {
		interleaved.WriteString(line + line)
	}
	for name, test := range map[string]struct{ text string }{
		"one after the other":            {text + text},
		"line by line":                   {interleaved.String()},
		"with tags":                      {readLog(t, "mpirun4.independent_tagged")},
		"without tags":                   {readLog(t, "mpirun4.independent")},
		"first one cut":                  {strings.Join(lines[:12], "") + text},
		"only the footer is there twice": {text + strings.Join(lines[len(lines)-6:], "")},
	} {
		if output := parse(t, test.text, ptr(0)); len(output.Reports) < 2 {
			t.Errorf("%s: %s", name, encoded(t, output))
		}
	}
}

// A run that hangs prints at most the beginning of a row.
func TestCutLog(t *testing.T) {
	t.Parallel()
	text := readLog(t, "v2.19.6.all_reduce")
	upTo := func(part string) string { return text[:strings.Index(text, part)] }
	for _, test := range []struct {
		name, text, kind, message string
		status                    *int
		rows                      int
	}{
		{"nothing", "", KindNoOutput, "printed nothing", nil, 0},
		{"white space", " \n\n", KindNoOutput, "printed nothing", ptr(0), 0},
		{"something else", "hello\n", KindNoOutput, "holds no nccl-tests report", ptr(1), 0},
		{"header", upTo("#  Rank"), KindIncomplete, "before any rank had started", nil, 0},
		{"ranks", upTo("           8 "), KindIncomplete, "before the first size; 2 ranks had started", nil, 0},
		{"rows", upTo("        4096 "), KindIncomplete, "after 3 sizes, the last of them 512 B", ptr(1), 3},
		{"row's head", upTo("   78.90"), KindIncomplete, "while measuring 16 MiB", nil, 8},
		{"row's head and no space", strings.TrimSpace(upTo("   78.90")), KindIncomplete, "while measuring 16 MiB", nil, 8},
		{"first half", upTo("    76.06"), KindIncomplete, "while measuring 16 MiB", nil, 8},
		{"before the average", upTo("# Avg"), KindIncomplete, "after 9 sizes", nil, 9},
		{"in the average", upTo("377 \n"), KindIncomplete, "after 9 sizes", nil, 9},
		{"after timeout(1)", upTo("        4096 "), KindTimeout, "exit status 124", ptr(124), 3},
		{"after SIGKILL", upTo("        4096 "), KindKilled, "SIGKILL", ptr(137), 3},
		{"after SIGSEGV", upTo("        4096 "), KindCrashed, "segmentation fault", ptr(139), 3},
		{"by whom nobody knows", upTo("        4096 "), KindKilled, "from outside", ptr(-1), 3},
	} {
		output := parse(t, test.text, test.status)
		if f := output.Failure; f == nil || f.Kind != test.kind || !strings.Contains(f.Message, test.message) {
			t.Errorf("%s: got %+v", test.name, f)
		}
		rows := 0
		for _, r := range output.Reports {
			rows += len(r.Rows)
			if r.Complete {
				t.Errorf("%s: called complete", test.name)
			}
		}
		if rows != test.rows {
			t.Errorf("%s: %d rows, want %d", test.name, rows, test.rows)
		}
	}
}

func TestFailureText(t *testing.T) {
	t.Parallel()
	header := readLog(t, "v2.19.6.all_reduce")
	header = header[:strings.Index(header, "           8 ")]
	for _, test := range []struct {
		text   string
		status int
		kind   string
		node   string
		part   string
	}{
		{header + "gpu-b: Test NCCL failure common.cu:958 'unhandled system error (run with NCCL_DEBUG=INFO for details) / '\n .. gpu-b pid 7: Test failure common.cu:1055\n",
			3, KindNCCLError, "gpu-b", "unhandled system error"},
		{header + "gpu-c: Test CUDA failure common.cu:1030 'uncorrectable ECC error encountered'\n", 2, KindCUDAError, "gpu-c", "uncorrectable ECC error"},
		{header + "           8             2     float     sum      -1vm: Test CUDA failure common.cu:1030 'unspecified launch failure'\n", 2, KindCUDAError, "vm", "on vm: unspecified launch failure"},
		{header + "gpu-d: Test timeout (30s) common.cu:77\n", 4, KindTimeout, "gpu-d", "30s"},
		{"./build/all_reduce_perf: error while loading shared libraries: libnccl.so.2: cannot open shared object file: No such file or directory\n", 127, KindLibraryMissing, "", "libnccl.so.2"},
		{"bash: line 1: /opt/nccl-tests/all_reduce_perf: No such file or directory\n", 127, KindTestsMissing, "", "not found"},
		{"Host key verification failed.\n", 255, KindMPIStartFailed, "", "Host key verification failed"},
		{"opc@10.0.0.2: Permission denied (publickey,gssapi-keyex).\n", 255, KindMPIStartFailed, "", "Permission denied"},
		{header, 2, KindCUDAError, "", "exit status 2"},
		{header, 3, KindNCCLError, "", "exit status 3"},
		{header, 4, KindTimeout, "", "exit status 4"},
		{header, 5, KindNotImplemented, "", "exit status 5"},
		{header, 6, KindInvalidUsage, "", "exit status 6"}, // version 2.19.6
		{strings.ReplaceAll(header, "2.19.6", "2.17.5"), 6, KindIncomplete, "", "2 ranks"},
		{header, 7, KindIncomplete, "", "2 ranks"},
	} {
		f := parse(t, test.text, &test.status).Failure
		if f == nil || f.Kind != test.kind || f.Node != test.node || !strings.Contains(f.Message, test.part) {
			t.Errorf("status %d of ...%q: got %+v, want %s", test.status, test.text[max(0, len(test.text)-80):], f, test.kind)
		}
	}
	// What a complete report shows comes before what a launcher may have warned of.
	complete := "Host key verification failed.\n" + readLog(t, "v2.19.6.all_reduce")
	if f := parse(t, complete, ptr(0)).Failure; f != nil {
		t.Errorf("complete report with a warning: %+v", f)
	}
	lost := complete + "ocihpc-runner rsh: 10.0.64.3: inst-858xl-training: connection lost: no sign of life for 32.708s\n"
	if f := parse(t, lost, ptr(0)).Failure; f != nil {
		t.Errorf("connection lost after a clean end: %+v", f)
	}
	if f := parse(t, lost, ptr(255)).Failure; f == nil || f.Kind != KindConnectionLost || f.Node != "inst-858xl-training" ||
		f.Message != "the connection to inst-858xl-training was lost: no sign of life for 32.708s" {
		t.Errorf("connection lost: %+v", f)
	}
	wrong := strings.Replace(lost, "values : 0 OK", "values : 4 FAILED", 1)
	if f := parse(t, wrong, ptr(255)).Failure; f == nil || f.Kind != KindWrongResults {
		t.Errorf("connection lost after wrong values: %+v", f)
	}
	for status, kind := range map[int]string{1: KindNonzeroExit, 7: KindNonzeroExit, 139: KindCrashed} {
		if f := parse(t, complete, &status).Failure; f == nil || f.Kind != kind {
			t.Errorf("complete report, status %d: %+v", status, f)
		}
	}
}

func TestJSONReportVariants(t *testing.T) {
	t.Parallel()
	text := readLog(t, "v2.19.6.report.json")
	plain := encoded(t, parse(t, text, ptr(0)))
	old := strings.NewReplacer(`average_bus_bandwidth":{"bandwidth"`, `average_bus_bandwidith":{"bandwidith"`, `"version":3`, `"version":1`, `"per_iter_skip":0,`, "").Replace(text)
	if got := encoded(t, parse(t, "\n "+old, ptr(0))); old == text || got != plain {
		t.Errorf("version 1, misspelt keys:\n got %s\nwant %s", got, plain)
	}
	cpu := strings.ReplaceAll(text, `"time":`, `"cpu_time":`)
	if got := encoded(t, parse(t, cpu, ptr(0))); got != plain {
		t.Errorf("cpu_time: %s", got)
	}
	statistics := func(skipped string) string {
		return `{` + skipped + `"min_us":14.5,"max_us":16.0,"avg_us":15.0,"p50_us":14.75,"p95_us":15.5,"p99_us":16.0,"stdev_us":0.5,"cv_pct":3.25,` +
			`"times_us":[14.5,16.0],"per_process_max_times_us":[[14.5,16.0],[14.25,15.0]]}`
	}
	for _, skipped := range []string{"", `"skipped_iterations":2,`} {
		iterations := strings.Replace(text, `,"actual_iterations":20`, `,"out_of_place_per_iter":`+statistics(skipped)+`,"in_place_per_iter":{"min_us":"nan","times_us":[1.0,"nan"],"per_process_max_times_us":7},"actual_iterations":20`, 1)
		row := parse(t, iterations, ptr(0)).Reports[0].Rows[0]
		want := &job.Iterations{MinUS: ptr(14.5), MaxUS: ptr(16.0), AvgUS: ptr(15.0), P50US: ptr(14.75), P95US: ptr(15.5), P99US: ptr(16.0), StdevUS: ptr(0.5), CVPercent: ptr(3.25),
			TimesUS: []float64{14.5, 16}, ProcessMaxTimesUS: [][]float64{{14.5, 16}, {14.25, 15}}}
		if skipped != "" {
			want.Skipped = ptr(int64(2))
		}
		if got := encoded(t, row.OutOfPlace.Iterations); got != encoded(t, want) {
			t.Errorf("iterations: %s", got)
		}
		if got := row.InPlace.Iterations; got == nil || !reflect.DeepEqual(*got, job.Iterations{}) {
			t.Errorf("iterations that are no numbers: %s", encoded(t, got))
		}
	}
	odd := strings.NewReplacer(`"nwrong":0.000000},"in_place":{"time":14.948950`, `"nwrong":null},"in_place":{"time":inf`, `"bus_bw":70.143789`, `"bus_bw":"nan"`).Replace(text)
	row := parse(t, odd, ptr(0)).Reports[0].Rows[0]
	if row.OutOfPlace.WrongResults != nil || row.OutOfPlace.BusbwGBPerS == nil || row.InPlace.TimeUS != nil || row.InPlace.BusbwGBPerS != nil || row.InPlace.WrongResults == nil {
		t.Errorf("null, inf and nan: %s", encoded(t, row))
	}
	null := strings.Replace(text, `"out_of_place":{"time":14.851800,"alg_bw":70.602621,"bus_bw":70.602621,"nwrong":0.000000}`, `"out_of_place":null`, 1)
	if row := parse(t, null, ptr(0)).Reports[0].Rows[0]; row.OutOfPlace != nil || row.InPlace == nil {
		t.Errorf("null placement: %s", encoded(t, row))
	}
	for part, kind := range map[string]string{`"nwrong":0.0`: KindWrongResults, `"okay":"unchecked"`: KindMinBandwidthMissed} {
		bad := strings.Replace(text, part, map[string]string{KindWrongResults: `"nwrong":3.0`, KindMinBandwidthMissed: `"okay":"false"`}[kind], 1)
		if f := parse(t, bad, nil).Failure; f == nil || f.Kind != kind {
			t.Errorf("%s: %+v", kind, f)
		}
	}
	// Unfinished, as versions before 2.18.5 leave it.
	cut := parse(t, text[:strings.Index(text, `,{"size":67108864`)], ptr(3))
	if r := cut.Reports[0]; len(r.Rows) != 2 || r.Complete || r.Collective != "all_reduce" || len(r.Ranks) != 1 || cut.Failure.Kind != KindNCCLError {
		t.Errorf("unfinished: %s", encoded(t, cut))
	}
}

func TestRankLines(t *testing.T) {
	t.Parallel()
	text := readLog(t, "v2.19.6.all_reduce")
	second := "#  Rank  1 Group  0 Pid   9302 on         vm device  1 [0000:00:07] NVIDIA H200"
	for line, want := range map[string][]job.Rank{
		"#  Rank  1 Group  0 Pid   9302 on gpu-2.sub.oraclevcn.com device  1 [0000:00:07] NVIDIA A100-SXM4-40GB  ": {{Rank: 0, Host: "vm", Name: "NVIDIA H200"}, {Rank: 1, Host: "gpu-2.sub.oraclevcn.com", Device: 1, Name: "NVIDIA A100-SXM4-40GB"}},
		"#  Rank  1 Group  0 Pid   9302 on         vm device  1 [0000:00:07] NVID...":                              {{Rank: 0, Host: "vm", Name: "NVIDIA H200"}, {Rank: 1, Host: "vm", Device: 1}},
		"#  Rank  1 Group  0 Pid   93...": {{Rank: 0, Host: "vm", Name: "NVIDIA H200"}},
	} {
		if got := parse(t, strings.Replace(text, second, line, 1), ptr(0)).Reports[0].Ranks; !slices.Equal(got, want) {
			t.Errorf("%s: got %+v", line, got)
		}
	}
}

func TestHugeLine(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 10*maxLine) + "\n" + readLog(t, "v2.19.6.all_reduce")
	if output := parse(t, text, ptr(0)); output.Failure != nil || len(output.Reports[0].Rows) != 9 {
		t.Errorf("%s", encoded(t, output))
	}
}
