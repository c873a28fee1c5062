// SPDX-License-Identifier: MPL-2.0

package job

import (
	"math"
	"slices"
)

// Summary is what a run and its repeats over the same nodes came to.
type Summary struct {
	Scope   Scope    `json:"scope"`
	Nodes   []string `json:"nodes"` // names
	Outcome Outcome  `json:"outcome"`
	Failure *Failure `json:"failure,omitempty"`
	// Repeats is how many runs were asked for, Runs how many of them gave right and complete results.
	Repeats int `json:"repeats"`
	Runs    int `json:"runs"`

	Collective string        `json:"collective"`
	Ranks      int           `json:"ranks"`
	Hosts      int           `json:"hosts"`
	Sizes      []SizeSummary `json:"sizes"`
	// Limits are those that the medians were judged by.
	Limits []AppliedLimit `json:"limits,omitempty"`
	// Regressions compares the medians with the baseline, size by size.
	Regressions []Regression `json:"regressions,omitempty"`
	// Remarks say what the verdict does not rest on, and why.
	Remarks []string `json:"remarks,omitempty"`
}

// SizeSummary is one message size over all repeats.
type SizeSummary struct {
	SizeBytes  int64   `json:"size_bytes"`
	OutOfPlace *Spread `json:"out_of_place,omitempty"`
	InPlace    *Spread `json:"in_place,omitempty"`
}

// Spread is how a bus bandwidth is distributed over repeats, in 10^9 bytes per second.
type Spread struct {
	Median float64 `json:"median_busbw_gb_per_s"`
	Least  float64 `json:"least_busbw_gb_per_s"`
	Most   float64 `json:"most_busbw_gb_per_s"`
	// Deviation is 1.4826 times the median distance from the median: the standard deviation of a normal
	// distribution, which a few outliers do not move.
	Deviation float64 `json:"deviation_gb_per_s"`
	// Values of the runs, in their order. A baseline that was written by hand may have none.
	Values []float64 `json:"values_gb_per_s,omitempty"`
}

// Regression compares one size with the baseline.
type Regression struct {
	SizeBytes int64 `json:"size_bytes"`
	// Placement is out_of_place or in_place.
	Placement      string  `json:"placement"`
	BaselineGBPerS float64 `json:"baseline_busbw_gb_per_s"`
	BusbwGBPerS    float64 `json:"busbw_gb_per_s"`
	SlowerPercent  float64 `json:"slower_percent"` // negative when it is faster
	// PValue of the hypothesis that nothing became slower (Mann-Whitney, one-sided, exact); nil where the
	// repeats are too few to tell.
	PValue  *float64 `json:"p_value,omitempty"`
	Outcome Outcome  `json:"outcome"` // CannotTell for sizes that are not judged
}

// Peak gives the best median over sizes and placements, and its size; ok is false when there is none.
func (s *Summary) Peak() (gbPerS float64, sizeBytes int64, ok bool) {
	for _, size := range s.Sizes {
		for _, half := range []*Spread{size.OutOfPlace, size.InPlace} {
			if half != nil && (!ok || half.Median > gbPerS) {
				gbPerS, sizeBytes, ok = half.Median, size.SizeBytes, true
			}
		}
	}
	return gbPerS, sizeBytes, ok
}

// NewSpread gives the spread of values, of which there must be at least one.
func NewSpread(values []float64) *Spread {
	median := Median(values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - median)
	}
	return &Spread{
		Median: median, Least: slices.Min(values), Most: slices.Max(values),
		Deviation: 1.4826 * Median(distances), Values: slices.Clone(values),
	}
}

// Median of values; NaN when there are none.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
