// SPDX-License-Identifier: MPL-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// names of the suspects with their confidence.
func names(suspects []job.Suspect) []string {
	var all []string
	for _, s := range suspects {
		all = append(all, s.Name()+" "+string(s.Confidence))
	}
	slices.Sort(all)
	return all
}

func groupsOf(result job.Result) int {
	n := 0
	for _, m := range result.Runs {
		if m.Scope == job.ScopeGroup {
			n++
		}
	}
	return n
}

// A rank that stands still among others is named, the run ends at its limit, and nothing is left of any of the runs.
//
// It is not parallel to others: a busy machine would make good runs too late, too.
func TestAutoFindsAHangingRank(t *testing.T) { //nolint:paralleltest // see above
	c := newCluster(t, 4)
	c.job.Benchmark.GPUsPerNode = 1
	c.job.Benchmark.TimeoutSeconds = 7
	c.job.Nodes[2].ID = "ocid1.instance.oc1..c"
	c.spoil(3, "hang=1")
	result, status := c.run()
	if status != 1 || result.Outcome != job.Fail || !slices.Equal(names(result.Suspects), []string{"node gpu-3 certain"}) {
		t.Fatalf("status %d, %s, %v: %s", status, result.Outcome, names(result.Suspects), result.Conclusion)
	}
	all := result.Overall()
	for _, want := range []string{"time limit", "NCCL's start or the first of 4 sizes", "rank 2 on gpu-3 stands still"} {
		if all.Failure.Kind != nccl.KindTimeout || !strings.Contains(all.Failure.Message, want) {
			t.Errorf("%q is not in %+v", want, all.Failure)
		}
	}
	if n := groupsOf(result); n != 3 || !slices.Equal(result.ReplaceNodes, []string{"ocid1.instance.oc1..c"}) {
		t.Errorf("%d runs of groups, to replace: %v", n, result.ReplaceNodes)
	}
	c.checkSearch(result)
	c.nothingLeft()
}

// A node that cannot run alone does not keep the others from being measured together.
func TestAutoWithANodeThatCannotStart(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5)
	c.spoil(2, "no_start=1")
	c.spoil(4, "faulty=1")
	result, status := c.run()
	if want := []string{"gpu 1 of gpu-4 certain", "node gpu-2 certain"}; status != 1 || !slices.Equal(names(result.Suspects), want) {
		t.Fatalf("status %d, %v: %s, %+v", status, names(result.Suspects), result.Conclusion, result.Failure)
	}
	if n := groupsOf(result); n != 1 || result.Overall() != nil {
		t.Errorf("%d runs of groups", n)
	}
	c.nothingLeft()
}

func TestFixedPatterns(t *testing.T) {
	t.Parallel()
	for pattern, test := range map[job.Pattern]struct {
		runs int
		want []string
	}{
		job.PatternPerNode:    {3, nil},
		job.PatternAll:        {1, nil},
		job.PatternPairs:      {2, []string{"node gpu-2 possible", "node gpu-1 possible"}},
		job.PatternTwoPass:    {3, []string{"node gpu-2 likely"}},
		job.PatternRoundRobin: {3, []string{"node gpu-2 likely"}},
		job.PatternRails:      {3, []string{"rail 1 likely"}},
	} {
		t.Run(string(pattern), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 3)
			c.job.Benchmark.Pattern = pattern
			c.spoil(2, "faulty=1")
			result, status := c.run()
			slices.Sort(test.want)
			if status != 1 || result.Outcome != job.Fail || len(result.Runs) != test.runs || !slices.Equal(names(result.Suspects), test.want) {
				t.Fatalf("status %d, %s, %d runs, %v: %+v", status, result.Outcome, len(result.Runs), names(result.Suspects), result.Failure)
			}
			c.nothingLeft()
		})
	}
}

// Of a node that is slow in some iterations alone, the evidence says so, where nccl-tests on all nodes can time them; no program
// gets an option that it does not know.
func TestEvidenceOfSingleIterations(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]job.Symptom{"2.19.6": job.SymptomUnsteady, "2.19.1": job.SymptomSlow} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 3)
			b := c.job.Benchmark
			b.Pattern, b.GPUsPerNode, b.Iterations, b.MinSizeBytes, b.MaxSizeBytes = job.PatternTwoPass, 1, 5, 4<<20, 4<<20
			b.Expect.MinBusbwGBPerS = new(0.03) // in 140 ms; throttled it takes 300 at least
			c.spoil(2, "nccl_tests="+version)
			c.spoil(3, "throttle=1500")
			result, status := c.run()
			if status != 1 || result.Outcome != job.Fail || !slices.Equal(names(result.Suspects), []string{"node gpu-3 likely"}) {
				t.Fatalf("status %d, %s, %v: %s", status, result.Outcome, names(result.Suspects), result.Conclusion)
			}
			for _, m := range result.Runs {
				timed := m.Report != nil && m.Report.Steadiness() != nil
				if timed != (want == job.SymptomUnsteady) || timed != strings.HasSuffix(strings.Join(m.Command, " "), " -I 1") {
					t.Errorf("%s %v: %s, %+v", m.Purpose, m.Command, m.Outcome, m.Failure)
				}
			}
			if s := result.Suspects[0]; s.Symptom != want || strings.Contains(s.Evidence[0], "not in all iterations: the fastest reaches") != (want == job.SymptomUnsteady) {
				t.Errorf("%+v", s)
			}
			c.checkSchema()
			c.nothingLeft()
		})
	}
}

// checkSearch looks at what the search told while it went on.
func (c *cluster) checkSearch(result job.Result) {
	c.t.Helper()
	c.checkSchema()
	var told []string
	for _, e := range c.attach() {
		if e.Phase == job.PhaseLocalise {
			told = append(told, e.Message)
		}
	}
	text := strings.Join(told, "\n")
	for _, s := range result.Suspects {
		if !strings.Contains(text, s.Name()+" is suspected") {
			c.t.Errorf("%s is not in:\n%s", s.Name(), text)
		}
	}
	if !strings.Contains(text, "round 1: 1 group") {
		c.t.Errorf("no round is in:\n%s", text)
	}
}
