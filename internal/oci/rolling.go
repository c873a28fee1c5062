// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
)

// rolling is how far the replacement of stale nodes has come.
type rolling struct {
	begun           bool
	fresh           int // nodes that were up to date before
	replaced, stale int
}

// roll begins to replace the next batch of stale nodes, the oldest first. All nodes are complete with
// their addresses before the next batch goes.
func (o *Operation) roll(ctx context.Context, now Cluster, members []Node) (begun bool, err error) {
	if o.change.MaxUnavailable <= 0 {
		return false, nil
	}
	before := o.rolling
	former, err := o.countStale(ctx, now, members)
	if err != nil || len(former) == 0 {
		return false, err
	}
	if before.begun {
		if len(former) >= before.stale {
			return false, o.failure(ctx, now, "OCI has launched the replacements of nodes like those before, not by the present instance configuration.")
		}
		if _, err := o.Nodes(ctx); err != nil {
			return false, err
		}
	}
	return true, o.release(ctx, now, former[:min(len(former), o.change.MaxUnavailable)], true)
}

// countStale gives the stale nodes, and notes how far the roll has come.
func (o *Operation) countStale(ctx context.Context, now Cluster, members []Node) ([]Node, error) {
	if err := o.clusters.markStale(ctx, now, members); err != nil {
		return nil, err
	}
	former := stale(members)
	fresh := len(members) - len(former)
	if !o.rolling.begun {
		o.rolling = rolling{begun: true, fresh: fresh}
	}
	o.rolling.replaced, o.rolling.stale = max(0, fresh-o.rolling.fresh), len(former)
	return former, nil
}

// stopped adds to an error, if the roll had begun, how far it came.
func (o *Operation) stopped(ctx context.Context, last Cluster, err error) error {
	if o.rolling.stale == 0 {
		return err
	}
	ctx, cancel := o.clusters.Afterwards(ctx)
	defer cancel()
	if members, unread := o.clusters.members(ctx, last); unread == nil {
		_, _ = o.countStale(ctx, last, members) // The count from before is good enough.
	}
	stopped := &RollError{Replaced: o.rolling.replaced, Stale: o.rolling.stale, Err: err}
	var failure *FailureError
	if errors.As(err, &failure) {
		failure.What += " " + stopped.Account()
		return err
	}
	return stopped
}

// RollError says how far a roll came that was stopped before its end.
type RollError struct {
	Replaced, Stale int // nodes
	Err             error
}

func (e *RollError) Error() string { return e.Account() + " The roll was stopped: " + e.Err.Error() }
func (e *RollError) Unwrap() error { return e.Err }

// Account says how far the roll came, and how to go on.
func (e *RollError) Account() string {
	return fmt.Sprintf("Replaced so far: %d of its nodes. Still launched as before, and running: %d. Apply again to go on with them.",
		e.Replaced, e.Stale)
}
