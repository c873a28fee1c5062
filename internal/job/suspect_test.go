// SPDX-License-Identifier: MPL-2.0

package job

import (
	"slices"
	"testing"
)

func TestToReplace(t *testing.T) {
	t.Parallel()
	j := Job{Nodes: []Node{{ID: "ocid1.instance.a", Name: "a"}, {Name: "b"}, {ID: "ocid1.instance.c", Name: "c"}}}
	gpu := 3
	suspects := []Suspect{
		{Kind: SuspectGPU, Nodes: []string{"c"}, Index: &gpu, Confidence: Certain, Replace: true},
		{Kind: SuspectNode, Nodes: []string{"c"}, Confidence: Likely, Replace: true}, // once is enough
		{Kind: SuspectNode, Nodes: []string{"b"}, Confidence: Likely, Replace: true},
		{Kind: SuspectNode, Nodes: []string{"a"}, Confidence: Possible, Replace: true}, // too little is known
		{Kind: SuspectNode, Nodes: []string{"a"}, Confidence: Certain},                 // its set-up is at fault
		{Kind: SuspectLink, Nodes: []string{"a", "b"}, Confidence: Likely},
	}
	if got := j.ToReplace(suspects); !slices.Equal(got, []string{"ocid1.instance.c", "b"}) {
		t.Errorf("%v", got)
	}
}

func TestSuspectName(t *testing.T) {
	t.Parallel()
	three := 3
	for want, s := range map[string]Suspect{
		"node a":     {Kind: SuspectNode, Nodes: []string{"a"}},
		"link a - b": {Kind: SuspectLink, Nodes: []string{"a", "b"}},
		"gpu 3 of a": {Kind: SuspectGPU, Nodes: []string{"a"}, Index: &three},
		"rail 3":     {Kind: SuspectRail, Index: &three},
	} {
		if got := s.Name(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
