// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"sync"
	"time"
)

// instant is a point on the region's clock: seconds of OCI's intervals since the region was made.
type instant float64

// clock runs OCI's intervals, faster than the wall clock by a scale, and can be advanced. The time of day
// stays real: clients compare timestamps with their own.
type clock struct {
	scale float64

	mu     sync.Mutex
	anchor anchor
	moved  chan struct{} // closed when the clock is advanced
}

// anchor fixes the region's clock on the wall clock. It outlives the process: the region's clock goes on
// while the region is not served.
type anchor struct {
	Wall  time.Time `json:"wall"`
	At    instant   `json:"at"`
	Scale float64   `json:"scale"`
}

// instant of a wall clock's time. A wall clock that was set back does not set the region's back.
func (a anchor) instant(wall time.Time) instant {
	return a.At + instant(max(0, wall.Sub(a.Wall).Seconds())*a.Scale)
}

// newClock goes on from an anchor, with another scale if need be.
func newClock(scale float64, from anchor) *clock {
	now := time.Now()
	return &clock{scale: scale, anchor: anchor{now, from.instant(now), scale}, moved: make(chan struct{})}
}

// now is the time of day.
func (c *clock) now() time.Time { return time.Now().UTC() }

// instant is the present one, and moved is closed when it jumps.
func (c *clock) instant() (now instant, moved <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.anchor.instant(time.Now()), c.moved
}

// after gives the instant when an interval of OCI's that begins now has passed.
func (c *clock) after(d time.Duration) instant {
	now, _ := c.instant()
	return now + instant(d.Seconds())
}

func (c *clock) reached(at instant) bool {
	now, _ := c.instant()
	return now >= at
}

// advance moves the clock on, past whatever waits for it.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.anchor.At += instant(d.Seconds())
	close(c.moved)
	c.moved = make(chan struct{})
}

// wait returns at an instant.
func (c *clock) wait(ctx context.Context, at instant) error {
	for {
		now, moved := c.instant()
		if now >= at {
			return ctx.Err()
		}
		t := time.NewTimer(time.Duration(float64(at-now)/c.scale*float64(time.Second)) + time.Microsecond)
		select {
		case <-t.C:
		case <-moved:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		t.Stop()
	}
}

// sleep waits for an interval of OCI's.
func (c *clock) sleep(ctx context.Context, d time.Duration) error { return c.wait(ctx, c.after(d)) }

// pause waits in real time.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// OCI's intervals. Launches come in batches of about 20 with some ten minutes each on RDMA shapes, as
// Oracle's HPC stack assumes; terminated resources stay readable for half a day at least.
const (
	reserveTime       = 2 * time.Minute // of a cluster network's hosts
	bootTimeBareMetal = 8 * time.Minute
	bootTimeVM        = time.Minute
	stopTime          = time.Minute
	terminateTime     = 2 * time.Minute
	detachTime        = time.Minute
	relaunchInterval  = 5 * time.Minute
	terminatedVisible = 12 * time.Hour
	workRequestKept   = 24 * time.Hour
	retryTokenValid   = 24 * time.Hour
	launchBatch       = 20

	// In real time, whatever the scale:
	maxClockSkew  = 5 * time.Minute // of signatures
	leastKept     = time.Minute     // of what is terminated, because clients poll in real time
	sweepInterval = time.Second     // between two looks for what is to be forgotten
)
