// SPDX-License-Identifier: MPL-2.0

// Package setup puts a node into a wanted state by steps. Each step looks first, changes what differs, and looks
// again; a second run changes nothing.
package setup

import (
	"context"
	"io"
)

// Step is one thing to have on this node.
type Step interface {
	// Name is a stable word, unique in a plan; Title says the step for people, in the imperative ("Install runc 1.3.3").
	Name() string
	Title() string
	// Check looks whether the step is in place, and changes nothing. What differs is told in State.
	Check(ctx context.Context) (State, error)
	// Apply puts it in place; what its programs print goes to output. The plan checks again afterwards.
	Apply(ctx context.Context, output io.Writer) error
}

// State is what a step's check found.
type State struct {
	Done bool
	// Detail says what differs, or what is there, such as "runc 1.1.12 is installed".
	Detail string
}
