// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"math"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const log = "v2.19.6.all_reduce" // 8 B to 128 MiB; the largest 286.08 and 286.72, 16 MiB 212.63 and 220.57 GB/s
	two := Want{Ranks: 2, Hosts: 1}
	atLeast := func(busbw float64, bytes int64) job.Expectation {
		return job.Expectation{MinBusbwGBPerS: &busbw, AtLeastBytes: bytes}
	}
	none := job.Expectation{}
	replace := func(from, to string) func(string) string {
		return func(text string) string { return strings.Replace(text, from, to, 1) }
	}
	for _, test := range []struct {
		name    string
		log     string
		change  func(string) string
		expect  job.Expectation
		want    Want
		outcome job.Outcome
		kind    string
		message string
	}{
		{"nothing expected", log, nil, none, two, job.Pass, "", ""},
		{"fast enough", log, nil, atLeast(286, 0), two, job.Pass, "", ""},
		{"exactly", log, nil, atLeast(286.08, 0), two, job.Pass, "", ""},
		{"out of place too slow", log, nil, atLeast(286.1, 0), two, job.Fail, KindTooSlow,
			"all_reduce is below the expected 286.1 GB/s bus bandwidth in 1 of 2 values: 286.1 GB/s at 128 MiB out of place"},
		{"in place too slow", log, replace("468.12  286.72  286.72", "468.12  286.72  285.00"), atLeast(286, 0), two, job.CouldNotRun, KindInconsistent, ""},
		{"both too slow", log, nil, atLeast(300, 0), two, job.Fail, KindTooSlow, "in 2 of 2 values"},
		{"all sizes from 16 MiB on", log, nil, atLeast(212, 16<<20), two, job.Pass, "", ""},
		{"one of them too slow", log, nil, atLeast(215, 16<<20), two, job.Fail, KindTooSlow, "1 of 4 values: 212.6 GB/s at 16 MiB out of place"},
		{"from a size between two", log, nil, atLeast(286, 100<<20), two, job.Pass, "", ""},
		{"a size that was not reached", log, nil, atLeast(1, 1<<30), two, job.CouldNotRun, KindSizeNotReached, "about 1 GiB and more, but the largest size measured was 128 MiB"},
		{"memory too small for the size", "v2.19.6.oom", nil, atLeast(1, 64<<30), two, job.CouldNotRun, KindSizeNotReached, "48247057064 B"},
		{"every cycle counts", "v2.19.6.cycles", nil, atLeast(123.5, 4<<20), two, job.Fail, KindTooSlow, "1 of 4 values: 122.7 GB/s"},
		{"a limit that is no number", log, nil, atLeast(math.NaN(), 0), two, job.Fail, KindTooSlow, ""},

		{"fewer ranks than asked for", log, nil, none, Want{Ranks: 16, Hosts: 2}, job.CouldNotRun, KindWrongRanks, "2 ranks on 1 host; 16 ranks on 2 hosts were asked for"},
		{"more ranks than asked for", log, nil, none, Want{Ranks: 1, Hosts: 1}, job.CouldNotRun, KindWrongRanks, "2 ranks on 1 host; 1 rank on 1 host"},
		{"another number of hosts", log, nil, none, Want{Ranks: 2, Hosts: 2}, job.CouldNotRun, KindWrongRanks, "on 1 host"},
		{"two hosts", log, replace("vm device  1", "vn device  1"), none, Want{Ranks: 2, Hosts: 2}, job.Pass, "", ""},
		{"the same rank twice", log, replace("Rank  1", "Rank  0"), none, two, job.CouldNotRun, KindIndependentRuns, "rank 0 reported more than once"},
		{"independent runs", "mpirun4.independent", nil, none, two, job.CouldNotRun, KindIndependentRuns, "2 reports"},
		{"independent runs with tags", "mpirun4.independent_tagged", nil, none, two, job.CouldNotRun, KindIndependentRuns, "2 reports"},

		{"wrong values", "mpirun4.wrong", nil, atLeast(1e9, 0), Want{Ranks: 8, Hosts: 1}, job.Fail, KindWrongResults, "1 at 8 B"},
		{"wrong in the footer only", log, replace("values : 0 OK", "values : 4 FAILED"), none, two, job.Fail, KindWrongResults, "4 checks failed"},
		{"wrong in a small row only", log, replace("0.05       0    10.45", "0.05       2    10.45"), none, two, job.Fail, KindWrongResults, "2 at 512 B"},
		{"a footer that contradicts itself", log, replace("values : 0 OK", "values : 0 FAILED"), none, two, job.CouldNotRun, KindNotValidated, ""},
		{"no out-of-bounds line", log, replace("# Out of bounds values : 0 OK\n", ""), none, two, job.CouldNotRun, KindNotValidated, ""},
		{"checks off", "v2.19.6.nocheck", nil, none, two, job.CouldNotRun, KindNotValidated, "1 MiB were not checked"},
		{"in place never checked", "v2.19.6.alltoall", nil, atLeast(207, 0), two, job.Pass, "", ""},
		{"in place not checked, but should be", log, replace("286.72       0\n", "286.72    N/A\n"), none, two, job.CouldNotRun, KindNotValidated, "128 MiB"},

		{"no number in the judged row", log, replace("286.08  286.08", "286.08     nan"), atLeast(1, 0), two, job.CouldNotRun, KindNoBandwidth, "at 128 MiB out of place"},
		{"no number, nothing expected", log, replace("286.08  286.08", "286.08     nan"), none, two, job.CouldNotRun, KindNoBandwidth, ""},
		{"the average is no number", log, replace("66.2377", "nan"), none, two, job.CouldNotRun, KindNoBandwidth, ""},
		{"the judged row is lost", log, replace("   134217728", "   x34217728"), atLeast(100, 0), two, job.CouldNotRun, KindInconsistent, "rows were lost"},
		{"a small row is lost", log, replace("           8             2", "           8           two"), none, two, job.CouldNotRun, KindInconsistent, "the 8 rows"},
		{"a row without its values", log, replace("   469.17  286.08  286.08       0   468.12  286.72  286.72       0\n", "\n"), none, two, job.CouldNotRun, KindIncomplete, "128 MiB"},
		{"one rank has no bus bandwidth", "v2.19.6.one", nil, atLeast(100, 0), Want{Ranks: 1, Hosts: 1}, job.CouldNotRun, KindNoBandwidth, "one rank alone"},
		{"one rank, nothing expected", "v2.19.6.one", nil, none, Want{Ranks: 1, Hosts: 1}, job.Pass, "", ""},

		{"unknown option", "v2.19.6.badopt", nil, none, two, job.CouldNotRun, KindUnknownOption, ""},
		{"killed", "mpirun4.killed", nil, none, two, job.CouldNotRun, KindKilled, ""},
		{"the environment's own limit", "v2.19.6.minbw", nil, none, two, job.Fail, KindMinBandwidthMissed, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, statuses := logs(t)
			text := readLog(t, test.log)
			if test.change != nil {
				changed := test.change(text)
				if changed == text {
					t.Fatal("the change changes nothing")
				}
				text = changed
			}
			output := parse(t, text, statuses[test.log])
			v := Judge(output.Reports, output.Failure, Criteria{Expect: test.expect}, test.want)
			outcome, failure := v.Outcome, v.Failure
			if outcome != test.outcome {
				t.Errorf("outcome %s, want %s (%+v)", outcome, test.outcome, failure)
			}
			if test.kind == "" {
				if failure != nil {
					t.Errorf("failure %+v", failure)
				}
				return
			}
			if failure == nil || failure.Kind != test.kind || !strings.Contains(failure.Message, test.message) || failure.Advice == "" {
				t.Errorf("got %+v, want %s with %q", failure, test.kind, test.message)
			}
		})
	}
}

func TestJudgeWithoutReport(t *testing.T) {
	t.Parallel()
	if outcome, f := Right(nil, nil, Want{Ranks: 2, Hosts: 1}); outcome != job.CouldNotRun || f == nil || f.Kind != KindNoOutput {
		t.Errorf("%s %+v", outcome, f)
	}
	cut := []job.Report{{Rows: []job.Row{{SizeBytes: 8}}}}
	if outcome, f := Right(cut, nil, Want{Ranks: 2, Hosts: 1}); outcome != job.CouldNotRun || f == nil || f.Kind != KindIncomplete {
		t.Errorf("%s %+v", outcome, f)
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	b := job.Benchmark{Collective: "all_reduce", MinSizeBytes: 8, MaxSizeBytes: 1 << 30, StepFactor: 2, DataType: "float", RedOp: "sum", Iterations: 20, WarmupIterations: 5}
	got := strings.Join(Args(b, 8), " ")
	if want := "-b 8 -e 1073741824 -f 2 -g 8 -n 20 -w 5 -c 1 -d float -o sum"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, collective := range job.Collectives {
		if program, err := Program(collective); err != nil || program != collective+"_perf" || collectiveOf("/x/"+program+"_mpi") != collective {
			t.Errorf("%s: %s %v", collective, program, err)
		}
	}
	if _, err := Program("../sh"); err == nil || !strings.Contains(err.Error(), "all_reduce") {
		t.Errorf("unknown collective: %v", err)
	}
}

func TestFormatBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 8: "8 B", 1024: "1 KiB", 1025: "1025 B", 256 << 20: "256 MiB", 3 << 30: "3 GiB", 1536: "1536 B"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
