// SPDX-License-Identifier: MPL-2.0

package pattern

import (
	"fmt"
	"math"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// accuse suspects a node, with the smallest groups that speak against it.
func (s *search) accuse(node int) job.Suspect {
	against := s.badWith(node)
	slices.SortStableFunc(against, func(a, b Trial) int { return len(a.Nodes) - len(b.Nodes) })
	evidence := against[:min(len(against), 3)]
	for _, t := range s.trials { // its partners are good with others
		for _, partner := range without(evidence[0].Nodes, []int{node}) {
			if t.Verdict == Good && len(t.Nodes) == 2 && slices.Contains(t.Nodes, partner) && len(evidence) < 4 {
				evidence = append(slices.Clip(evidence), t)
			}
		}
	}
	return job.Suspect{
		Kind: job.SuspectNode, Nodes: []string{s.Nodes[node]}, Confidence: job.Likely, Symptom: s.symptom(against),
		Evidence: s.sentences(evidence), Replace: curable(against),
	}
}

// accuseLink suspects a link.
func (s *search) accuseLink(pair []int, trials []Trial) job.Suspect {
	evidence := slices.Clone(trials)
	for _, node := range pair {
		for _, t := range s.trials {
			if t.Verdict == Good && slices.Contains(t.Nodes, node) {
				evidence = append(evidence, t)
				break
			}
		}
	}
	return job.Suspect{
		Kind: job.SuspectLink, Nodes: []string{s.Nodes[pair[0]], s.Nodes[pair[1]]}, Confidence: job.Likely, Symptom: s.symptom(trials),
		Evidence: s.sentences(evidence),
	}
}

// curable says whether replacing a node can cure what the trials show.
func curable(trials []Trial) bool {
	return len(trials) > 0 && !slices.ContainsFunc(trials, func(t Trial) bool { return t.SetUp })
}

func (s *search) sentences(trials []Trial) []string {
	sentences := make([]string, 0, len(trials))
	for _, t := range trials {
		sentences = append(sentences, s.sentence(t))
	}
	return sentences
}

// sentence says what came of a trial.
func (s *search) sentence(t Trial) string {
	who := s.names(t.Nodes)
	if len(t.Nodes) == 2 {
		who = s.Nodes[t.Nodes[0]] + " with " + s.Nodes[t.Nodes[1]]
	} else if len(t.Nodes) > 4 {
		who = fmt.Sprintf("%d nodes (%s)", len(t.Nodes), who)
	}
	switch {
	case t.Verdict == Good && t.GBPerS > 0:
		return fmt.Sprintf("%s: good, %s GB/s", who, number(t.GBPerS))
	case t.Verdict == Good:
		return who + ": good"
	case t.Verdict == Unsteady:
		return fmt.Sprintf("%s: unsteady, %s GB/s on average%s", who, number(t.GBPerS), s.iterations(t))
	case t.Verdict == Slow && s.Mark > 0:
		return fmt.Sprintf("%s: %s GB/s, below the mark of %s GB/s%s", who, number(t.GBPerS), number(s.Mark), s.iterations(t))
	case t.Verdict == Slow:
		return fmt.Sprintf("%s: %s GB/s, where others reach %s GB/s%s", who, number(t.GBPerS), number(s.best(len(t.Nodes))), s.iterations(t))
	}
	return who + ": " + t.Said
}

// span gives the bandwidths of trials.
func (s *search) span(trials []Trial) string {
	least, most := math.Inf(1), 0.0
	for _, t := range trials {
		if t.GBPerS > 0 {
			least, most = min(least, t.GBPerS), max(most, t.GBPerS)
		}
	}
	if most == 0 {
		return "and none reached a bandwidth"
	}
	return fmt.Sprintf("from %s to %s GB/s", number(least), number(most))
}

func number(gbPerS float64) string { return fmt.Sprintf("%.3g", gbPerS) }

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
