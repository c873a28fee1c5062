// SPDX-License-Identifier: MPL-2.0

package pattern

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// cluster is a simulated one: groups with a bad node, or whose ring has a bad link, are bad.
type cluster struct {
	t      *testing.T
	n      int
	nodes  map[int]fault
	links  map[[2]int]fault
	noise  float64 // of every bandwidth
	unrest float64 // by how much the fastest iteration is above the average at most; 0: iterations are not known
	scale  int     // more nodes than these fail together; 0: none
	random *rand.Rand
	mark   float64
	tests  int
}

// fault is how much of the bandwidth is left, or another verdict.
type fault struct {
	verdict Verdict
	left    float64
	inPart  bool // the fastest iteration does not suffer
}

var (
	slowed  = fault{Slow, 0.3, false}
	corrupt = fault{Wrong, 1, false}
	hanging = fault{Failed, 0, false}
)

const nominal = 100

func newCluster(t *testing.T, n int, seed uint64) *cluster {
	t.Helper()
	return &cluster{
		t: t, n: n, nodes: map[int]fault{}, links: map[[2]int]fault{}, random: rand.New(rand.NewPCG(seed, uint64(n))), mark: 0.7 * nominal,
	}
}

func (c *cluster) options() Options {
	o := Options{Mark: c.mark}
	for i := range c.n {
		o.Nodes = append(o.Nodes, fmt.Sprintf("gpu-%d", i))
	}
	return o
}

func (c *cluster) trial(group []int) Trial {
	t := Trial{Nodes: group, GBPerS: nominal * (1 + c.noise*(2*c.random.Float64()-1))}
	if c.unrest > 0 {
		t.Fastest = t.GBPerS * (1 + c.unrest*min(c.random.Float64(), c.random.Float64())) // of the placement that loses less
	}
	suffer := func(f fault) {
		t.Verdict = max(t.Verdict, f.verdict)
		if !f.inPart {
			t.Fastest *= f.left
		}
		t.GBPerS = min(t.GBPerS, t.GBPerS*f.left)
	}
	for i, n := range group {
		if f, ok := c.nodes[n]; ok {
			suffer(f)
		}
		next := group[(i+1)%len(group)]
		if f, ok := c.links[[2]int{min(n, next), max(n, next)}]; ok {
			suffer(f)
		}
	}
	if c.scale > 0 && len(group) > c.scale {
		suffer(hanging)
	}
	switch {
	case t.Verdict > Slow:
		t.Said = "it went wrong"
	case c.mark > 0 && t.GBPerS < c.mark:
		t.Verdict = Slow
	default:
		t.Verdict = Good
	}
	return t
}

func (c *cluster) measure(_ context.Context, r Round) ([]Trial, error) {
	var used []int
	var trials []Trial
	for _, group := range r.Groups {
		if len(group) < 2 || !slices.IsSorted(group) || len(slices.Compact(slices.Clone(group))) != len(group) {
			c.t.Fatalf("%s: group %v", r.Purpose, group)
		}
		for _, n := range group {
			if slices.Contains(used, n) {
				c.t.Fatalf("%s: node %d is in two groups of %v", r.Purpose, n, r.Groups)
			}
		}
		used = append(used, group...)
		trials = append(trials, c.trial(group))
		c.tests++
	}
	return trials, nil
}

// auto searches as a job does: only when all together are not good.
func (c *cluster) auto() Finding {
	c.t.Helper()
	whole := c.trial(indexes(c.n))
	if whole.Verdict == Good {
		return Finding{}
	}
	f, err := Auto(c.t.Context(), c.options(), indexes(c.n), &whole, c.measure)
	if err != nil {
		c.t.Fatal(err)
	}
	if f.Runs != c.tests || f.Conclusion == "" || f.Runs > DefaultRuns(c.n) {
		c.t.Errorf("%d runs, of %d: %q", f.Runs, c.tests, f.Conclusion)
	}
	return f
}

// suspects by name, sorted.
func suspects(f Finding, least job.Confidence) string {
	var names []string
	for _, s := range f.Suspects {
		if s.Confidence != job.Possible || least == job.Possible {
			names = append(names, s.Name())
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// want are the names of what is bad.
func (c *cluster) want() string {
	var names []string
	for n := range c.nodes {
		names = append(names, fmt.Sprintf("node gpu-%d", n))
	}
	for l := range c.links {
		names = append(names, fmt.Sprintf("link gpu-%d - gpu-%d", l[0], l[1]))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// sizes of clusters: every small one, and those around powers of two.
var sizes = []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 24, 31, 33, 48, 64, 65}

func log2(n int) int { return bits.Len(uint(n - 1)) }

// Every single bad node of every number of nodes is found, whatever is wrong with it, within the stated number of runs.
func TestAutoFindsEveryBadNode(t *testing.T) {
	t.Parallel()
	for _, n := range sizes {
		for bad := range n {
			c := newCluster(t, n, uint64(bad))
			c.noise = 0.15
			c.nodes[bad] = []fault{slowed, corrupt, hanging}[(n+bad)%3]
			f := c.auto()
			if suspects(f, job.Likely) != c.want() {
				t.Fatalf("%d nodes, bad %v: %+v", n, c.nodes, f)
			}
			if limit := 2 * (log2(n) + 1); f.Runs > limit {
				t.Errorf("%d nodes, bad %v: %d runs, more than %d", n, c.nodes, f.Runs, limit)
			}
			if s := f.Suspects[0]; n > 3 && s.Confidence != job.Certain || len(s.Evidence) < 2 || !s.Replace {
				t.Errorf("%d nodes: %+v", n, s)
			}
		}
	}
}

func TestAutoFindsSeveralBadNodes(t *testing.T) {
	t.Parallel()
	for _, n := range sizes {
		if n < 5 {
			continue
		}
		for seed := range uint64(20) {
			c := newCluster(t, n, seed)
			bad := 2 + int(seed%2)
			for len(c.nodes) < min(bad, n/2-1) || len(c.nodes) < 2 {
				c.nodes[c.random.IntN(n)] = []fault{slowed, corrupt, hanging}[c.random.IntN(3)]
			}
			f := c.auto()
			if suspects(f, job.Likely) != c.want() {
				t.Fatalf("%d nodes, bad %v: %s\n%+v", n, c.nodes, f.Conclusion, f)
			}
			if limit := 2 * len(c.nodes) * (log2(n) + 1); f.Runs > limit {
				t.Errorf("%d nodes, bad %v: %d runs, more than %d", n, c.nodes, f.Runs, limit)
			}
		}
	}
}

// Every link of the ring, the one from the last node to the first too, and every number of nodes.
func TestAutoFindsEveryBadLink(t *testing.T) {
	t.Parallel()
	for _, n := range sizes {
		for a := range n {
			b := (a + 1) % n
			c := newCluster(t, n, uint64(a))
			c.links[[2]int{min(a, b), max(a, b)}] = []fault{slowed, corrupt, hanging}[(n+a)%3]
			f := c.auto()
			if suspects(f, job.Likely) != c.want() {
				t.Fatalf("%d nodes, bad %v: %s\n%+v", n, c.links, f.Conclusion, f)
			}
			if limit := 4*log2(n) + 4; f.Runs > limit {
				t.Errorf("%d nodes, bad %v: %d runs, more than %d", n, c.links, f.Runs, limit)
			}
			if len(f.Suspects[0].Evidence) < 3 || f.Suspects[0].Replace {
				t.Errorf("%+v", f.Suspects[0])
			}
		}
	}
}

// A bad link and a bad node that it does not touch.
func TestAutoFindsABadLinkAndABadNode(t *testing.T) {
	t.Parallel()
	for _, n := range sizes {
		if n < 6 {
			continue
		}
		for seed := range uint64(10) {
			c := newCluster(t, n, seed)
			a := c.random.IntN(n)
			b := (a + 1) % n
			c.links[[2]int{min(a, b), max(a, b)}] = slowed
			bad := (a + 2 + c.random.IntN(n-2)) % n
			c.nodes[bad] = hanging
			if f := c.auto(); suspects(f, job.Likely) != c.want() {
				t.Fatalf("%d nodes, bad %v %v: %s, %s", n, c.nodes, c.links, suspects(f, job.Possible), f.Conclusion)
			}
		}
	}
}

// A clean cluster is never accused, however unlucky its noise and its mark.
func TestAutoNeverAccusesACleanCluster(t *testing.T) {
	t.Parallel()
	searched := 0
	for seed := range uint64(10000) {
		c := newCluster(t, 2+int(seed%24), seed)
		c.noise = 0.2
		c.mark = nominal * (0.8 + 0.4*c.random.Float64())
		if seed%2 == 0 {
			c.unrest = 0.5
		}
		f := c.auto()
		if got := suspects(f, job.Likely); got != "" {
			t.Fatalf("seed %d: %s\n%+v", seed, got, f)
		}
		if f.Runs > 0 {
			searched++
		}
	}
	if searched < 3000 {
		t.Errorf("only %d were searched", searched)
	}
}

func TestNoPatternAccusesACleanCluster(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		for name, search := range map[string]func(context.Context, Options, Measure) (Finding, error){"pairs": Pairs, "two_pass": TwoPass, "round_robin": RoundRobin} {
			c := newCluster(t, 2+int(seed%20), seed)
			c.noise = 0.2
			c.mark = nominal * (0.8 + 0.4*c.random.Float64())
			if seed%2 == 0 {
				c.mark = 0
			}
			f, err := search(t.Context(), c.options(), c.measure)
			if got := suspects(f, job.Likely); err != nil || got != "" {
				t.Fatalf("%s, seed %d: %s %v\n%+v", name, seed, got, err, f)
			}
		}
	}
}

// What cannot be told apart is said, not guessed.
func TestAutoSaysWhatItCannotTell(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(*cluster)
		n     int
		want  string // in the conclusion
	}{
		"all bad":       {func(c *cluster) { c.all(hanging) }, 8, "no group of nodes is good"},
		"all slow":      {func(c *cluster) { c.all(slowed) }, 8, "no group of nodes is good"},
		"mark too high": {func(c *cluster) { c.mark = 150 }, 16, "a mark too high"},
		"at scale":      {func(c *cluster) { c.scale = 9 }, 16, "only shows with 16 nodes"},
		"at scale, odd": {func(c *cluster) { c.scale = 8 }, 9, "only shows with 9 nodes"},
	} {
		c := newCluster(t, test.n, 1)
		test.spoil(c)
		f := c.auto()
		if got := suspects(f, job.Possible); got != "" || !strings.Contains(f.Conclusion, test.want) {
			t.Errorf("%s: %q, %q", name, got, f.Conclusion)
		}
	}
}

func (c *cluster) all(f fault) {
	for n := range c.n {
		c.nodes[n] = f
	}
}

func TestAutoOfTwoNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, 1)
	c.nodes[1] = corrupt
	f := c.auto()
	if suspects(f, job.Likely) != "" || suspects(f, job.Possible) != "node gpu-0, node gpu-1" || f.Runs != 0 {
		t.Errorf("%+v", f)
	}
}

// What a run itself names is tried first, and believed only when the others are good without it.
func TestAutoTakesWhatTheRunNames(t *testing.T) {
	t.Parallel()
	for named, runs := range map[int]int{5: 3, 2: 9} {
		c := newCluster(t, 8, 1)
		c.nodes[5] = hanging
		whole := c.trial(indexes(8))
		whole.Named = []int{named}
		f, err := Auto(t.Context(), c.options(), indexes(8), &whole, c.measure)
		if err != nil || suspects(f, job.Likely) != "node gpu-5" || f.Runs > runs {
			t.Errorf("named %d: %d runs, %+v, %v", named, f.Runs, f, err)
		}
	}
}

// Nodes that are bad alone are left out from the start.
func TestAutoWithoutSomeNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 8, 1)
	c.nodes[3], c.nodes[6] = hanging, slowed
	f, err := Auto(t.Context(), c.options(), []int{0, 1, 2, 4, 5, 6, 7}, nil, c.measure)
	if err != nil || suspects(f, job.Likely) != "node gpu-6" {
		t.Errorf("%+v %v", f, err)
	}
	delete(c.nodes, 6)
	f, err = Auto(t.Context(), c.options(), []int{0, 1, 2, 4, 5, 6, 7}, nil, c.measure)
	if err != nil || len(f.Suspects) != 0 || f.Runs != 1 {
		t.Errorf("%+v %v", f, err)
	}
}

// A fault that does not come again is nobody's.
func TestAutoForgivesWhatPasses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 8, 1)
	f, err := Auto(t.Context(), c.options(), indexes(8), &Trial{Nodes: indexes(8), Verdict: Failed, Said: "x"}, c.measure)
	if err != nil || len(f.Suspects) != 0 || f.Runs > 3 || !strings.Contains(f.Conclusion, "passing") {
		t.Errorf("%+v %v", f, err)
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 65; n++ {
		bad := (n * 7) % n
		c := newCluster(t, n, uint64(n))
		c.nodes[bad] = hanging
		f, err := Pairs(t.Context(), c.options(), c.measure)
		if err != nil || f.Runs != (n+1)/2 || len(f.Suspects) == 0 || suspects(f, job.Likely) != "" {
			t.Fatalf("%d nodes: %+v, %v", n, f, err)
		}
		if !strings.Contains(suspects(f, job.Possible), fmt.Sprintf("node gpu-%d", bad)) {
			t.Errorf("%d nodes: %+v", n, f)
		}
	}
}

func TestTwoPass(t *testing.T) {
	t.Parallel()
	for n := 4; n <= 65; n++ {
		for seed := range uint64(10) {
			c := newCluster(t, n, seed)
			first := c.random.IntN(n)
			c.nodes[first] = slowed
			if n > 7 {
				c.nodes[(first+n/2)%n] = hanging
			}
			f, err := TwoPass(t.Context(), c.options(), c.measure)
			if err != nil || suspects(f, job.Likely) != c.want() || f.Runs > (n+1)/2+3*len(c.nodes) {
				t.Fatalf("%d nodes, bad %v: %d runs, %+v, %v", n, c.nodes, f.Runs, f, err)
			}
		}
		c := newCluster(t, n, 1)
		c.links[[2]int{2, 3}] = slowed
		if f, err := TwoPass(t.Context(), c.options(), c.measure); err != nil || n > 4 && suspects(f, job.Likely) != c.want() {
			t.Fatalf("%d nodes, bad %v: %+v, %v", n, c.links, f, err)
		}
	}
}

func TestRoundRobin(t *testing.T) {
	t.Parallel()
	for n := 4; n <= 33; n++ {
		c := newCluster(t, n, uint64(n))
		c.nodes[n-1] = corrupt
		c.links[[2]int{0, 2}] = slowed
		f, err := RoundRobin(t.Context(), c.options(), c.measure)
		rounds := n - 1 + n%2
		if err != nil || suspects(f, job.Likely) != c.want() || f.Runs != n*(n-1)/2+1 || f.Rounds != rounds+1 {
			t.Fatalf("%d nodes: %d runs, %d rounds, %+v, %v", n, f.Runs, f.Rounds, f, err)
		}
	}
}

func TestRails(t *testing.T) {
	t.Parallel()
	for rails := 2; rails <= 16; rails++ {
		o := Options{Mark: 70}
		for i := range rails {
			o.Nodes = append(o.Nodes, fmt.Sprintf("rail %d", i))
		}
		f, err := Rails(t.Context(), o, rails, func(_ context.Context, r Round) ([]Trial, error) {
			trial := Trial{Nodes: r.Groups[0], GBPerS: 95}
			if trial.Nodes[0] == 1 {
				trial.Verdict, trial.GBPerS = Slow, 30
			}
			return []Trial{trial}, nil
		})
		if err != nil || suspects(f, job.Likely) != "rail 1" || f.Runs != rails+1 {
			t.Fatalf("%d rails: %+v, %v", rails, f, err)
		}
	}
}

func TestLimitOfRuns(t *testing.T) {
	t.Parallel()
	for limit := 1; limit < 12; limit++ {
		c := newCluster(t, 16, 1)
		c.nodes[9], c.nodes[3] = slowed, hanging
		o := c.options()
		o.MaxRuns = limit
		whole := c.trial(indexes(16))
		f, err := Auto(t.Context(), o, indexes(16), &whole, c.measure)
		if err != nil || c.tests > limit || !strings.Contains(f.Conclusion, errSpent.Error()) {
			t.Errorf("limit %d: %d runs, %q, %v", limit, c.tests, f.Conclusion, err)
		}
	}
}

// The end of the context ends the search with what it has.
func TestInterruptedSearch(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 8, 1)
	c.nodes[3] = hanging
	whole := c.trial(indexes(8))
	f, err := Auto(t.Context(), c.options(), indexes(8), &whole, func(ctx context.Context, r Round) ([]Trial, error) {
		if c.tests > 2 {
			return nil, context.Canceled
		}
		return c.measure(ctx, r)
	})
	if err == nil || len(f.Trials) != 5 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestCircle(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 65; n++ {
		met := map[[2]int]bool{}
		rounds := circle(indexes(n))
		for _, round := range rounds {
			var used []int
			for _, pair := range round {
				used = append(used, pair...)
				met[[2]int{pair[0], pair[1]}] = true
			}
			slices.Sort(used)
			if len(slices.Compact(used)) != 2*len(round) {
				t.Fatalf("%d nodes: %v", n, round)
			}
		}
		if len(met) != n*(n-1)/2 || len(rounds) != n-1+n%2 {
			t.Fatalf("%d nodes: %d pairs in %d rounds", n, len(met), len(rounds))
		}
	}
}
