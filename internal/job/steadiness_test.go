// SPDX-License-Identifier: MPL-2.0

package job

import "testing"

func TestSteadiness(t *testing.T) {
	t.Parallel()
	timed := func(mean, fastest, slowest float64) *Placement {
		return &Placement{TimeUS: &mean, Iterations: &Iterations{MinUS: &fastest, MaxUS: &slowest, P99US: &slowest}}
	}
	mean := 10.0
	report := &Report{Rows: []Row{
		{SizeBytes: 8, OutOfPlace: timed(90, 1, 100), InPlace: timed(90, 1, 100)},
		{SizeBytes: 16, OutOfPlace: timed(30, 10, 50), InPlace: timed(22, 20, 40)},
	}}
	if got, want := report.Steadiness(), (Steadiness{SizeBytes: 16, FastestUS: 20, MeanUS: 22, P99US: 40, SlowestUS: 40}); got == nil || *got != want || got.Lost() < 0.099 || got.Lost() > 0.101 {
		t.Errorf("%+v", got)
	}
	if got := (Steadiness{FastestUS: 11, MeanUS: 10}).Lost(); got != 0 { // two clocks
		t.Errorf("lost %v", got)
	}
	for name, r := range map[string]*Report{
		"no rows":             {},
		"no iterations":       {Rows: []Row{{OutOfPlace: &Placement{TimeUS: &mean}}}},
		"iterations not read": {Rows: []Row{{InPlace: &Placement{TimeUS: &mean, Iterations: &Iterations{}}}}},
		"no time":             {Rows: []Row{{InPlace: timed(1, 0, 1)}}},
	} {
		if got := r.Steadiness(); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
