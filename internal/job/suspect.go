// SPDX-License-Identifier: MPL-2.0

package job

import (
	"slices"
	"strconv"
)

// Pattern is which groups of nodes a benchmark runs on.
type Pattern string

// Patterns.
const (
	// PatternAuto measures each node alone, then all together, and searches for the culprit only where the run over all
	// misses its mark, is wrong, hangs or does not start. It is what an empty pattern means.
	PatternAuto       Pattern = "auto"
	PatternPerNode    Pattern = "per_node"    // each node alone, and nothing else
	PatternAll        Pattern = "all"         // all nodes together, and nothing else
	PatternPairs      Pattern = "pairs"       // every node once, with its neighbour
	PatternTwoPass    Pattern = "two_pass"    // pairs, then the suspects with nodes that are good
	PatternRoundRobin Pattern = "round_robin" // every node with every other
	PatternRails      Pattern = "rails"       // all nodes, one GPU of each at a time
)

// Patterns that there are.
var Patterns = []Pattern{PatternAuto, PatternPerNode, PatternAll, PatternPairs, PatternTwoPass, PatternRoundRobin, PatternRails}

// SuspectKind says what is suspected.
type SuspectKind string

// Kinds of suspects.
const (
	SuspectNode SuspectKind = "node"
	SuspectGPU  SuspectKind = "gpu"  // one GPU of a node
	SuspectRail SuspectKind = "rail" // the same GPU of every node, and the network that joins them
	SuspectLink SuspectKind = "link" // what is between two nodes that are both good with others
)

// Confidence in a suspicion.
type Confidence string

// Confidences. A node that is at least Likely was bad with different partners, each of them good without it.
const (
	Certain  Confidence = "certain"
	Likely   Confidence = "likely"
	Possible Confidence = "possible"
)

// Symptom is how what is suspected shows.
type Symptom string

// Symptoms.
const (
	SymptomSlow     Symptom = "slow"     // too slow, in all iterations as far as they are known
	SymptomUnsteady Symptom = "unsteady" // fast in some iterations and far slower in others
	SymptomWrong    Symptom = "wrong"    // wrong values
	SymptomFailed   Symptom = "failed"   // runs with it do not come to their end
)

// Suspect is what the runs point at.
type Suspect struct {
	Kind SuspectKind `json:"kind"`
	// Nodes by name: the one, or the two of a link. Empty for a rail.
	Nodes []string `json:"nodes,omitempty"`
	// Index of the GPU or rail; nil for others.
	Index      *int       `json:"index,omitempty"`
	Confidence Confidence `json:"confidence"`
	// Symptom is the worst that the evidence against it shows; empty in results of earlier versions.
	Symptom Symptom `json:"symptom,omitempty"`
	// Evidence are sentences with the numbers.
	Evidence []string `json:"evidence"`
	// Replace says that replacing the node can cure it.
	Replace bool `json:"replace,omitempty"`
}

// Name is what people call it, such as "node gpu-3" or "link gpu-1 - gpu-2".
func (s Suspect) Name() string {
	name := string(s.Kind)
	if s.Index != nil {
		name += " " + strconv.Itoa(*s.Index)
	}
	for i, node := range s.Nodes {
		switch {
		case i > 0:
			name += " -"
		case s.Index != nil:
			name += " of"
		}
		name += " " + node
	}
	return name
}

// ToReplace gives the nodes of those suspects that replacing can cure: instance IDs where the job has them, else names.
func (j Job) ToReplace(suspects []Suspect) []string {
	var replace []string
	for _, s := range suspects {
		if !s.Replace || s.Confidence == Possible || len(s.Nodes) != 1 {
			continue
		}
		for _, n := range j.Nodes {
			id := n.ID
			if id == "" {
				id = n.Name
			}
			if n.Name == s.Nodes[0] && !slices.Contains(replace, id) {
				replace = append(replace, id)
			}
		}
	}
	return replace
}
