// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"errors"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/pattern"
)

// Where all groups reach their mark, those that are unsteady warn.
func TestVerdictOfUnsteadyGroups(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		worst   pattern.Verdict
		outcome job.Outcome
		kind    string
	}{{pattern.Good, job.Pass, ""}, {pattern.Unsteady, job.Warn, nccl.KindUnsteady}, {pattern.Slow, job.Fail, "suspects"}} {
		err := localise{}.verdict(pattern.Finding{Trials: []pattern.Trial{{}, {Verdict: test.worst}}, Conclusion: "what was found"})
		var said remark
		var stop *Stop
		switch {
		case errors.As(err, &said):
			if said.outcome != test.outcome {
				t.Errorf("%v: %+v", test.worst, said)
			}
		case !errors.As(err, &stop) || stop.Outcome != test.outcome || stop.Failure.Kind != test.kind || stop.Failure.Advice == "":
			t.Errorf("%v: %v", test.worst, err)
		}
	}
}

func TestFastestIteration(t *testing.T) {
	t.Parallel()
	mean, fastest, slowest, busbw := 40.0, 10.0, 90.0, 50.0
	half := &job.Placement{TimeUS: &mean, BusbwGBPerS: &busbw}
	m := job.Measurement{Report: &job.Report{Rows: []job.Row{{OutOfPlace: half}}}}
	if got := fastestOf(m); got != 0 {
		t.Errorf("without iterations: %v", got)
	}
	half.Iterations = &job.Iterations{MinUS: &fastest, MaxUS: &slowest, P99US: &slowest}
	if got := fastestOf(m); got != 200 {
		t.Errorf("got %v, want 4 times 50", got)
	}
	if got := fastestOf(job.Measurement{}); got != 0 {
		t.Errorf("without a report: %v", got)
	}
}
