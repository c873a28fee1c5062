// SPDX-License-Identifier: MPL-2.0

package pattern

import (
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// linksOf searches the links between nodes that are good with others.
func (s *search) linksOf(h halves) ([]job.Suspect, error) {
	var bad [][]int
	for _, pair := range h.pairs {
		if s.cleared(pair[0]) && s.cleared(pair[1]) {
			bad = append(bad, pair)
		}
	}
	for _, sides := range h.across {
		if !s.cleared(sides[1][0]) {
			continue // a single node that is bad itself
		}
		pairs, err := s.cross(sides[0], sides[1])
		if err != nil {
			return nil, err
		}
		bad = append(bad, pairs...)
	}
	return s.accuseLinks(bad)
}

// cross searches the pairs that are bad between two groups, each of which is good: by halves of both.
func (s *search) cross(a, b []int) ([][]int, error) {
	if len(a) == 1 && len(b) == 1 {
		return s.badPairs("across", [][]int{{a[0], b[0]}})
	}
	as, bs := parts(a), parts(b)
	for shift := range 2 {
		var sides [][2][]int
		for i := range as {
			j := (i + shift) % 2
			if j < len(bs) {
				sides = append(sides, [2][]int{as[i], bs[j]})
			}
		}
		var groups [][]int
		for _, side := range sides {
			groups = append(groups, append(slices.Clone(side[0]), side[1]...))
		}
		trials, err := s.round("across", groups...)
		if err != nil {
			return nil, err
		}
		var found [][]int
		for i, t := range trials {
			switch {
			case t.Verdict == Good:
			case len(t.Nodes) == 2:
				found = append(found, t.Nodes)
			default:
				deeper, err := s.cross(sides[i][0], sides[i][1])
				if err != nil {
					return nil, err
				}
				found = append(found, deeper...)
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

func parts(nodes []int) [][]int {
	if len(nodes) == 1 {
		return [][]int{nodes}
	}
	return split(nodes)
}

// badPairs measures pairs and gives those that are not good.
func (s *search) badPairs(purpose string, pairs [][]int) ([][]int, error) {
	trials, err := s.round(purpose, pairs...)
	if err != nil {
		return nil, err
	}
	var bad [][]int
	for _, t := range trials {
		if t.Verdict != Good {
			bad = append(bad, t.Nodes)
		}
	}
	return bad, nil
}

// accuseLinks accuses the pairs that are bad twice. Pairs that share a node are measured one after the other.
func (s *search) accuseLinks(pairs [][]int) ([]job.Suspect, error) {
	var suspects []job.Suspect
	for len(pairs) > 0 {
		now, later := disjoint(pairs)
		if _, err := s.round("links again", now...); err != nil {
			return suspects, err
		}
		for _, pair := range now {
			trials := s.ofGroup(pair)
			if !slices.ContainsFunc(trials, func(t Trial) bool { return !s.bad(t) }) && len(trials) > 1 {
				suspects = append(suspects, s.accuseLink(pair, trials))
			}
		}
		pairs = later
	}
	return suspects, nil
}

// disjoint gives the pairs that can run at the same time, and the others.
func disjoint(pairs [][]int) (now, later [][]int) {
	var used []int
	for _, pair := range pairs {
		if slices.Contains(used, pair[0]) || slices.Contains(used, pair[1]) {
			later = append(later, pair)
			continue
		}
		used, now = append(used, pair...), append(now, pair)
	}
	return now, later
}

// sweep is the last resort: every pair that was not tried, as long as runs are left.
func (s *search) sweep(nodes []int) ([]job.Suspect, error) {
	var bad [][]int
	for _, round := range circle(nodes) {
		pairs, err := s.badPairs("every pair", s.untried(round))
		if err != nil {
			return nil, err
		}
		bad = append(bad, pairs...)
	}
	return s.accuseLinks(bad)
}

// untried gives the pairs that were not measured alone.
func (s *search) untried(pairs [][]int) [][]int {
	return slices.DeleteFunc(slices.Clone(pairs), func(pair []int) bool { return len(s.ofGroup(pair)) > 0 })
}

// circle gives rounds in which every node meets every other once (the circle method): n-1 of them, n where n is odd.
func circle(nodes []int) [][][]int {
	seats := slices.Clone(nodes)
	if len(seats)%2 == 1 {
		seats = append(seats, -1) // who meets it has a rest
	}
	var rounds [][][]int
	for range len(seats) - 1 {
		var round [][]int
		for i := range len(seats) / 2 {
			a, b := seats[i], seats[len(seats)-1-i]
			if a >= 0 && b >= 0 {
				round = append(round, []int{min(a, b), max(a, b)})
			}
		}
		rounds = append(rounds, round)
		seats = slices.Concat(seats[:1], seats[len(seats)-1:], seats[1:len(seats)-1])
	}
	return rounds
}
