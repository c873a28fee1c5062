// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"
	"math"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// significance is the probability below which a loss is no longer taken for chance.
const significance = 0.05

// compare says how much slower the medians are than a baseline's, size by size.
func compare(s job.Summary, b job.Baseline) Verdict {
	if f := otherKind(s, b); f != nil {
		return Verdict{Outcome: job.CouldNotRun, Failure: f}
	}
	var both [][2]half // before, now
	now := halvesOf(s.Sizes)
	for _, before := range halvesOf(b.Sizes) {
		i := slices.IndexFunc(now, func(h half) bool { return h.size == before.size && h.word == before.word })
		if i >= 0 && before.Median > 0 {
			both = append(both, [2]half{before, now[i]})
		}
	}
	from := b.AtLeastBytes
	if from == 0 {
		for _, pair := range both {
			from = max(from, pair[0].size)
		}
	}
	v := Verdict{Outcome: job.Pass}
	var lost []string
	judged, blind := 0, false
	for _, pair := range both {
		r := regressionOf(pair[0], pair[1])
		if pair[0].size >= from {
			judged++
			blind = blind || r.PValue == nil
			r.Outcome = judgeLoss(b, r)
			if r.Outcome != job.Pass {
				lost = append(lost, describeLoss(r, pair[1].name))
			}
			v.Outcome = job.Worse(v.Outcome, r.Outcome)
		}
		v.Regressions = append(v.Regressions, r)
	}
	if judged == 0 {
		return Verdict{Outcome: job.CouldNotRun, Regressions: v.Regressions, Failure: &job.Failure{Kind: KindOtherBaseline,
			Message: fmt.Sprintf("the baseline and this run have no size of %s or more in common at which the baseline has a bus bandwidth", FormatBytes(from)),
			Advice:  "measure the sizes of the baseline"}}
	}
	if blind {
		v.Remarks = append(v.Remarks, "the repeats are too few to tell a regression from chance (3 are needed, here and in the baseline): only the percentage counts")
	}
	if v.Outcome != job.Pass {
		v.Failure = &job.Failure{Kind: KindRegression,
			Message: fmt.Sprintf("%s is slower than the baseline in %d of %d values: %s", nameOf(s.Collective), len(lost), judged, listed(lost, 3)),
			Advice:  "compare versions, settings and nodes with those of the baseline; measure again with more repeats to rule out chance"}
	}
	return v
}

// otherKind finds a baseline that says nothing about this run.
func otherKind(s job.Summary, b job.Baseline) *job.Failure {
	collective := b.Collective != "" && s.Collective != "" && b.Collective != s.Collective
	if !collective && (b.Ranks == 0 || b.Ranks == s.Ranks) && (b.Hosts == 0 || b.Hosts == s.Hosts) {
		return nil
	}
	return &job.Failure{Kind: KindOtherBaseline,
		Message: fmt.Sprintf("the baseline is of %s with %s on %s, but this run is of %s with %s on %s", nameOf(b.Collective), plural(b.Ranks, "rank"), plural(b.Hosts, "host"),
			nameOf(s.Collective), plural(s.Ranks, "rank"), plural(s.Hosts, "host")),
		Advice: "bus bandwidths of different collectives or cluster sizes cannot be compared: take a baseline of the same kind"}
}

func regressionOf(before, now half) job.Regression {
	return job.Regression{
		SizeBytes: now.size, Placement: now.word, BaselineGBPerS: before.Median, BusbwGBPerS: now.Median,
		SlowerPercent: 100 * (before.Median - now.Median) / before.Median,
		PValue:        ChanceOfLess(now.Values, before.Values), Outcome: job.CannotTell,
	}
}

// judge says what a loss is worth. Where significance can be told, what may be chance does not fail, but warns.
func judgeLoss(b job.Baseline, r job.Regression) job.Outcome {
	chance := r.PValue != nil && *r.PValue > significance
	switch {
	case exceeds(r, b.MaxRegressionPercent) && !chance:
		return job.Fail
	case exceeds(r, b.MaxRegressionPercent), exceeds(r, b.WarnRegressionPercent) && !chance:
		return job.Warn
	}
	return job.Pass
}

// exceeds says whether the loss is above a percentage even where the rounding of both values is in its favour:
// small sizes are printed with few digits.
func exceeds(r job.Regression, percent *float64) bool {
	if percent == nil {
		return false
	}
	least := (r.BaselineGBPerS - roundingOf(r.BaselineGBPerS)) * (1 - *percent/100)
	return r.BusbwGBPerS+roundingOf(r.BusbwGBPerS) < least
}

func describeLoss(r job.Regression, name string) string {
	text := fmt.Sprintf("%.3g %% at %s %s (%.4g instead of %.4g GB/s", r.SlowerPercent, FormatBytes(r.SizeBytes), name, r.BusbwGBPerS, r.BaselineGBPerS)
	if r.PValue != nil {
		text += fmt.Sprintf(", p = %.2g", *r.PValue)
	}
	return text + ")"
}

// ChanceOfLess gives the one-sided p-value of the exact Mann-Whitney test: how probable ranks as low as those
// of now are, or lower, if now and before come from the same distribution. It needs no assumption about that
// distribution. Nil when even the clearest outcome would not be significant.
func ChanceOfLess(now, before []float64) *float64 {
	n, total := len(now), len(now)+len(before)
	if n == 0 || len(before) == 0 || binomial(total, n)*significance < 1 {
		return nil
	}
	ranks := doubledRanks(slices.Concat(now, before))
	observed := 0
	for _, r := range ranks[:n] {
		observed += r
	}
	// ways[k][sum] counts the choices of k ranks with that sum.
	most := total * (total + 1)
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n; k > 0; k-- {
			for sum := most; sum >= r; sum-- {
				ways[k][sum] += ways[k-1][sum-r]
			}
		}
	}
	var as, all float64
	for sum, count := range ways[n] {
		all += count
		if sum <= observed {
			as += count
		}
	}
	p := as / all
	return &p
}

// doubledRanks gives twice the rank of each value, from 2; equal ones share the mean of theirs.
func doubledRanks(values []float64) []int {
	ranks := make([]int, len(values))
	for i, v := range values {
		less, equal := 0, 0
		for _, other := range values {
			if other < v {
				less++
			} else if other == v {
				equal++
			}
		}
		ranks[i] = 2*less + equal + 1
	}
	return ranks
}

func binomial(n, k int) float64 {
	result := 1.0
	for i := 1; i <= k; i++ {
		result *= float64(n-k+i) / float64(i)
	}
	return math.Round(result)
}
