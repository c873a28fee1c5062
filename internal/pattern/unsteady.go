// SPDX-License-Identifier: MPL-2.0

package pattern

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// What comes and goes, such as a link that flaps or a GPU that throttles, is slow in some iterations alone, and the mean over
// all of them, which is a run's bandwidth, can be good in spite of it. Every machine has some unrest of its own, and nobody
// knows how much that is: pairs of nodes are unsteady when each of their runs loses by far more than the runs of the others.

const (
	// leastLost is a loss that is told from the unrest of a quiet machine: GPUs that are well lose one to three hundredths.
	leastLost = 0.1
	// timesOthers is by how much more a pair loses that is unsteady.
	timesOthers = 4
	// manyTrials is of how many trials of the others one does not count, because chance can strike any.
	manyTrials = 4
)

// lost is how much longer an iteration takes on average than the fastest one, as a part of that; 0 when it is not known.
func (t Trial) lost() float64 {
	if t.GBPerS == 0 {
		return 0
	}
	return max(0, t.Fastest/t.GBPerS-1)
}

// differs says whether the fastest iteration is clearly above the average.
func (t Trial) differs() bool { return t.lost() > leastLost }

// byIterations is for when averages leave nobody to suspect, and iterations differ. It measures every node twice with each of
// its neighbours, so that every way between neighbours is there, and what is unsteady then once more: 2 n runs for n nodes
// and 2 for each node or link that is unsteady, at most.
func (s *search) byIterations(nodes []int) ([]job.Suspect, error) {
	if len(nodes) < 4 || !unequal(s.trials) { // of three pairs, two have a node in common
		return nil, nil
	}
	ring := make([][]int, len(nodes))
	for i, n := range nodes {
		next := nodes[(i+1)%len(nodes)]
		ring[i] = []int{min(n, next), max(n, next)}
	}
	began := len(s.trials)
	for range 2 {
		if err := s.inTurns("iteration by iteration", ring); err != nil {
			return nil, err
		}
	}
	if err := s.inTurns("unsteady pairs again", unsteady(s.trials[began:])); err != nil {
		return nil, err
	}
	bad := unsteady(s.trials[began:])
	s.mark(bad)
	return s.accuseUnsteady(ring, bad), nil
}

// unequal says whether a group loses by far more than another.
func unequal(trials []Trial) bool {
	least, most := math.Inf(1), 0.0
	for _, t := range trials {
		if t.Fastest > 0 {
			least, most = min(least, t.lost()), max(most, t.lost())
		}
	}
	return most > max(leastLost, timesOthers*least)
}

// mark has the good trials of groups count as unsteady.
func (s *search) mark(groups [][]int) {
	for i, t := range s.trials {
		if t.Verdict == Good && t.differs() && containsGroup(groups, t.Nodes) {
			s.trials[i].Verdict = Unsteady
		}
	}
}

// accuseUnsteady suspects the nodes both of whose pairs in the ring are unsteady, and else the links.
func (s *search) accuseUnsteady(ring, bad [][]int) []job.Suspect {
	var suspects []job.Suspect
	var accused []int
	for _, pair := range ring {
		for _, n := range pair {
			clean := slices.ContainsFunc(ring, func(p []int) bool { return slices.Contains(p, n) && !containsGroup(bad, p) })
			if !clean && !slices.Contains(accused, n) {
				accused = append(accused, n)
				suspects = append(suspects, s.accuse(n))
			}
		}
	}
	for _, pair := range bad {
		if !slices.ContainsFunc(accused, func(n int) bool { return slices.Contains(pair, n) }) {
			suspects = append(suspects, s.accuseLink(pair, s.ofGroup(pair)))
		}
	}
	return suspects
}

// unsteady gives the groups each of whose trials loses by far more than nearly every trial of the other groups; these are
// at least as many.
func unsteady(trials []Trial) [][]int {
	type losses struct {
		group []int
		lost  []float64 // ascending
	}
	var groups []losses
	for _, t := range trials {
		at := slices.IndexFunc(groups, func(g losses) bool { return slices.Equal(g.group, t.Nodes) })
		if at < 0 {
			at, groups = len(groups), append(groups, losses{group: t.Nodes})
		}
		groups[at].lost = append(groups[at].lost, t.lost())
	}
	for _, g := range groups {
		slices.Sort(g.lost)
	}
	slices.SortFunc(groups, func(a, b losses) int { return cmp.Compare(a.lost[0], b.lost[0]) })
	var others []float64
	var found [][]int
	for i, g := range groups {
		if 2*i >= len(groups) && g.lost[0] > max(leastLost, timesOthers*mostBut(len(others)/manyTrials, others)) {
			for _, bad := range groups[i:] {
				found = append(found, bad.group)
			}
			return found
		}
		others = append(others, g.lost...)
	}
	return nil
}

// mostBut gives the greatest of values but for some; 0 when there is none.
func mostBut(some int, values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if some >= len(sorted) {
		return 0
	}
	return sorted[len(sorted)-1-some]
}

// inTurns measures pairs, those that share a node one after the other.
func (s *search) inTurns(purpose string, pairs [][]int) error {
	for len(pairs) > 0 {
		var now [][]int
		now, pairs = disjoint(pairs)
		if _, err := s.round(purpose, now...); err != nil {
			return err
		}
	}
	return nil
}

func containsGroup(groups [][]int, group []int) bool {
	return slices.ContainsFunc(groups, func(g []int) bool { return slices.Equal(g, group) })
}

// inPart says whether a slow group is fast enough in some of its iterations.
func (s *search) inPart(t Trial) bool {
	enough := s.Mark
	if enough == 0 {
		enough = s.best(len(t.Nodes)) / 2
	}
	return t.differs() && t.Fastest >= enough
}

// symptom is what trials show that speak against somebody; empty when they show nothing.
func (s *search) symptom(trials []Trial) job.Symptom {
	worst := Good
	for _, t := range trials {
		worst = max(worst, t.Verdict)
	}
	switch worst {
	case Good:
		return ""
	case Failed:
		return job.SymptomFailed
	case Wrong:
		return job.SymptomWrong
	case Unsteady, Slow:
	}
	known := slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return t.Fastest == 0 })
	if len(known) == 0 || slices.ContainsFunc(known, func(t Trial) bool { return t.Verdict == Slow && !s.inPart(t) }) {
		return job.SymptomSlow
	}
	return job.SymptomUnsteady
}

// iterations says how the fastest iteration of a group compares with its average; nothing where it is not known.
func (s *search) iterations(t Trial) string {
	switch {
	case t.Fastest == 0:
		return ""
	case t.Verdict == Unsteady || s.inPart(t):
		return fmt.Sprintf("; not in all iterations: the fastest reaches %s GB/s", number(t.Fastest))
	}
	return fmt.Sprintf("; its fastest iteration reaches %s GB/s", number(t.Fastest))
}
