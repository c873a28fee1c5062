// SPDX-License-Identifier: MPL-2.0

// Package setup puts a node into a wanted state by steps. Each step looks first, changes what differs, and looks
// again; a second run changes nothing. [Serve] does so on a node for whoever is at the other end of a session.
package setup

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
)

// Step is one thing to have on this node.
type Step interface {
	// Name is a stable word, unique in a plan; Title says the step for people, in the imperative ("Install runc 1.3.3").
	Name() string
	Title() string
	// Check looks whether the step is in place, and changes nothing. What differs is told in State.
	Check(ctx context.Context) (State, error)
	// Apply puts it in place; what its programs print goes to output. The plan checks again afterwards. It may have
	// been interrupted at any point before, and must then do the rest.
	Apply(ctx context.Context, output io.Writer) error
}

// Downloader is a step that gets much from outside of the cluster. Only some nodes at a time apply one.
type Downloader interface {
	// Downloads says whether this step does.
	Downloads() bool
}

// Shared is a step that puts something large in place, which one node can get from another.
type Shared interface {
	Step
	// Content names it, the same on all nodes; empty when it is not to be shared.
	Content() string
	// Identity is what is on this node, once the step is in place.
	Identity(ctx context.Context) (string, error)
	// Receive puts it in place as the other node has it. An error leaves no other content in its place.
	Receive(ctx context.Context, from Gift, output io.Writer) error
}

// Gift is something that another node has and gives.
type Gift struct {
	handover.Offer
	From     string `json:"from"`     // the node's name
	Identity string `json:"identity"` // of what it has
}

// State is what a step's check found.
type State struct {
	Done bool
	// Detail says what differs, or what is there, such as "runc 1.1.12 is installed".
	Detail string
}

// Ident is what every step of this package is called by.
type Ident struct {
	ID    string
	Label string // empty: the step words its title itself
}

// Name gives the ID.
func (i Ident) Name() string { return i.ID }

func (i Ident) title(own string) string { return cmp.Or(i.Label, own) }

// advised is an error with what to do about it.
type advised struct {
	error
	advice string
}

func (a *advised) Unwrap() error { return a.error }

// Advise adds to an error what to do next.
func Advise(err error, advice string) error { return &advised{err, advice} }

// AdviceOf is what to do about an error; empty when nobody knows.
func AdviceOf(err error) string {
	var a *advised
	if errors.As(err, &a) {
		return a.advice
	}
	return adviceOfSystem(err)
}
