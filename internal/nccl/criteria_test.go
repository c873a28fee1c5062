// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

const gib = int64(1) << 30

// repeats are reports with the in-place and out-of-place bandwidths of each size.
func repeats(ranks, hosts int, sizes []int64, runs ...[]float64) []*job.Report {
	var reports []*job.Report
	for _, busbw := range runs {
		r := &job.Report{Collective: "all_reduce", Complete: true}
		for rank := range ranks {
			r.Ranks = append(r.Ranks, job.Rank{Rank: rank, Host: fmt.Sprint("gpu-", rank%hosts)})
		}
		for i, size := range sizes {
			r.Rows = append(r.Rows, job.Row{SizeBytes: size, OutOfPlace: &job.Placement{BusbwGBPerS: &busbw[i]}, InPlace: &job.Placement{BusbwGBPerS: &busbw[i]}})
		}
		reports = append(reports, r)
	}
	return reports
}

func TestLimits(t *testing.T) {
	t.Parallel()
	sizes := []int64{1 << 20, gib, 8 * gib}
	run := repeats(16, 2, sizes, []float64{50, 430, 450})
	limit := func(from, to int64, least, warn float64) job.Limit {
		l := job.Limit{FromBytes: from, ToBytes: to}
		if least > 0 {
			l.MinBusbwGBPerS = &least
		}
		if warn > 0 {
			l.WarnBusbwGBPerS = &warn
		}
		return l
	}
	user := func(limits ...job.Limit) Criteria { return Criteria{Expect: job.Expectation{Limits: limits}} }
	catalog := func(from, to int64, least float64) Criteria {
		return Criteria{Catalog: []job.AppliedLimit{{Limit: limit(from, to, least, 0), Origin: "catalog: BM.GPU.H100.8 on 2 nodes, oci-hpc"}}}
	}
	alone := repeats(1, 1, sizes, []float64{0, 0, 0})
	for name, test := range map[string]struct {
		runs    []*job.Report
		by      Criteria
		outcome job.Outcome
		says    string // failure or remark
		limits  int
	}{
		"all good":                    {run, user(limit(1<<20, gib, 40, 45), limit(gib, 0, 420, 425)), job.Pass, "", 2},
		"end is exclusive":            {run, user(limit(gib, 8*gib, 420, 440)), job.Warn, "below the warning mark of 440 GB/s bus bandwidth in 2 of 2 values: 430 GB/s at 1 GiB", 1},
		"warning":                     {run, user(limit(gib, 0, 420, 440)), job.Warn, "in 2 of 4 values", 1},
		"warning alone":               {run, user(limit(gib, 0, 0, 440)), job.Warn, "440", 1},
		"failure before warning":      {run, user(limit(gib, 0, 440, 460)), job.Fail, "below the expected 440 GB/s", 1},
		"worst of several":            {run, user(limit(1<<20, gib, 0, 60), limit(gib, 0, 440, 0)), job.Fail, "below the expected 440", 2},
		"both of several":             {run, user(limit(1<<20, gib, 60, 0), limit(gib, 0, 440, 0)), job.Fail, "below the expected 60 GB/s bus bandwidth in 2 of 2 values: 50 GB/s at 1 MiB out of place, 50 GB/s at 1 MiB in place; all_reduce is below the expected 440", 2},
		"range between two sizes":     {run, user(limit(2<<20, 4<<20, 1, 0)), job.CouldNotRun, "about 2 MiB to less than 4 MiB, which was not measured", 0},
		"range above":                 {run, user(limit(16*gib, 0, 1, 0)), job.CouldNotRun, "the largest size measured was 8 GiB", 0},
		"one rank":                    {alone, user(limit(gib, 0, 0, 5)), job.CouldNotRun, "less than 5 GB/s is to be warned of", 0},
		"catalog, good":               {run, catalog(gib, 0, 430), job.Pass, "", 1},
		"catalog, slow":               {run, catalog(gib, 0, 440), job.Fail, "440 GB/s bus bandwidth (catalog: BM.GPU.H100.8 on 2 nodes, oci-hpc)", 1},
		"catalog, not reached":        {run, catalog(16*gib, 0, 440), job.Pass, "reported, not judged: the limit is for 16 GiB and more, and the largest size measured was 8 GiB", 0},
		"no limit in the catalog":     {run, Criteria{NoCatalog: "why"}, job.Pass, "reported, not judged: why", 0},
		"nobody has a limit":          {run, Criteria{}, job.Pass, "", 0},
		"the user's, not the catalog": {run, Criteria{Expect: job.Expectation{MinBusbwGBPerS: ptr(400.0)}, Catalog: catalog(gib, 0, 440).Catalog}, job.Pass, "", 1},
		"median passes":               {repeats(16, 2, sizes, []float64{50, 430, 450}, []float64{50, 300, 450}, []float64{50, 431, 450}), user(limit(gib, 0, 430, 0)), job.Pass, "", 1},
		"median fails": {repeats(16, 2, sizes, []float64{50, 300, 450}, []float64{50, 310, 450}, []float64{50, 431, 450}), user(limit(gib, 0, 430, 0)), job.Fail,
			"310 GB/s (median of 3, 300 to 431) at 1 GiB", 1},
		"a repeat that lacks a size": {append(repeats(16, 2, sizes, []float64{50, 430, 450}), repeats(16, 2, sizes[:2], []float64{50, 430})...), Criteria{}, job.CouldNotRun,
			"only 1 of 2 repeats measured 8 GiB", 0},
	} {
		v := test.by.Judge(Summarise(test.runs))
		said := strings.Join(v.Remarks, " ")
		if v.Failure != nil {
			said += v.Failure.Message
		}
		if v.Outcome != test.outcome || !strings.Contains(said, test.says) || test.says == "" && said != "" || len(v.Limits) != test.limits {
			t.Errorf("%s: %s %q, %d limits", name, v.Outcome, said, len(v.Limits))
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	s := job.NewSpread([]float64{10, 12, 11, 50})
	if s.Median != 11.5 || s.Least != 10 || s.Most != 50 || math.Abs(s.Deviation-1.4826) > 1e-9 || len(s.Values) != 4 {
		t.Errorf("%+v", s)
	}
	if one := job.NewSpread([]float64{7}); one.Median != 7 || one.Deviation != 0 {
		t.Errorf("%+v", one)
	}
}

// P-values are those of R's wilcox.test(now, before, alternative = "less", exact = TRUE), and by hand with ties.
func TestChanceOfLess(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		now, before []float64
		want        float64 // below 0: none
	}{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 1.0 / 20},
		{[]float64{1, 2, 4}, []float64{3, 5, 6}, 2.0 / 20},
		{[]float64{4, 5, 6}, []float64{1, 2, 3}, 1},
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 1.0 / 252},
		{[]float64{5, 5, 5}, []float64{5, 5, 5}, 1},
		{[]float64{1, 5, 5}, []float64{5, 5, 5}, 0.5},
		{[]float64{1, 2}, []float64{4, 5, 6}, -1}, // at best 1 in 10
		{[]float64{1}, []float64{2}, -1},
		{nil, []float64{2, 3, 4}, -1},
	} {
		got := ChanceOfLess(test.now, test.before)
		if test.want < 0 {
			if got != nil {
				t.Errorf("%v and %v: %g", test.now, test.before, *got)
			}
		} else if got == nil || math.Abs(*got-test.want) > 1e-12 {
			t.Errorf("%v and %v: %v, want %g", test.now, test.before, got, test.want)
		}
	}
}

func TestRegression(t *testing.T) {
	t.Parallel()
	sizes := []int64{8, gib}
	before := func(runs ...[]float64) job.Baseline {
		s := Summarise(repeats(16, 2, sizes, runs...))
		return job.Baseline{Collective: s.Collective, Ranks: s.Ranks, Hosts: s.Hosts, Sizes: s.Sizes, MaxRegressionPercent: ptr(5.0), WarnRegressionPercent: ptr(2.0)}
	}
	three := [][]float64{{0.02, 440}, {0.02, 441}, {0.02, 442}}
	byHand := job.Baseline{Sizes: []job.SizeSummary{{SizeBytes: gib, InPlace: &job.Spread{Median: 440}}}, MaxRegressionPercent: ptr(5.0)}
	for name, test := range map[string]struct {
		baseline job.Baseline
		now      [][]float64
		outcome  job.Outcome
		says     string
	}{
		"the same":               {before(three...), three, job.Pass, ""},
		"faster":                 {before(three...), [][]float64{{0.02, 450}, {0.02, 451}, {0.02, 452}}, job.Pass, ""},
		"slower, significant":    {before(three...), [][]float64{{0.02, 400}, {0.02, 401}, {0.02, 402}}, job.Fail, "9.07 % at 1 GiB out of place (401 instead of 441 GB/s, p = 0.05)"},
		"slower, may be chance":  {before([]float64{0.02, 440}, []float64{0.02, 441}, []float64{0.02, 380}), [][]float64{{0.02, 400}, {0.02, 401}, {0.02, 441}}, job.Warn, "p = 0.6"},
		"a little slower":        {before(three...), [][]float64{{0.02, 428}, {0.02, 429}, {0.02, 430}}, job.Warn, "2.72 %"},
		"too few to tell, fails": {before([]float64{0.02, 440}), [][]float64{{0.02, 400}}, job.Fail, "9.09 %"},
		"too few to tell, said":  {before([]float64{0.02, 440}), [][]float64{{0.02, 440}}, job.Pass, "only the percentage counts"},
		"written by hand":        {byHand, [][]float64{{0.02, 400}}, job.Fail, "in 1 of 1 values"},
		"small sizes, not asked": {before(three...), [][]float64{{0.01, 440}, {0.01, 441}, {0.01, 442}}, job.Pass, ""},
		"rounding alone": {func() job.Baseline { b := before(three...); b.AtLeastBytes = 8; return b }(),
			[][]float64{{0.01, 440}, {0.01, 441}, {0.01, 442}}, job.Pass, ""},
		"another collective": {func() job.Baseline { b := before(three...); b.Collective = "alltoall"; return b }(), three, job.CouldNotRun, "the baseline is of alltoall"},
		"another size":       {func() job.Baseline { b := before(three...); b.Ranks = 32; return b }(), three, job.CouldNotRun, "32 ranks"},
		"nothing in common": {func() job.Baseline {
			b := byHand
			b.Sizes = []job.SizeSummary{{SizeBytes: 4, InPlace: &job.Spread{Median: 1}}}
			return b
		}(), three, job.CouldNotRun, "no size"},
		"not reached": {func() job.Baseline { b := before(three...); b.AtLeastBytes = 2 * gib; return b }(), three, job.CouldNotRun, "2 GiB or more"},
	} {
		v := Criteria{Baseline: &test.baseline}.Judge(Summarise(repeats(16, 2, sizes, test.now...)))
		said := strings.Join(v.Remarks, " ")
		if v.Failure != nil {
			said += v.Failure.Message
		}
		if v.Outcome != test.outcome || !strings.Contains(said, test.says) || test.says == "" && said != "" {
			t.Errorf("%s: %s %q", name, v.Outcome, said)
		}
		if (v.Outcome == job.Pass) != (v.Failure == nil) {
			t.Errorf("%s: an outcome without its reason", name)
		}
		if test.outcome != job.CouldNotRun && !slices.ContainsFunc(v.Regressions, func(r job.Regression) bool { return r.SizeBytes == gib && r.Outcome != job.CannotTell }) {
			t.Errorf("%s: %+v", name, v.Regressions)
		}
	}
}

// A cause is named only where number and circumstance agree.
func TestKnownCauses(t *testing.T) {
	t.Parallel()
	a100 := Evidence{GPU: "NVIDIA A100-SXM4-40GB", Environment: map[string]string{"NCCL_IB_GID_INDEX": "3"}}
	tuned := Evidence{GPU: a100.GPU, Environment: map[string]string{"NCCL_IB_GID_INDEX": "3", "NCCL_IB_QPS_PER_CONNECTION": "4"}}
	with := func(e Evidence, log job.NCCLLog) Evidence { e.NCCL = &log; return e }
	h100 := Evidence{GPU: "NVIDIA H100 80GB HBM3"}
	ring := Evidence{GPU: a100.GPU, Environment: map[string]string{"NCCL_ALGO": "Ring", "NCCL_IB_GID_INDEX": "3", "NCCL_IB_QPS_PER_CONNECTION": "4"}}
	for name, test := range map[string]struct {
		evidence Evidence
		hosts    int
		busbw    float64
		says     string
	}{
		"A100 with NCCL's defaults":    {a100, 2, 72, "NCCL_IB_QPS_PER_CONNECTION=4"},
		"A100 that is set up":          {tuned, 2, 72, ""},
		"A100, another number":         {a100, 2, 160, ""},
		"one A100 node":                {a100, 1, 72, ""},
		"settings of a file":           {with(a100, job.NCCLLog{Settings: map[string]string{"NCCL_IB_QPS_PER_CONNECTION": "4"}}), 2, 72, ""},
		"another GID was really used":  {with(tuned, job.NCCLLog{GIDIndexes: []int{1}}), 2, 72, "NCCL_IB_GID_INDEX=3"},
		"sockets":                      {with(a100, job.NCCLLog{Network: "Socket"}), 2, 4, "TCP sockets"},
		"fast sockets":                 {with(tuned, job.NCCLLog{Network: "Socket"}), 2, 60, ""},
		"Ring":                         {ring, 2, 187, "NCCL_ALGO=Ring"},
		"NVLS off":                     {with(h100, job.NCCLLog{NVLSChannels: ptr(0)}), 1, 370, "NVLink SHARP"},
		"NVLS on":                      {with(h100, job.NCCLLog{NVLSChannels: ptr(16)}), 1, 370, ""},
		"shared memory":                {with(h100, job.NCCLLog{Channels: map[string]int{"SHM": 8}}), 1, 20, "not by NVLink"},
		"NVLink":                       {with(h100, job.NCCLLog{Channels: map[string]int{"P2P/CUMEM": 8}}), 1, 20, ""},
		"RDMA through host memory":     {with(h100, job.NCCLLog{Network: "IB", GPUDirectRDMA: ptr(false)}), 2, 90, "nvidia_peermem"},
		"RDMA of GPU memory":           {with(h100, job.NCCLLog{Network: "IB", GPUDirectRDMA: ptr(true)}), 2, 90, ""},
		"nothing known of the machine": {Evidence{}, 2, 72, ""},
	} {
		by := Criteria{Expect: job.Expectation{MinBusbwGBPerS: ptr(1000.0)}, Evidence: test.evidence}
		advice := by.Judge(Summarise(repeats(8*test.hosts, test.hosts, []int64{gib}, []float64{test.busbw}))).Failure.Advice
		if test.says == "" && strings.Contains(advice, "known cause") || !strings.Contains(advice, test.says) {
			t.Errorf("%s: %s", name, advice)
		}
		small := by.Judge(Summarise(repeats(8*test.hosts, test.hosts, []int64{1 << 20}, []float64{test.busbw}))).Failure.Advice
		if strings.Contains(small, "known cause") {
			t.Errorf("%s, small messages: %s", name, small)
		}
	}
}
