// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func TestRowsOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, to int64
		step     int
		want     int
	}{
		{8, 128 << 20, 2, 25}, {1, 1, 2, 1}, {1 << 10, 1 << 16, 4, 4}, {1000, 4095, 2, 3}, {1, math.MaxInt64, 3, 40},
	} {
		if got := rowsOf(job.Benchmark{MinSizeBytes: test.from, MaxSizeBytes: test.to, StepFactor: test.step}); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	busbw, wrong := 123.456, int64(3)
	row := job.Row{SizeBytes: 1 << 30, OutOfPlace: &job.Placement{BusbwGBPerS: &busbw, WrongResults: &wrong}, InPlace: &job.Placement{}}
	if got := describe(row); got != "1 GiB  out of place 123.46 GB/s (3 wrong)" {
		t.Errorf("%q", got)
	}
}

// Lines of several streams stay whole, whatever the pieces in which they come, and none is lost.
func TestLineMerger(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	merger := newLineMerger(&out)
	var writers sync.WaitGroup
	for _, letter := range []string{"a", "b", "c"} {
		stream := merger.stream()
		random := rand.New(rand.NewPCG(uint64(letter[0]), 1))
		writers.Go(func() {
			text := strings.Repeat(strings.Repeat(letter, 79)+"\n", 50) + letter + "end"
			for len(text) > 0 {
				n := min(len(text), 1+random.IntN(200))
				if _, err := stream.Write([]byte(text[:n])); err != nil {
					t.Error(err)
				}
				text = text[n:]
			}
		})
	}
	writers.Wait()
	merger.flush()
	if out.Len() != 3*(80*50+4) {
		t.Errorf("%d bytes", out.Len())
	}
	lines := strings.Split(out.String(), "\n")
	for _, line := range lines[:len(lines)-1] {
		if len(line) != 79 || strings.Trim(line, line[:1]) != "" {
			t.Errorf("torn: %q", line)
		}
	}
}

func TestLineMergerDoesNotHoldBackWithoutEnd(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	stream := newLineMerger(&out).stream()
	if _, err := stream.Write([]byte(strings.Repeat("x", maxLine+1))); err != nil || out.Len() != maxLine+1 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

func TestResultIsTheWorst(t *testing.T) {
	t.Parallel()
	failed := &job.Failure{Kind: "too_slow", Message: "slow"}
	warned := []job.Check{{Name: "uniform_driver", Outcome: job.Warn, Message: "differs"}, {Name: "firewall", Outcome: job.CannotTell}}
	for name, test := range map[string]struct {
		runs []job.Measurement
		stop *Stop
		want job.Outcome
		kind string
	}{
		"warning of a check": {nil, nil, job.Warn, "check_warned"},
		"slow run":           {[]job.Measurement{{Outcome: job.Pass}, {Outcome: job.Fail, Failure: failed}}, nil, job.Fail, "too_slow"},
		"ended early":        {[]job.Measurement{{Outcome: job.Fail, Failure: failed}}, &Stop{job.CouldNotRun, job.Failure{Kind: "cancelled"}}, job.CouldNotRun, "cancelled"},
	} {
		w := &work{nodes: []*nodeWork{{found: job.NodeResult{Checks: warned}}}, runs: test.runs}
		if got := w.result(test.stop); got.Outcome != test.want || got.Failure == nil || got.Failure.Kind != test.kind {
			t.Errorf("%s: %s, %+v", name, got.Outcome, got.Failure)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	w := &work{Config: Config{Job: job.Job{Shape: "BM.GPU4.8", Benchmark: &job.Benchmark{Environment: map[string]string{"NCCL_IB_TC": "1", "MINE": "2"}}}}}
	env := w.environment()
	if env["NCCL_IB_TC"] != "1" || env["MINE"] != "2" || len(env) < 5 {
		t.Errorf("%v", env)
	}
	w.Job.Shape = ""
	if env := w.environment(); len(env) != 4 || env["NCCL_DEBUG"] != "INFO" { // and NCCL_DEBUG_SUBSYS: the log tells of the transport
		t.Errorf("an unknown shape gives %v", env)
	}
}

func TestGPUsPerNode(t *testing.T) {
	t.Parallel()
	w := &work{Config: Config{Job: job.Job{Benchmark: &job.Benchmark{}}}}
	for _, gpus := range []int{8, 7, 8} {
		w.nodes = append(w.nodes, &nodeWork{found: job.NodeResult{Facts: &job.Facts{GPUs: slices.Repeat([]job.GPU{{}}, gpus)}}})
	}
	if got, err := w.gpusPerNode(); err != nil || got != 7 {
		t.Errorf("%d, %v", got, err)
	}
	w.Job.Benchmark.GPUsPerNode = 4
	if got, err := w.gpusPerNode(); err != nil || got != 4 {
		t.Errorf("%d, %v", got, err)
	}
}
