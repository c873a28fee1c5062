// SPDX-License-Identifier: MPL-2.0

package pattern

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Pairs measures every node with its neighbour, ⌈n/2⌉ runs; a last odd node joins one that is good. Both nodes of a bad
// pair are suspects: it does not say which.
func Pairs(ctx context.Context, o Options, measure Measure) (Finding, error) {
	s := newSearch(ctx, o, measure)
	bad, err := s.pairs()
	var suspects []job.Suspect
	for _, pair := range bad {
		if s.bad(s.ofGroup(pair)[0]) {
			suspects = append(suspects, s.undecided(pair)...)
		}
	}
	return s.endOfPairs(suspects, err)
}

// TwoPass measures pairs, then the nodes of bad pairs with good partners, and pairs again whose nodes are good with
// others: at most ⌈n/2⌉ + 3 runs for each bad pair.
func TwoPass(ctx context.Context, o Options, measure Measure) (Finding, error) {
	s := newSearch(ctx, o, measure)
	bad, err := s.pairs()
	if err != nil {
		return s.end(nil, err)
	}
	suspects, err := s.tryWithGood(slices.Concat(bad...))
	if err == nil {
		var links []job.Suspect
		links, err = s.linksOf(halves{pairs: bad})
		suspects = append(suspects, links...)
	}
	return s.endOfPairs(suspects, err)
}

// RoundRobin measures every node with every other, n(n-1)/2 runs in n-1 rounds (n where n is odd), and bad links again.
func RoundRobin(ctx context.Context, o Options, measure Measure) (Finding, error) {
	all := indexes(len(o.Nodes))
	o.MaxRuns = max(o.MaxRuns, len(all)*len(all)) // it was asked for every pair
	s := newSearch(ctx, o, measure)
	var bad [][]int
	for _, round := range circle(all) {
		pairs, err := s.badPairs("every pair", round)
		if err != nil {
			return s.end(nil, err)
		}
		bad = append(bad, pairs...)
	}
	var suspects []job.Suspect
	for _, n := range s.badWithMost(all) {
		suspects = append(suspects, s.accuse(n))
		bad = slices.DeleteFunc(bad, func(pair []int) bool { return slices.Contains(pair, n) })
	}
	bad = slices.DeleteFunc(bad, func(pair []int) bool { return !s.bad(s.ofGroup(pair)[0]) })
	if len(all) == 2 && len(bad) == 1 {
		return s.end(s.undecided(all), nil)
	}
	links, err := s.accuseLinks(bad)
	return s.endOfPairs(append(suspects, links...), err)
}

// badWithMost gives the nodes that are bad with more than half of the others, those apart that it gives itself.
func (s *search) badWithMost(nodes []int) []int {
	var found []int
	for {
		worst, most := -1, 0
		others := without(nodes, found)
		for _, n := range others {
			bad := 0
			for _, partner := range without(others, []int{n}) {
				if s.bad(s.ofGroup([]int{min(n, partner), max(n, partner)})[0]) {
					bad++
				}
			}
			if bad > most && bad > 1 && 2*bad > len(others)-1 {
				worst, most = n, bad
			}
		}
		if worst < 0 {
			return found
		}
		found = append(found, worst)
	}
}

// Rails measures every rail, which is one GPU of each node, and bad ones again: rails runs, one for each bad one more. The
// measure function takes the index of the rail for a node, and gives trials without nodes.
func Rails(ctx context.Context, o Options, rails int, measure Measure) (Finding, error) {
	o.MaxRuns = max(o.MaxRuns, 2*rails)
	s := newSearch(ctx, o, measure)
	for rail := range rails { // one after the other: they share the nodes
		if _, err := s.round("rails", []int{rail}); err != nil {
			return s.end(nil, err)
		}
	}
	var suspects []job.Suspect
	for _, rail := range s.badRails() {
		if _, err := s.round("rails again", []int{rail}); err != nil {
			return s.end(suspects, err)
		}
		s.mark(unsteady(s.trials))
		if trials := s.ofGroup([]int{rail}); !slices.ContainsFunc(trials, s.good) {
			suspects = append(suspects, job.Suspect{
				Kind: job.SuspectRail, Index: &rail, Confidence: job.Likely, Symptom: s.symptom(trials), Evidence: s.sentences(trials),
			})
		}
	}
	return s.end(suspects, nil)
}

// badRails gives those that are bad; where none is, those that are unsteady.
func (s *search) badRails() []int {
	bad := slices.DeleteFunc(slices.Clone(s.trials), s.good)
	rails := unsteady(s.trials)
	if len(bad) > 0 {
		rails = nil
	}
	for _, t := range bad {
		rails = append(rails, t.Nodes)
	}
	return slices.Concat(rails...)
}

// pairs measures neighbours and gives the pairs that are not good.
func (s *search) pairs() ([][]int, error) {
	all := indexes(len(s.Nodes))
	var groups [][]int
	for pair := range slices.Chunk(all, 2) {
		if len(pair) == 2 {
			groups = append(groups, pair)
		}
	}
	bad, err := s.badPairs("pairs", groups)
	if err != nil || len(all)%2 == 0 {
		return bad, err
	}
	odd := len(all) - 1
	partner := max(0, slices.IndexFunc(all, s.cleared))
	more, err := s.badPairs("the odd node", [][]int{{partner, odd}})
	return append(bad, more...), err
}

// endOfPairs ends a search by pairs; where it has suspected nobody, with a look at single iterations.
func (s *search) endOfPairs(suspects []job.Suspect, err error) (Finding, error) {
	if err == nil && len(suspects) == 0 {
		suspects, err = s.byIterations(indexes(len(s.Nodes)))
	}
	return s.end(suspects, err)
}

func (s *search) end(suspects []job.Suspect, err error) (Finding, error) {
	text := fmt.Sprintf("%s found in %s in %s", suspectsIn(suspects), count(s.runs, "run"), count(s.rounds, "round"))
	if errors.Is(err, errSpent) {
		return s.finding(suspects, text+"; "+err.Error()), nil
	}
	return s.finding(suspects, text), err
}

func suspectsIn(suspects []job.Suspect) string {
	if len(suspects) == 0 {
		return "no suspect"
	}
	return count(len(suspects), "suspect")
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
