// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// NodeFault is what is wrong with some of the instances that are launched.
type NodeFault struct {
	// Name is the instance's display name, or a pattern such as inst-*-gpu; empty takes every instance.
	Name  string `yaml:"name"`
	Shape string `yaml:"shape"`
	// Skip is how many of these instances are sound before the first that is not.
	Skip int `yaml:"skip"`
	// Times is how many instances have the fault; 0 means all.
	Times  int        `yaml:"times"`
	Effect NodeEffect `yaml:"effect"`
}

// NodeEffect is what is wrong with an instance.
type NodeEffect string

// Effects on instances. Those after the first need hosts to be seen.
const (
	// NodeBootFails ends the launch: the instance is terminated, and its work request says why.
	NodeBootFails NodeEffect = "boot-fails"
	// NodeNoSSH is a RUNNING instance that never answers on port 22.
	NodeNoSSH NodeEffect = "no-ssh"
	// NodeCloudInitFails is an instance whose cloud-init ends with an error.
	NodeCloudInitFails NodeEffect = "cloud-init-fails"
)

var nodeEffects = []NodeEffect{NodeBootFails, NodeNoSSH, NodeCloudInitFails}

const bootFails = "the host did not boot, as the scenario says"

func (f *NodeFault) check(shapes []offeredShape) error {
	if !slices.Contains(nodeEffects, f.Effect) {
		return fmt.Errorf("effect: %q is unknown; choose %s", f.Effect, strings.Join(toStrings(nodeEffects), ", "))
	}
	if f.Shape != "" {
		if err := checkShape(shapes, f.Shape); err != nil {
			return fmt.Errorf("shape: %w", err)
		}
	}
	return errors.Join(checkPattern("name", f.Name), checkTurns(f.Skip, f.Times))
}

// dueNodeFault is what is wrong with an instance that is launched.
func (s *Server) dueNodeFault(name, shape string) NodeEffect {
	for i, f := range s.cfg.Nodes {
		if matches(f.Name, name) && (f.Shape == "" || f.Shape == shape) && s.nodeTurns[i].due(f.Skip, 1, f.Times, 0) {
			return f.Effect
		}
	}
	return ""
}
