// SPDX-License-Identifier: MPL-2.0

package job

import "fmt"

// MaxRepeats of a benchmark: more than a verdict needs, few enough to compare them exactly.
const MaxRepeats = 30

// verdict holds what a benchmark is judged by.
func (v *problems) verdict(b Benchmark) {
	v.tuning(b)
	v.expectation("expect", b.Expect)
	v.expectation("expect_per_node", b.ExpectPerNode)
	if b.Repeats < 0 || b.Repeats > MaxRepeats {
		v.add("benchmark.repeats is %d, not between 1 and %d", b.Repeats, MaxRepeats)
	}
	if b.Baseline != nil {
		v.baseline(*b.Baseline)
	}
	switch b.Transport {
	case TransportAuto, TransportRDMA, TransportAny:
	default:
		v.add("benchmark.transport %q is neither rdma nor any", b.Transport)
	}
}

func (v *problems) expectation(field string, e Expectation) {
	if e.AtLeastBytes < 0 || (e.MinBusbwGBPerS != nil && *e.MinBusbwGBPerS < 0) {
		v.add("benchmark.%s is negative", field)
	}
	for i, limit := range e.Limits {
		v.limit(fmt.Sprintf("benchmark.%s.limits[%d]", field, i), limit)
	}
}

func (v *problems) limit(field string, l Limit) {
	if l.FromBytes < 0 || l.ToBytes < 0 || l.ToBytes != 0 && l.ToBytes <= l.FromBytes {
		v.add("%s: %d to %d bytes is no range", field, l.FromBytes, l.ToBytes)
	}
	if l.MinBusbwGBPerS == nil && l.WarnBusbwGBPerS == nil {
		v.add("%s limits nothing: set min_busbw_gb_per_s, warn_busbw_gb_per_s, or both", field)
	}
	for _, value := range []*float64{l.MinBusbwGBPerS, l.WarnBusbwGBPerS} {
		if value != nil && *value < 0 {
			v.add("%s is negative", field)
		}
	}
	if l.MinBusbwGBPerS != nil && l.WarnBusbwGBPerS != nil && *l.WarnBusbwGBPerS < *l.MinBusbwGBPerS {
		v.add("%s: what is below %g fails, so that a warning below %g never comes", field, *l.MinBusbwGBPerS, *l.WarnBusbwGBPerS)
	}
}

func (v *problems) baseline(b Baseline) {
	if len(b.Sizes) == 0 {
		v.add("benchmark.baseline has no sizes")
	}
	for i, size := range b.Sizes {
		if size.SizeBytes < 0 || size.OutOfPlace == nil && size.InPlace == nil {
			v.add("benchmark.baseline.sizes[%d] has no bus bandwidth", i)
		}
		for _, spread := range []*Spread{size.OutOfPlace, size.InPlace} {
			if spread == nil {
				continue
			}
			if spread.Median < 0 {
				v.add("benchmark.baseline.sizes[%d] is negative", i)
			}
			if len(spread.Values) > MaxRepeats {
				v.add("benchmark.baseline.sizes[%d] has more than %d values", i, MaxRepeats)
			}
		}
	}
	for _, percent := range []*float64{b.MaxRegressionPercent, b.WarnRegressionPercent} {
		if percent != nil && (*percent < 0 || *percent > 100) {
			v.add("benchmark.baseline: a regression of %g percent is not between 0 and 100", *percent)
		}
	}
	if b.AtLeastBytes < 0 || b.Ranks < 0 || b.Hosts < 0 {
		v.add("benchmark.baseline is negative")
	}
}
