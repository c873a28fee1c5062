// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Waiter asks again and again until something is so: soon at first, then ever more slowly.
type Waiter struct {
	First time.Duration // the first pause
	Max   time.Duration // the longest pause
	// Faults is how many answers in a row may fail to arrive before waiting ends.
	Faults int
}

// DefaultWaiter finds a quick change within a second or two, and asks twice a minute about slow ones.
var DefaultWaiter = Waiter{First: time.Second, Max: 30 * time.Second, Faults: 4}

// Until calls check until it is done, until it fails for good, or until the context ends. Failures to
// reach the service, and failures of the service, are tolerated for a while.
func (w Waiter) Until(ctx context.Context, check func(context.Context) (done bool, err error)) error {
	pause := w.First
	faults := 0
	for {
		done, err := check(ctx)
		switch {
		case ctx.Err() != nil && !done:
			return endOf(ctx, err)
		case err == nil:
			faults = 0
		case faults == w.Faults || !passing(err):
			return err
		default:
			faults++
		}
		if done {
			return nil
		}
		if sleep(ctx, jittered(pause)) != nil {
			return endOf(ctx, err)
		}
		pause = min(pause*3/2, w.Max)
	}
}

// endOf gives the reason why a context ended, and the service's last answer, or what else went wrong last.
func endOf(ctx context.Context, last error) error {
	if errors.Is(last, ctx.Err()) {
		if _, answered := serviceError(last); answered {
			return last // it tells of both already
		}
		return ctx.Err()
	}
	if last == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w; the last answer was: %w", ctx.Err(), last)
}

// passing says that a failed look at something says nothing about the thing itself.
func passing(err error) bool {
	switch KindOf(err) {
	case Unreachable, Unavailable, Throttled:
		return true
	default:
		return false
	}
}

// jittered gives a time between half of d and d.
func jittered(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) //nolint:gosec // Jitter needs no secrecy.
}
