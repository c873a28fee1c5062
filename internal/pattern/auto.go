// SPDX-License-Identifier: MPL-2.0

package pattern

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Auto searches for what is at fault with nodes that are not good together, by halves: of a bad group both halves are
// measured at the same time, and so are the halves of all bad groups. Two nodes that are bad together are tried with good
// partners; what is bad only together with another half is searched for in the links between both. At the end the nodes
// that are left are measured together: when these are not good either, the search goes on.
//
// among are the nodes to search; whole is the trial of them together, nil when there was none.
//
// It takes at most 2 k (⌈log2 n⌉ + 1) runs for k bad nodes of n, 3 for a bad node that the failed run names itself, and
// 4 ⌈log2 n⌉ + 4 for a bad link that the run over all nodes uses; never more than [Options.MaxRuns].
func Auto(ctx context.Context, o Options, among []int, whole *Trial, measure Measure) (Finding, error) {
	s := newSearch(ctx, o, measure)
	rest := among
	var suspects []job.Suspect
	if whole != nil {
		s.trials = append(s.trials, *whole)
	}
	for {
		last, err := s.together(rest)
		if err == nil && last.Verdict != Good {
			var found []job.Suspect
			if found, err = s.culprits(rest, last); len(found) > 0 {
				suspects = append(suspects, found...)
				rest = s.leaveOut(rest, found)
			}
			if err == nil && len(found) > 0 && len(rest) > 1 {
				continue
			}
		}
		if err != nil && !errors.Is(err, errSpent) {
			return s.finding(suspects, ""), err
		}
		return s.finding(s.confirm(suspects, rest), s.conclude(suspects, rest, err)), nil
	}
}

// together gives the last trial of nodes together, and makes it where there was none.
func (s *search) together(nodes []int) (Trial, error) {
	if len(nodes) < 2 {
		return Trial{Nodes: nodes}, nil
	}
	if trials := s.ofGroup(nodes); len(trials) > 0 {
		return trials[len(trials)-1], nil
	}
	trials, err := s.round("the nodes that are left", nodes)
	if err != nil {
		return Trial{Nodes: nodes}, err
	}
	return trials[0], nil
}

// leaveOut gives the nodes without the suspects; of a link the second node goes.
func (s *search) leaveOut(nodes []int, suspects []job.Suspect) []int {
	for _, suspect := range suspects {
		last := suspect.Nodes[len(suspect.Nodes)-1]
		nodes = without(nodes, []int{slices.Index(s.Nodes, last)})
	}
	return nodes
}

// culprits searches nodes that are not good together.
func (s *search) culprits(nodes []int, last Trial) ([]job.Suspect, error) {
	if len(nodes) == 2 {
		return s.undecided(nodes), nil
	}
	if found, err := s.named(nodes, last.Named); err != nil || len(found) > 0 {
		return found, err
	}
	h, err := s.halve(nodes)
	if err != nil {
		return nil, err
	}
	if len(h.bad) == 0 && len(h.across) > 0 { // is it so at all?
		again, err := s.round("all of them again", nodes)
		if err != nil {
			return nil, err
		}
		if again[0].Verdict == Good {
			return s.byIterations(nodes)
		}
	}
	if len(h.bad) > 0 && !slices.ContainsFunc(nodes, s.cleared) {
		if err := s.findGood(nodes); err != nil {
			return nil, err
		}
	}
	suspects, err := s.tryWithGood(h.bad)
	if err != nil {
		return suspects, err
	}
	links, err := s.linksOf(h)
	suspects = append(suspects, links...)
	if err != nil || len(suspects) > 0 {
		return suspects, err
	}
	if suspects, err = s.byIterations(nodes); err != nil || len(suspects) > 0 || len(h.across) == 0 {
		return suspects, err
	}
	return s.sweep(nodes)
}

// named tries those that the run itself names, once the others are good without them.
func (s *search) named(nodes, named []int) ([]job.Suspect, error) {
	rest := without(nodes, named)
	if len(named) == 0 || len(rest) < 2 || len(rest) == len(nodes) || len(rest) < len(nodes)/2 {
		return nil, nil
	}
	trials, err := s.round("without those that the run names", rest)
	if err != nil || trials[0].Verdict != Good {
		return nil, err
	}
	return s.tryWithGood(without(nodes, rest))
}

// halves is what halving came to.
type halves struct {
	bad    []int      // nodes that are left when nothing can be halved
	pairs  [][]int    // of them, bad together
	across [][2][]int // groups that are good, but not together
}

// halve goes down to pairs and single nodes.
func (s *search) halve(nodes []int) (halves, error) {
	var h halves
	for level := [][]int{nodes}; len(level) > 0; {
		var groups [][]int
		for _, set := range level {
			for _, half := range split(set) {
				if len(half) > 1 {
					groups = append(groups, half)
				}
			}
		}
		trials, err := s.round("halves", groups...)
		if err != nil {
			return h, err
		}
		verdicts := map[int]Verdict{} // by first node
		for _, t := range trials {
			verdicts[t.Nodes[0]] = t.Verdict
		}
		var next [][]int
		for _, set := range level {
			parts := split(set)
			good := 0
			for _, half := range parts {
				switch {
				case len(half) == 1:
					h.bad = append(h.bad, half[0])
				case verdicts[half[0]] == Good:
					good++
				case len(half) == 2:
					h.bad, h.pairs = append(h.bad, half...), append(h.pairs, half)
				default:
					next = append(next, half)
				}
			}
			if good == 2 || good == 1 && len(parts[1]) == 1 {
				h.across = append(h.across, [2][]int{parts[0], parts[1]})
			}
		}
		level = next
	}
	slices.Sort(h.bad)
	return h, nil
}

// split gives two parts, the first a power of two, so that few single nodes are left.
func split(nodes []int) [][]int {
	half := 1
	for half*2 < len(nodes) {
		half *= 2
	}
	return [][]int{nodes[:half:half], nodes[half:]}
}

// tryWithGood accuses those that are bad with good partners, too.
func (s *search) tryWithGood(candidates []int) ([]job.Suspect, error) {
	for range 2 { // twice where the bad groups before have another node in common
		open := slices.DeleteFunc(slices.Clone(candidates), func(c int) bool {
			return s.triedWithGood(c) && (s.cleared(c) || s.onlyCommon(c))
		})
		if err := s.pairWithGood(open); err != nil {
			return nil, err
		}
	}
	var suspects []job.Suspect
	for _, c := range candidates {
		if !s.cleared(c) && s.triedWithGood(c) && s.onlyCommon(c) {
			suspects = append(suspects, s.accuse(c))
		}
	}
	return suspects, nil
}

// onlyCommon says whether a node is the only one that all bad groups with it have in common, so that no link explains them.
func (s *search) onlyCommon(node int) bool {
	against := s.badWith(node)
	if len(against) == 0 {
		return false
	}
	common := against[0].Nodes
	for _, t := range against {
		common = slices.DeleteFunc(slices.Clone(common), func(n int) bool { return !slices.Contains(t.Nodes, n) })
	}
	return len(common) == 1
}

// triedWithGood says whether a node was in a pair with a good one.
func (s *search) triedWithGood(node int) bool {
	return slices.ContainsFunc(s.trials, func(t Trial) bool {
		at := slices.Index(t.Nodes, node)
		return at >= 0 && len(t.Nodes) == 2 && s.cleared(t.Nodes[1-at])
	})
}

// pairWithGood measures each node with a good one that it was not tried with, as many at a time as there are.
func (s *search) pairWithGood(nodes []int) error {
	for len(nodes) > 0 {
		var pairs [][]int
		var used, later []int
		for _, n := range nodes {
			partner := s.partner(n, slices.Concat(used, nodes))
			if partner < 0 {
				later = append(later, n)
				continue
			}
			used = append(used, partner)
			pairs = append(pairs, []int{n, partner})
		}
		if len(pairs) == 0 {
			return nil
		}
		if _, err := s.round("with good partners", pairs...); err != nil {
			return err
		}
		nodes = later
	}
	return nil
}

// partner gives a good node that a node was not in a pair with; of these one that it shares as few bad groups with as
// possible. -1 when there is none.
func (s *search) partner(node int, taken []int) int {
	best, fewest := -1, 0
	for candidate := range s.Nodes {
		if slices.Contains(taken, candidate) || !s.cleared(candidate) {
			continue
		}
		shared, tried := 0, false
		for _, t := range s.trials {
			if slices.Contains(t.Nodes, node) && slices.Contains(t.Nodes, candidate) {
				shared++
				tried = tried || len(t.Nodes) == 2
			}
		}
		if !tried && (best < 0 || shared < fewest) {
			best, fewest = candidate, shared
		}
	}
	return best
}

// findGood measures pairs until one is good, or all of two rounds are slow alike.
func (s *search) findGood(nodes []int) error {
	for i, round := range circle(nodes) {
		if i > 2 && !slices.ContainsFunc(s.trials, s.bad) {
			return nil
		}
		if _, err := s.round("pairs", s.untried(round)...); err != nil {
			return err
		}
		if slices.ContainsFunc(nodes, s.cleared) {
			return nil
		}
	}
	return nil
}

// undecided suspects both of two nodes.
func (s *search) undecided(nodes []int) []job.Suspect {
	var suspects []job.Suspect
	for _, n := range nodes {
		against := s.badWith(n)
		if len(against) == 0 && s.best(2) > 0 { // only below the mark, and nothing to compare with
			against = s.ofGroup(nodes)
		}
		suspects = append(suspects, job.Suspect{
			Kind: job.SuspectNode, Nodes: []string{s.Nodes[n]}, Confidence: job.Possible, Symptom: s.symptom(against),
			Evidence: s.sentences(against), Replace: curable(against),
		})
	}
	return suspects
}

// confirm makes certain what is bad while the others are good without it.
func (s *search) confirm(suspects []job.Suspect, rest []int) []job.Suspect {
	trials := s.ofGroup(rest)
	if len(trials) == 0 || trials[len(trials)-1].Verdict != Good {
		return suspects
	}
	good := trials[len(trials)-1]
	for i := range suspects {
		if suspects[i].Kind == job.SuspectNode && suspects[i].Confidence == job.Likely {
			suspects[i].Confidence = job.Certain
		}
		suspects[i].Evidence = append(suspects[i].Evidence, "without it "+s.sentence(good))
	}
	return suspects
}

// conclude says what it came to.
func (s *search) conclude(suspects []job.Suspect, rest []int, err error) string {
	text := fmt.Sprintf("%s in %s", count(s.runs, "run"), count(s.rounds, "round"))
	switch {
	case len(suspects) > 0:
		text = fmt.Sprintf("%s found in %s", suspectsIn(suspects), text)
		if trials := s.ofGroup(rest); len(trials) > 0 {
			text += "; without, " + s.sentence(trials[len(trials)-1])
		}
	case s.runs == 0:
		text = "nothing was searched"
	default:
		text = s.nothingFound(rest) + " (" + text + ")"
	}
	if err != nil {
		text += "; " + err.Error()
	}
	return text
}

// nothingFound says why nobody is suspected.
func (s *search) nothingFound(nodes []int) string {
	trials := s.ofGroup(nodes)
	switch n := len(trials); {
	case n == 0:
		return "the search has not come to an end"
	case n == 1 && trials[0].Verdict == Good:
		return "the nodes that are left are good together"
	case trials[n-1].Verdict == Good:
		return "what was bad about all nodes together did not come again: it was passing"
	}
	var missed, good []Trial
	for _, t := range s.trials {
		if t.Verdict == Good {
			good = append(good, t)
		} else {
			missed = append(missed, t)
		}
	}
	if len(good) == 0 {
		return fmt.Sprintf("no group of nodes is good, %s: look for what they have in common, such as settings, software or a mark too high", s.span(missed))
	}
	smallest := missed[0]
	for _, t := range missed {
		if len(t.Nodes) < len(smallest.Nodes) {
			smallest = t
		}
	}
	if s.bad(smallest) {
		return fmt.Sprintf("it only shows with %d nodes together (%s), and all smaller groups of them are good: look at what they share, such as switches", len(smallest.Nodes), s.names(smallest.Nodes))
	}
	return fmt.Sprintf("no node or link stands out: groups are below the mark, %s, but no more below others than their noise", s.span(missed))
}
