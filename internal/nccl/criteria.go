// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Criteria is what the bus bandwidth of a run is judged by.
type Criteria struct {
	Expect job.Expectation
	// Catalog's limits stand in where Expect has none. They are applied to the sizes that were measured; a run
	// that reaches none of them is not judged.
	Catalog []job.AppliedLimit
	// NoCatalog says why there are none.
	NoCatalog string
	Baseline  *job.Baseline
	// Evidence is looked at for the cause of a low bandwidth.
	Evidence Evidence
}

// Judge says what the medians over all repeats are worth. The summary is one of [Summarise].
func (c Criteria) Judge(s job.Summary) Verdict {
	if f := unevenRepeats(s); f != nil {
		return Verdict{Outcome: job.CouldNotRun, Failure: f}
	}
	v := c.judgeLimits(s)
	if c.Baseline != nil {
		v.add(compare(s, *c.Baseline))
	}
	v.Failure = c.Evidence.explain(v.Failure, s)
	return v
}

func (c Criteria) judgeLimits(s job.Summary) Verdict {
	limits := userLimits(c.Expect, s.Sizes)
	if len(limits) == 0 {
		return c.judgeCatalog(s)
	}
	if s.Ranks == 1 {
		return Verdict{Outcome: job.CouldNotRun, Failure: &job.Failure{Kind: KindNoBandwidth,
			Message: fmt.Sprintf("one rank alone has no bus bandwidth, but %s", inWords(limits[0].Limit)),
			Advice:  "expect a bandwidth only of runs with two GPUs or more"}}
	}
	for _, limit := range limits {
		if limit.Sizes == 0 {
			return Verdict{Outcome: job.CouldNotRun, Failure: notReached(limit.Limit, s.Sizes)}
		}
	}
	return apply(s, limits)
}

func (c Criteria) judgeCatalog(s job.Summary) Verdict {
	const reported = "the bus bandwidth was reported, not judged: "
	if len(c.Catalog) == 0 {
		if c.NoCatalog == "" {
			return Verdict{Outcome: job.Pass}
		}
		return Verdict{Outcome: job.Pass, Remarks: []string{reported + c.NoCatalog}}
	}
	var reached []job.AppliedLimit
	for _, limit := range c.Catalog {
		if limit.Sizes = sizesOf(limit.Limit, s.Sizes); limit.Sizes > 0 {
			reached = append(reached, limit)
		}
	}
	if len(reached) == 0 {
		return Verdict{Outcome: job.Pass, Remarks: []string{fmt.Sprintf("%sthe limit is for %s, and the largest size measured was %s (%s)",
			reported, rangeOf(c.Catalog[0].Limit), FormatBytes(largestOf(s.Sizes)), c.Catalog[0].Origin)}}
	}
	return apply(s, reached)
}

// userLimits gives the limits of an expectation.
func userLimits(e job.Expectation, sizes []job.SizeSummary) []job.AppliedLimit {
	limits := e.Limits
	if e.MinBusbwGBPerS != nil {
		from := e.AtLeastBytes
		if from == 0 {
			from = largestOf(sizes)
		}
		limits = append([]job.Limit{{FromBytes: from, MinBusbwGBPerS: e.MinBusbwGBPerS}}, limits...)
	}
	applied := make([]job.AppliedLimit, 0, len(limits))
	for _, l := range limits {
		applied = append(applied, job.AppliedLimit{Limit: l, Origin: job.OriginUser, Sizes: sizesOf(l, sizes)})
	}
	return applied
}

// apply compares the medians with limits, each of which holds for some of the sizes.
func apply(s job.Summary, limits []job.AppliedLimit) Verdict {
	v := Verdict{Outcome: job.Pass}
	for _, limit := range limits {
		v.add(applyOne(s, limit))
	}
	return v
}

func applyOne(s job.Summary, limit job.AppliedLimit) Verdict {
	v := Verdict{Outcome: job.Pass, Limits: []job.AppliedLimit{limit}}
	for _, mark := range []struct {
		least   *float64
		outcome job.Outcome
		kind    string
		what    string
	}{
		{limit.MinBusbwGBPerS, job.Fail, KindTooSlow, "the expected"},
		{limit.WarnBusbwGBPerS, job.Warn, KindSlow, "the warning mark of"},
	} {
		if mark.least == nil || v.Outcome != job.Pass {
			continue
		}
		var slow []string
		judged := 0
		for _, h := range halvesOf(s.Sizes) {
			if !limit.Holds(h.size) {
				continue
			}
			judged++
			if !(h.Median >= *mark.least) {
				slow = append(slow, h.String())
			}
		}
		if len(slow) == 0 {
			continue
		}
		origin := ""
		if limit.Origin != job.OriginUser {
			origin = " (" + limit.Origin + ")"
		}
		v.Outcome = mark.outcome
		v.Failure = &job.Failure{Kind: mark.kind,
			Message: fmt.Sprintf("%s is below %s %.4g GB/s bus bandwidth%s in %d of %d values: %s",
				nameOf(s.Collective), mark.what, *mark.least, origin, len(slow), judged, listed(slow, 3)),
			Advice: "compare the runs of each node alone to find a slow node; if all are good, look at the network between them (NCCL_DEBUG=INFO shows NET/IB when RDMA is used, NET/Socket when it is not)"}
	}
	return v
}

func notReached(limit job.Limit, sizes []job.SizeSummary) *job.Failure {
	largest := largestOf(sizes)
	message := fmt.Sprintf("the expectation is about %s, which was not measured", rangeOf(limit))
	if limit.FromBytes > largest {
		message = fmt.Sprintf("the expectation is about %s, but the largest size measured was %s", rangeOf(limit), FormatBytes(largest))
	}
	return &job.Failure{Kind: KindSizeNotReached, Message: message,
		Advice: "measure those sizes (nccl-tests reduce the maximum to what fits into GPU memory), or expect a bandwidth of sizes that are measured"}
}

// rangeOf puts a limit's sizes into words.
func rangeOf(l job.Limit) string {
	if l.ToBytes == 0 {
		return FormatBytes(l.FromBytes) + " and more"
	}
	return fmt.Sprintf("%s to less than %s", FormatBytes(l.FromBytes), FormatBytes(l.ToBytes))
}

func inWords(l job.Limit) string {
	if l.MinBusbwGBPerS != nil {
		return fmt.Sprintf("at least %.4g GB/s are expected", *l.MinBusbwGBPerS)
	}
	return fmt.Sprintf("less than %.4g GB/s is to be warned of", *l.WarnBusbwGBPerS)
}

func sizesOf(l job.Limit, sizes []job.SizeSummary) int {
	n := 0
	for _, s := range sizes {
		if l.Holds(s.SizeBytes) {
			n++
		}
	}
	return n
}

func largestOf(sizes []job.SizeSummary) int64 {
	var largest int64
	for _, s := range sizes {
		largest = max(largest, s.SizeBytes)
	}
	return largest
}
