// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Summarise puts together right and complete reports of repeats of one run. The caller fills in whose they are.
func Summarise(reports []*job.Report) job.Summary {
	s := job.Summary{Runs: len(reports), Sizes: []job.SizeSummary{}}
	// One size can be in a report more than once, as with cycles.
	type key struct {
		size       int64
		occurrence int
	}
	var order []key
	values := map[key]*[2][]float64{}
	for _, r := range reports {
		s.Collective, s.Ranks, s.Hosts = r.Collective, len(r.Ranks), len(r.Hosts())
		seen := map[int64]int{}
		for _, row := range r.Rows {
			k := key{row.SizeBytes, seen[row.SizeBytes]}
			seen[row.SizeBytes]++
			if values[k] == nil {
				values[k] = &[2][]float64{}
				order = append(order, k)
			}
			for i, p := range placements(row) {
				if p.busbw != nil {
					values[k][i] = append(values[k][i], *p.busbw)
				}
			}
		}
	}
	slices.SortStableFunc(order, func(a, b key) int { return cmp.Compare(a.size, b.size) })
	for _, k := range order {
		s.Sizes = append(s.Sizes, job.SizeSummary{SizeBytes: k.size, OutOfPlace: spread(values[k][0]), InPlace: spread(values[k][1])})
	}
	return s
}

func spread(values []float64) *job.Spread {
	if len(values) == 0 {
		return nil
	}
	return job.NewSpread(values)
}

// half is one placement of a size, over all repeats.
type half struct {
	size int64
	name string // for people
	word string // for programs
	*job.Spread
}

func halvesOf(sizes []job.SizeSummary) []half {
	var halves []half
	for _, s := range sizes {
		for _, h := range []half{{s.SizeBytes, "out of place", "out_of_place", s.OutOfPlace}, {s.SizeBytes, "in place", "in_place", s.InPlace}} {
			if h.Spread != nil {
				halves = append(halves, h)
			}
		}
	}
	return halves
}

func (h half) String() string {
	if len(h.Values) < 2 {
		return fmt.Sprintf("%.4g GB/s at %s %s", h.Median, FormatBytes(h.size), h.name)
	}
	return fmt.Sprintf("%.4g GB/s (median of %d, %.4g to %.4g) at %s %s", h.Median, len(h.Values), h.Least, h.Most, FormatBytes(h.size), h.name)
}

// unevenRepeats finds a size that not every repeat measured.
func unevenRepeats(s job.Summary) *job.Failure {
	for _, h := range halvesOf(s.Sizes) {
		if len(h.Values) != s.Runs {
			return &job.Failure{Kind: KindInconsistent,
				Message: fmt.Sprintf("only %d of %d repeats measured %s", len(h.Values), s.Runs, FormatBytes(h.size)),
				Advice:  "see whether something else took GPU memory during a repeat: nccl-tests reduce the largest size to what fits"}
		}
	}
	return nil
}
