// SPDX-License-Identifier: MPL-2.0

// Package pattern chooses the groups of nodes that are measured together, and says from what they reached which node,
// link or rail is at fault. It measures nothing itself.
//
// A group is bad when it is wrong, fails, or misses its mark and stays clearly below what groups of its size or larger
// ones reached, so that noise within [Options.Noise] accuses nobody. A node is accused only when it was bad twice, with
// different partners, and a link when it was bad twice while both its nodes are good with others.
package pattern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Verdict on one group.
type Verdict int

// Verdicts.
const (
	Good     Verdict = iota
	Unsteady         // fast enough on average, but not in all iterations: see unsteady.go
	Slow             // below its mark
	Wrong            // wrong values
	Failed           // it did not run to its end
)

// Trial is what came of one group.
type Trial struct {
	Nodes   []int // ascending; indexes of [Options.Nodes]
	Verdict Verdict
	GBPerS  float64 // bus bandwidth; 0 when it is not known
	Fastest float64 // bus bandwidth of the fastest of its iterations; 0 when it is not known
	Said    string  // why it is not good
	Named   []int   // nodes that the run itself names as those where it failed
	SetUp   bool    // it failed by how nodes are set up, such as a missing program: no replacement cures that
}

// Round are groups that can run at the same time: they are disjoint.
type Round struct {
	Purpose string
	Groups  [][]int
	// First counts its runs among all, from 1; AtMost is how many there can be.
	First, AtMost int
}

// Measure measures the groups of a round at the same time and gives their trials in the same order. The error ends the
// search.
type Measure func(context.Context, Round) ([]Trial, error)

// Options of a search.
type Options struct {
	// Nodes are their names, in order of the topology: neighbours are next to each other.
	Nodes []string
	// Mark is the least bandwidth of a good group, in 10^9 bytes per second; 0 when there is none.
	Mark float64
	// Noise is by which part the bandwidth of good groups may differ from what it should be; 0 means [DefaultNoise].
	Noise float64
	// MaxRuns bounds the runs; 0 means [DefaultRuns] of the nodes.
	MaxRuns int
}

// DefaultNoise is a fifth.
const DefaultNoise = 0.2

// DefaultRuns is the bound of runs for a number of nodes.
func DefaultRuns(nodes int) int { return max(16, 4*nodes) }

// Finding is what a search came to.
type Finding struct {
	Suspects []job.Suspect
	// Conclusion is a sentence for people.
	Conclusion string
	Trials     []Trial
	Runs       int
	Rounds     int
}

// errSpent says that no more runs are allowed.
var errSpent = errors.New("the limit of runs is reached")

// search is a search in progress.
type search struct {
	Options
	ctx     context.Context //nolint:containedctx // of the one call that the search is made for
	measure Measure
	trials  []Trial
	runs    int
	rounds  int
}

func newSearch(ctx context.Context, o Options, measure Measure) *search {
	if o.Noise == 0 {
		o.Noise = DefaultNoise
	}
	if o.MaxRuns == 0 {
		o.MaxRuns = DefaultRuns(len(o.Nodes))
	}
	return &search{Options: o, ctx: ctx, measure: measure}
}

// round measures groups at the same time.
func (s *search) round(purpose string, groups ...[]int) ([]Trial, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	if s.runs+len(groups) > s.MaxRuns {
		return nil, errSpent
	}
	for i := range groups {
		groups[i] = slices.Sorted(slices.Values(groups[i]))
	}
	trials, err := s.measure(s.ctx, Round{Purpose: fmt.Sprintf("%s, round %d", purpose, s.rounds+1), Groups: groups, First: s.runs + 1, AtMost: s.MaxRuns})
	if err != nil {
		return nil, err
	}
	s.runs += len(groups)
	s.rounds++
	s.trials = append(s.trials, trials...)
	if s.Mark == 0 {
		s.compare()
	}
	return s.trials[len(s.trials)-len(trials):], nil
}

// compare calls slow, where there is no mark, what is below half of the best group of its size.
func (s *search) compare() {
	for i, t := range s.trials {
		if t.Verdict != Good || t.GBPerS == 0 {
			continue
		}
		for _, other := range s.trials {
			if len(other.Nodes) == len(t.Nodes) && other.Verdict == Good && t.GBPerS < other.GBPerS/2 {
				s.trials[i].Verdict = Slow
			}
		}
	}
}

// bad says whether a trial is enough to accuse somebody.
func (s *search) bad(t Trial) bool {
	if t.Verdict == Slow {
		return t.GBPerS < s.best(len(t.Nodes))*(1-s.Noise)/(1+s.Noise)
	}
	return t.Verdict != Good
}

func (s *search) good(t Trial) bool { return !s.bad(t) }

// best is the highest bandwidth of right results of that many nodes or more: fewer must not be slower.
func (s *search) best(nodes int) float64 {
	best := 0.0
	for _, t := range s.trials {
		if t.Verdict <= Slow && len(t.Nodes) >= nodes {
			best = max(best, t.GBPerS)
		}
	}
	return best
}

// cleared says whether a node was good together with another.
func (s *search) cleared(node int) bool {
	return slices.ContainsFunc(s.trials, func(t Trial) bool {
		return t.Verdict == Good && len(t.Nodes) > 1 && slices.Contains(t.Nodes, node)
	})
}

// ofGroup gives the trials of exactly these nodes.
func (s *search) ofGroup(nodes []int) []Trial {
	var found []Trial
	for _, t := range s.trials {
		if slices.Equal(t.Nodes, nodes) {
			found = append(found, t)
		}
	}
	return found
}

// badWith gives the trials that speak against a node: bad ones with it, each of other partners.
func (s *search) badWith(node int) []Trial {
	var against []Trial
	for _, t := range s.trials {
		same := func(other Trial) bool { return slices.Equal(other.Nodes, t.Nodes) }
		if slices.Contains(t.Nodes, node) && s.bad(t) && !slices.ContainsFunc(against, same) {
			against = append(against, t)
		}
	}
	return against
}

func (s *search) finding(suspects []job.Suspect, conclusion string) Finding {
	return Finding{Suspects: suspects, Conclusion: conclusion, Trials: s.trials, Runs: s.runs, Rounds: s.rounds}
}

// without gives the nodes that are not among others.
func without(nodes, others []int) []int {
	var rest []int
	for _, n := range nodes {
		if !slices.Contains(others, n) {
			rest = append(rest, n)
		}
	}
	return rest
}

// names of nodes, the first few where they are many.
func (s *search) names(nodes []int) string {
	const most = 4
	var names []string
	for _, n := range nodes {
		names = append(names, s.Nodes[n])
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most-1], ", "), len(names)-most+1)
	}
	return strings.Join(names, ", ")
}
