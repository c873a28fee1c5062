// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// reaching is a run whose bus bandwidth depends on its settings.
func reaching(busbw func(settings map[string]string, run int) float64) (measureWith, *int) {
	runs := 0
	return func(_ context.Context, settings map[string]string) (job.Measurement, error) {
		value := busbw(settings, runs)
		runs++
		if value < 0 {
			return job.Measurement{Outcome: job.CouldNotRun, Failure: &job.Failure{Message: "it does not start"}}, nil
		}
		half := &job.Placement{BusbwGBPerS: &value}
		return job.Measurement{Outcome: job.Pass, Report: &job.Report{Rows: []job.Row{{SizeBytes: 8, OutOfPlace: half, InPlace: half}}}}, nil
	}, &runs
}

func TestSearchForSettings(t *testing.T) {
	t.Parallel()
	toTry := []nccl.Setting{{Name: "A", Values: []string{"1", "2"}}, {Name: "B", Values: []string{"1", "2"}}}
	noise := []float64{0, 0.4, -0.3, 0.2, -0.1}
	for name, c := range map[string]struct {
		busbw  func(settings map[string]string, run int) float64
		tuning job.Tuning
		want   map[string]string
		says   string
		runs   int
	}{
		"two that help together": {
			func(s map[string]string, run int) float64 {
				v := 100 + noise[run%5]
				if s["A"] == "2" {
					v += 10
				}
				if s["B"] == "1" {
					v += 5
				}
				return v
			}, job.Tuning{}, map[string]string{"A": "2", "B": "1"}, "A=2 B=1 gives 115", 15},
		"none helps": {
			func(s map[string]string, _ int) float64 { return 100 - float64(10*len(s)) }, job.Tuning{}, nil, "none of 4 other settings was better", 5},
		"a gain that is too small": {
			func(s map[string]string, _ int) float64 { return 100 + float64(len(s["A"])) }, job.Tuning{}, nil, "less than the 2 % asked for", 15},
		"a small gain that is asked for": {
			func(s map[string]string, run int) float64 { return 100 + float64(len(s["A"])) + noise[run%5] },
			job.Tuning{MinGainPercent: 0.5, Settings: nil}, map[string]string{"A": "1"}, "+1.0 %", 15},
		"chance": { // the search sees a peak that does not come again
			func(s map[string]string, run int) float64 {
				return map[bool]float64{true: 130, false: 100 + 4*noise[run%5]}[run == 1 && s["A"] == "1"]
			}, job.Tuning{MinGainPercent: 0.001}, nil, "", 15},
		"one that does not start": {
			func(s map[string]string, _ int) float64 {
				if s["A"] != "" {
					return -1
				}
				return 100
			}, job.Tuning{}, nil, "none of 4", 5},
		"at most two": {
			func(s map[string]string, _ int) float64 { return 100 - float64(len(s)) }, job.Tuning{MaxRuns: 2}, nil, "none of 1 other", 2},
		"a default without bandwidth": {
			func(s map[string]string, _ int) float64 { return float64(len(s)) }, job.Tuning{}, nil, "too slow to compare with", 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			measure, runs := reaching(c.busbw)
			s := newSettings(measure, func(job.Trial) {})
			if err := s.run(t.Context(), toTry, c.tuning); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(s.tuned.Environment, c.want) && len(s.tuned.Environment)+len(c.want) > 0 {
				t.Errorf("found %v, want %v: %s", s.tuned.Environment, c.want, s.tuned.Conclusion)
			}
			if !strings.Contains(s.tuned.Conclusion, c.says) || s.tuned.Conclusion == "" {
				t.Errorf("it says %q", s.tuned.Conclusion)
			}
			if *runs != c.runs {
				t.Errorf("%d runs, not %d", *runs, c.runs)
			}
		})
	}
}
