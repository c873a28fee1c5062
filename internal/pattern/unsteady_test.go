// SPDX-License-Identifier: MPL-2.0

package pattern

import (
	"context"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// flapping is slow in some iterations; on average it leaves what the mark asks for.
var flapping = fault{Good, 0.85, true}

// searchAnyway searches as after a run over all that missed its mark.
func (c *cluster) searchAnyway() Finding {
	c.t.Helper()
	all := indexes(c.n)
	f, err := Auto(c.t.Context(), c.options(), all, &Trial{Nodes: all, Verdict: Slow, GBPerS: c.mark - 1}, c.measure)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// What averages hide is found by the iterations, and not without them.
func TestAutoFindsWhatIsUnsteady(t *testing.T) {
	t.Parallel()
	for _, n := range sizes[1:] { // of three nodes, two pairs have the bad one
		for bad := 0; bad < n; bad += 1 + n/16 {
			for name, spoil := range map[string]func(*cluster){
				"node": func(c *cluster) { c.nodes[bad] = flapping },
				"link": func(c *cluster) {
					next := (bad + 1) % n
					c.links[[2]int{min(bad, next), max(bad, next)}] = flapping
				},
			} {
				c := newCluster(t, n, uint64(bad))
				spoil(c)
				if f := c.searchAnyway(); suspects(f, job.Possible) != "" {
					t.Fatalf("without iterations, %d nodes, bad %v %v: %+v", n, c.nodes, c.links, f)
				}
				c.unrest = 0.03
				f := c.searchAnyway()
				if suspects(f, job.Likely) != c.want() {
					t.Fatalf("%s, %d nodes, bad %v %v: %+v", name, n, c.nodes, c.links, f)
				}
				if s := f.Suspects[0]; s.Symptom != job.SymptomUnsteady || !strings.Contains(s.Evidence[0], "GB/s on average; not in all iterations: the fastest reaches 10") {
					t.Errorf("%+v", s)
				}
			}
		}
	}
}

// All groups alike are nobody's fault: the machines are so.
func TestNobodyIsAccusedOfUnrestThatAllHave(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		c := newCluster(t, 3+int(seed%20), seed)
		c.unrest = 2 * c.random.Float64()
		if f := c.searchAnyway(); suspects(f, job.Likely) != "" {
			t.Fatalf("seed %d: %+v", seed, f)
		}
	}
}

// What is too slow on average says whether it is so all the time.
func TestEvidenceTellsWhetherAllIterationsAreSlow(t *testing.T) {
	t.Parallel()
	for symptom, f := range map[job.Symptom]fault{job.SymptomSlow: slowed, job.SymptomUnsteady: {Slow, 0.3, true}} {
		for _, mark := range []float64{70, 0} {
			c := newCluster(t, 8, 1)
			c.unrest, c.mark, c.nodes[5] = 0.03, mark, f
			found := c.searchAnyway()
			want := map[job.Symptom]string{job.SymptomSlow: "; its fastest iteration reaches 3", job.SymptomUnsteady: "; not in all iterations: the fastest reaches 10"}[symptom]
			if suspects(found, job.Likely) != "node gpu-5" || found.Suspects[0].Symptom != symptom || !strings.Contains(found.Suspects[0].Evidence[0], want) {
				t.Errorf("mark %v: %s: %+v", mark, symptom, found.Suspects)
			}
		}
	}
}

func TestSymptoms(t *testing.T) {
	t.Parallel()
	for symptom, f := range map[job.Symptom]fault{job.SymptomWrong: corrupt, job.SymptomFailed: hanging} {
		c := newCluster(t, 8, 1)
		c.nodes[2] = f
		if found := c.auto(); len(found.Suspects) != 1 || found.Suspects[0].Symptom != symptom {
			t.Errorf("%s: %+v", symptom, found.Suspects)
		}
	}
}

func TestFixedPatternsFindWhatIsUnsteady(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		search func(context.Context, Options, Measure) (Finding, error)
		want   string
	}{
		"pairs":       {Pairs, "node gpu-5"},
		"two_pass":    {TwoPass, "node gpu-5"},
		"round_robin": {RoundRobin, "node gpu-5"},
	} {
		c := newCluster(t, 8, 1)
		c.unrest, c.nodes[5] = 0.03, flapping
		f, err := test.search(t.Context(), c.options(), c.measure)
		if err != nil || suspects(f, job.Possible) != test.want || f.Suspects[0].Symptom != job.SymptomUnsteady {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	o := Options{Mark: 70, Nodes: []string{"rail 0", "rail 1", "rail 2"}}
	f, err := Rails(t.Context(), o, 3, func(_ context.Context, r Round) ([]Trial, error) {
		trial := Trial{Nodes: r.Groups[0], GBPerS: 95, Fastest: 97}
		if trial.Nodes[0] == 1 {
			trial.GBPerS = 75
		}
		return []Trial{trial}, nil
	})
	if err != nil || suspects(f, job.Likely) != "rail 1" || f.Suspects[0].Symptom != job.SymptomUnsteady || f.Runs != 4 {
		t.Errorf("rails: %+v, %v", f, err)
	}
}
