// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// What follows are forms of output of which no log of a run is at hand: of earlier and later versions, with other options, and
// of AMD's fork. They are written after the sources of nccl-tests and rccl-tests.

// errorEra is a report of 2.0 to 2.11, whose columns depend on the collective.
func errorEra(columns, row string) string {
	return `# nThread 1 nGpus 2 minBytes 16 maxBytes 16 step: 1048576(bytes) warmup iters: 5 iters: 20 validation: 1 
#
# Using devices
#   Rank  0 Pid  29541 on      gpu-a device  0 [0x06] Tesla V100-SXM2-16GB
#   Rank  1 Pid  29541 on      gpu-a device  1 [0x07] Tesla V100-SXM2-16GB
#
#                                                     out-of-place                       in-place          
#       ` + columns + `     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
` + row + `    12.00    1.50    1.50  0e+00    12.10    1.49    1.49  1e-07
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 1.495 
#
`
}

// The columns of 2.0 to 2.11 are those that the header names; reduce has as many as all have from 2.13 on.
func TestColumnsOfTheErrorEra(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		columns, row string
		want         job.Row
	}{
		"all_gather, hypercube, sendrecv": {"size         count    type", "          16             2   float", job.Row{Type: "float"}},
		"all_reduce, reduce_scatter":      {"size         count    type   redop", "          16             2   float     sum", job.Row{Type: "float", RedOp: "sum"}},
		"alltoall":                        {"size         count    type   redop", "          16             2   float        ", job.Row{Type: "float"}},
		"broadcast":                       {"size         count    type    root", "          16             2   float       0", job.Row{Type: "float", Root: ptr(0)}},
		"reduce":                          {"size         count    type   redop    root", "          16             2   float     sum       1", job.Row{Type: "float", RedOp: "sum", Root: ptr(1)}},
		"2.10, wider types":               {"size         count      type   redop", "          16             2  bfloat16     sum", job.Row{Type: "bfloat16", RedOp: "sum"}},
	} {
		output := parse(t, errorEra(test.columns, test.row), ptr(0))
		if output.Failure != nil || len(output.Reports) != 1 || len(output.Reports[0].Rows) != 1 {
			t.Errorf("%s: %s", name, encoded(t, output))
			continue
		}
		want := test.want
		want.SizeBytes, want.Count = 16, 2
		want.OutOfPlace, want.InPlace = unchecked(placed(12, 1.5, 1.5, 0)), unchecked(placed(12.1, 1.49, 1.49, 0)) // error counts nothing
		if got := encoded(t, output.Reports[0].Rows[0]); got != encoded(t, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, encoded(t, want))
		}
		if outcome, f := Right(output.Reports, output.Failure, Want{Ranks: 2, Hosts: 1}); outcome != job.CouldNotRun || f.Kind != KindNotValidated {
			t.Errorf("%s: %s %+v", name, outcome, f)
		}
	}
}

// unified is the first row of a real report in another version's or option's form.
func unified(t *testing.T, replace ...string) job.Report {
	t.Helper()
	plain := readLog(t, "v2.19.6.all_reduce")
	text := strings.NewReplacer(replace...).Replace(plain)
	if text == plain {
		t.Fatalf("%q is not in the log", replace[0])
	}
	output := parse(t, text, ptr(0))
	if output.Failure != nil || len(output.Reports) != 1 || len(output.Reports[0].Rows) != 9 {
		t.Fatalf("%q: %s", replace, encoded(t, output))
	}
	return output.Reports[0]
}

func TestHeadersOfUnifiedVersions(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`# nccl-tests version.*\n`).FindString(readLog(t, "v2.19.6.all_reduce"))
	for name, test := range map[string]struct {
		replace             []string
		collective, version string
	}{
		"before 2.16.7, without names":       {[]string{version, "", "# Collective test starting: all_reduce_perf\n", "", "# Collective test concluded: all_reduce_perf\n", ""}, "", ""},
		"2.16.7 to 2.17.3, no version":       {[]string{version, ""}, "all_reduce", ""},
		"2.17.6, room for time stamps":       {[]string{"#wrong \n", "#wrong                      \n"}, "all_reduce", "2.19.6"},
		"before 2.17.7, labels":              {[]string{"# Avg bus bandwidth    :", "# Avg bus bandwidth :"}, "all_reduce", "2.19.6"},
		"a suffix of the build":              {[]string{"all_reduce_perf", "all_reduce_perf_mpi"}, "all_reduce", "2.19.6"},
		"with a path":                        {[]string{"starting: all_reduce_perf", "starting: /opt/nccl-tests/build/all_reduce_perf"}, "all_reduce", "2.19.6"},
		"processor time (-C 1)":              {[]string{"    time   algbw", " cputime   algbw"}, "all_reduce", "2.19.6"},
		"memory use (-M 1)":                  {[]string{"# Out of bounds", "# GPU memory usage: 1024 MiB\n# Out of bounds"}, "all_reduce", "2.19.6"},
		"blocking (-z 3)":                    {[]string{"#\n# Using devices", "# Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier \n#\n# Using devices"}, "all_reduce", "2.19.6"},
		"parallel init (-p 1)":               {[]string{"#\n# Using devices", "# Parallel Init Enabled: threads call into NcclInitRank concurrently \n#\n# Using devices"}, "all_reduce", "2.19.6"},
		"less memory than asked for":         {[]string{"#\n#      ", "#\n# Reducing maxBytes to 48247057064 due to memory limitation\n#\n#      "}, "all_reduce", "2.19.6"},
		"NCCL's error after the footer":      {[]string{"# Collective test concluded", "# error: remote process exited\n# Collective test concluded"}, "all_reduce", "2.19.6"},
		"options that NCCL is too old for":   {[]string{"# nccl-tests version", "Option -R (register) is not supported before NCCL 2.19. Ignoring\n# nccl-tests version"}, "all_reduce", "2.19.6"},
		"a type that it does not know":       {[]string{"# nccl-tests version", "invalid type x, defaulting to float instead\n# nccl-tests version"}, "all_reduce", "2.19.6"},
		"an operation that it does not know": {[]string{"# nccl-tests version", "invalid op x, defaulting to sum instead\n# nccl-tests version"}, "all_reduce", "2.19.6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := unified(t, test.replace...)
			if r.Collective != test.collective || r.NCCLTestsVersion != test.version || len(r.Ranks) != 2 {
				t.Errorf("%q %q, ranks %+v", r.Collective, r.NCCLTestsVersion, r.Ranks)
			}
		})
	}
}

func TestFormsOfRankLines(t *testing.T) {
	t.Parallel()
	const second = "#  Rank  1 Group  0 Pid   9302 on         vm device  1 [0000:00:07] NVIDIA H200"
	for name, line := range map[string]string{
		"2.0 to 2.13.3":             "#   Rank  1 Pid   9302 on         vm device  1 [0x07] NVIDIA H200",
		"2.13.4 to 2.14.0":          "#  Rank  1 Group  0 Pid   9302 on         vm device  1 [0x07] NVIDIA H200",
		"from 2.14.1 on":            second + " ",
		"AMD's fork":                "#   Rank  1 Pid   9302 on         vm device  1 [0000:26:00.0] NVIDIA H200",
		"another group of a split":  "#  Rank  1 Group  1 Pid   9302 on         vm device  1 [0000:00:07] NVIDIA H200",
		"none of groups (split -1)": "#  Rank  1 Group -1 Pid   9302 on         vm device  1 [0000:00:07] NVIDIA H200",
	} {
		if got := unified(t, second, line).Ranks; !slices.Equal(got, []job.Rank{{Rank: 0, Host: "vm", Name: "NVIDIA H200"}, {Rank: 1, Host: "vm", Device: 1, Name: "NVIDIA H200"}}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Values may be wider than their columns, of fewer digits, or counts in floating form.
func TestFormsOfValues(t *testing.T) {
	t.Parallel()
	const first = "    11.07    0.00    0.00       0"
	for text, want := range map[string]*job.Placement{
		"  1.2e+07    0.00    0.00       0":      placed(1.2e7, 0, 0, 0),
		"    1e+05   1e+06   1e+06       0":      placed(1e5, 1e6, 1e6, 0),
		" 12345678  1904.73  1034.50       0":    placed(12345678, 1904.73, 1034.5, 0),
		"    11.07    0.00    0.00   1e+06":      placed(11.07, 0, 0, 1e6),
		"    11.07    0.00    0.00    N/A":       unchecked(placed(11.07, 0, 0, 0)),
		"    11.07    0.00    0.00  1.67772e+07": placed(11.07, 0, 0, 16777200),
	} {
		text = "  " + strings.TrimLeft(text, " ")
		log := readLog(t, "v2.19.6.all_reduce")
		if !strings.Contains(log, first) {
			t.Fatal("the log has another first row")
		}
		row := parse(t, strings.Replace(log, first, text, 1), ptr(0)).Reports[0].Rows[0]
		if got := encoded(t, row.OutOfPlace); got != encoded(t, want) || row.InPlace == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// With -I and -S a row has 23 tokens.
func TestIterationsWithTimeStamps(t *testing.T) {
	t.Parallel()
	log := readLog(t, "v2.19.6.periter")
	rows := regexp.MustCompile(`(?m)^( +[0-9]+ +[0-9]+ +float .*)$`)
	stamped := rows.ReplaceAllString(strings.ReplaceAll(log, "i_cv% \n", "i_cv%           timestamp\n"), "$1  2026-11-21 05:15:25")
	got, want := parse(t, stamped, ptr(0)), parse(t, log, ptr(0))
	if len(strings.Fields(rows.FindString(stamped))) != 23 || encoded(t, got) != encoded(t, want) {
		t.Errorf("\n got %s\nwant %s", encoded(t, got), encoded(t, want))
	}
}

// A row of which only the in-place half is there is not taken for a measured one.
func TestInPlaceOnly(t *testing.T) {
	t.Parallel()
	const both = "    11.07    0.00    0.00       0"
	output := parse(t, strings.Replace(readLog(t, "v2.19.6.all_reduce"), both, strings.Repeat(" ", len(both)), 1), ptr(0))
	if outcome, f := Right(output.Reports, output.Failure, Want{Ranks: 2, Hosts: 1}); outcome != job.CouldNotRun || f.Kind != KindIncomplete {
		t.Errorf("%s %+v", outcome, f)
	}
}

// With NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=1 there are lines between the head of a row and its values, and between its halves.
func TestSummaryLinesOfAlltoallv(t *testing.T) {
	t.Parallel()
	log := readLog(t, "v2.19.6.alltoallv")
	for mode, head := range map[string]string{
		"generated": "# NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: mode=generated nranks=2 total_bytes=1048576 spread=0.500 time_usec=20.14\n",
		"matrix":    "# NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: mode=matrix nranks=2 matrix_dim=2 scale=1.000 time_usec=20.14\n",
	} {
		summary := head + "#   rank=0 send_bytes=524288 recv_bytes=524288 alg_bw=26.03 bus_bw=13.02\n#   rank=1 send_bytes=524288 recv_bytes=524288 alg_bw=26.03 bus_bw=13.02\n"
		rows := regexp.MustCompile(`(?m)^( +[0-9]+ +[0-9]+ +\w+ +\w+ +-1)( +\S+ +\S+ +\S+ +\S+)(.*)$`)
		text := rows.ReplaceAllString(log, "${1}"+summary+"${2}"+summary+"$3")
		if text == log {
			t.Fatal("no row matches")
		}
		if got, want := encoded(t, parse(t, text, ptr(0))), encoded(t, parse(t, log, ptr(0))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", mode, got, want)
		}
	}
}

// AMD's fork adds lines of its own, some without the sign of a comment.
func TestLinesOfRCCL(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`# nccl-tests version.*\n`).FindString(readLog(t, "v2.19.6.all_reduce"))
	for name, test := range map[string]struct {
		replace []string
		version string
	}{
		"header":              {[]string{version, "", "# Using devices", "rccl-tests: Version develop:5272cd1\n# Using devices"}, ""},
		"header, no git":      {[]string{version, "", "# Using devices", "rccl-tests: Version Unknown \n# Using devices"}, ""},
		"after 2.17.9":        {[]string{version, "# rccl-tests version 2.17.9-develop:f220897c9b rccl-headers=22803 rccl-library=22803\n"}, ""},
		"versions of ROCm":    {[]string{"#\n#      ", "RCCL version : 2.27.7-develop:29e1567\nHIP version  : 7.0.51831-a3e329ad8\nROCm version : 7.0.1.0-42-9428210\nHostname     : vm\n#\n#      "}, "2.19.6"},
		"cycles":              {[]string{"         512 ", "# Testing 2 cycle.\n         512 "}, "2.19.6"},
		"asterisks of errors": {[]string{"# Out of bounds", "# Errors with asterisks indicate errors that have exceeded the maximum threshold.\n# Out of bounds"}, "2.19.6"},
	} {
		if r := unified(t, test.replace...); !r.Complete || len(r.Ranks) != 2 || r.NCCLTestsVersion != test.version {
			t.Errorf("%s: %s", name, encoded(t, r))
		}
	}
}

// hypercube needs a power of two of ranks; else it measures nothing, and ends well.
func TestHypercubeThatSkips(t *testing.T) {
	t.Parallel()
	log := readLog(t, "v2.19.6.hypercube")
	rows := regexp.MustCompile(`(?m)^ +[0-9].*\n`)
	skipped := false
	text := rows.ReplaceAllStringFunc(log, func(string) string {
		if skipped {
			return ""
		}
		skipped = true
		return "nRanks 3 is not a power of 2, skipping\n"
	})
	output := parse(t, strings.Replace(text, ": 55.2329", ": -nan", 1), ptr(0))
	if outcome, f := Right(output.Reports, output.Failure, Want{Ranks: 2, Hosts: 1}); outcome != job.CouldNotRun || f.Kind != KindNoBandwidth || !strings.Contains(f.Advice, "power of two") {
		t.Errorf("%s %+v", outcome, f)
	}
}

// Wrong values are told by the report, whatever the version's exit status for them; the same statuses without them are not.
func TestExitStatusesOfWrongValues(t *testing.T) {
	t.Parallel()
	log := readLog(t, "v2.19.6.all_reduce")
	wrong := strings.NewReplacer("    11.07    0.00    0.00       0", "    11.07    0.00    0.00       2", ": 0 OK", ": 1 FAILED").Replace(log)
	for version, status := range map[string]int{"2.16.8": 1, "2.17.2": 1, "2.17.3": 6, "2.17.6": 6, "2.17.7": 7, "2.19.6": 7} {
		for _, relay := range []string{"", " .. vm pid 9302: Test failure common.cu:1055\n", " .. vm: Test failure common.cu:1055\n"} { // by version
			f := parse(t, strings.ReplaceAll(wrong, "2.19.6", version)+relay, &status).Failure
			if f == nil || f.Kind != KindWrongResults || !strings.Contains(f.Message, "2 at 8 B") {
				t.Errorf("%s, status %d, %q: %+v", version, status, relay, f)
			}
		}
	}
}

// What stops a run is told, with the host, in the words of each version.
func TestWordsOfFailures(t *testing.T) {
	t.Parallel()
	header := readLog(t, "v2.19.6.all_reduce")
	header = header[:strings.Index(header, "           8 ")]
	for _, test := range []struct {
		name, text string
		status     int
		kind, part string
	}{
		{"CUDA, 2.0 to 2.11", header + "gpu-a: Test CUDA failure common.cu:88 'out of memory'\n .. gpu-a: Test failure common.cu:99\n", 2, KindCUDAError, "on gpu-a: out of memory"},
		{"CUDA with pid", header + "gpu-a: Test CUDA failure common.cu:88 'out of memory'\n .. gpu-a pid 7: Test failure common.cu:99\n", 2, KindCUDAError, "on gpu-a: out of memory"},
		{"NCCL before 2.13", header + "gpu-a: Test NCCL failure common.cu:88 'internal error'\n", 3, KindNCCLError, "on gpu-a: internal error"},
		{"NCCL from 2.13 on", header + "gpu-a: Test NCCL failure common.cu:88 'remote process exited / socketProgress: Connection closed'\n", 3, KindNCCLError, "Connection closed"},
		{"NCCL with nothing more", header + "gpu-a: Test NCCL failure common.cu:88 'unhandled cuda error / '\n", 3, KindNCCLError, "unhandled cuda error"},
		{"-T", header + "gpu-a: Test timeout (60s) common.cu:77\n", 4, KindTimeout, "within 60s"},
		{"too few GPUs", "Invalid number of GPUs: 8 requested but only 4 were found.\nPlease check the number of processes and GPUs per process.\n", 5, KindTooFewGPUs, "8 GPUs were asked for, but only 4"},
		{"too few GPUs, before 2.17.2", header + "gpu-a: Test CUDA failure common.cu:88 'invalid device ordinal'\n", 2, KindTooFewGPUs, "gpu-a has fewer"},
		{"device implementation", "Device implementation 2 is not supported by this test\n", 5, KindNotImplemented, "status 5"},
		{"options that do not go together", header, 6, KindInvalidUsage, "do not go together"},
		{"size", "invalid size specified for 'minbytes'\n", 255, KindBadSize, "minbytes"},
		{"range", "invalid sizes for 'minbytes' and 'maxbytes': 2097152 > 1048576\n", 255, KindBadSize, "2097152 > 1048576"},
		{"-h", "USAGE: all_reduce_perf \n\t[-t,--nthreads <num threads>] \n\t[-h,--help]\n", 0, KindUnknownOption, "usage"},
		{"unknown option", "./all_reduce_perf: invalid option -- 'I'\ninvalid option '?'\nUSAGE: all_reduce_perf \n", 0, KindUnknownOption, "option -I"},
		{"unknown long option", "./all_reduce_perf: unrecognized option '--per_iter_timing'\nUSAGE: all_reduce_perf \n", 0, KindUnknownOption, "--per_iter_timing"},
		{"no ssh, Open MPI 5", "The value of the MCA parameter \"prte_plm_ssh_agent\" was set to a path\nthat could not be found:\n\n  plm_ssh_agent: ssh\n", 1, KindMPIStartFailed, "finds no ssh"},
		{"srun", "srun: error: Unable to create step for job 7: Invalid MPI plugin name\n", 1, KindMPIStartFailed, "MPI"},
	} {
		if f := parse(t, test.text, &test.status).Failure; f == nil || f.Kind != test.kind || !strings.Contains(f.Message, test.part) {
			t.Errorf("%s: got %+v, want %s with %q", test.name, f, test.kind, test.part)
		}
	}
}

// A file of the second version has single iterations, and none that were skipped; each process is listed by its first GPU, and
// the root is text.
func TestJSONOfTheSecondVersion(t *testing.T) {
	t.Parallel()
	const form = `{"version":2,"args":["./all_reduce_perf"],"config":{"per_iter_timing":"true","devices":[{"rank":0,"hostname":"a","device":0,"device_info":"NVIDIA H200"},` +
		`{"rank":8,"hostname":"b","device":0,"device_info":"NVIDIA H200"}]},"results":[{"size":8,"count":2,"type":"float","redop":"sum","root":"    -1",` +
		`"out_of_place":{"time":5.0,"alg_bw":1.0,"bus_bw":1.0,"nwrong":0.0},"out_of_place_per_iter":{"min_us":4.0,"max_us":9.0,"p99_us":9.0,"cv_pct":3.0,"times_us":[4.0,9.0]},` +
		`"in_place":{"time":%s,"alg_bw":1.0,"bus_bw":1.0,"nwrong":null},"actual_iterations":2,"experiment_name":""}],` +
		`"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":1.0,"okay":"unchecked"},"errors":[""],"end_time":"2026-11-21 05:15:25"}`
	r := parse(t, fmt.Sprintf(form, "inf"), ptr(0)).Reports[0]
	row := r.Rows[0]
	if it := row.OutOfPlace.Iterations; it == nil || *it.MinUS != 4 || it.Skipped != nil || len(it.TimesUS) != 2 || row.InPlace.TimeUS != nil || row.InPlace.WrongResults != nil {
		t.Errorf("%s", encoded(t, row))
	}
	if !r.Complete || *row.Root != -1 || len(r.Ranks) != 2 || r.Ranks[1].Rank != 8 || len(r.Hosts()) != 2 {
		t.Errorf("%s", encoded(t, r))
	}
}
