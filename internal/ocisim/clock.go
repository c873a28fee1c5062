// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"fmt"
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

// anchored is what a later process goes on from.
func (c *clock) anchored() anchor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.anchor
}

// instant is the present one, and moved is closed when it jumps.
func (c *clock) instant() (now instant, moved <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.anchor.instant(time.Now()), c.moved
}

func (c *clock) present() instant {
	now, _ := c.instant()
	return now
}

func (c *clock) reached(at instant) bool { return c.present() >= at }

// plus gives the instant when an interval of OCI's has passed.
func (at instant) plus(d time.Duration) instant { return at + instant(d.Seconds()) }

// advance moves the clock on, past whatever waits for it.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.anchor.At += instant(d.Seconds())
	close(c.moved)
	c.moved = make(chan struct{})
}

// Clock is how far a region's clock has come.
type Clock struct {
	// Elapsed is how much of OCI's time has passed since the region was made.
	Elapsed time.Duration `json:"elapsed"`
	// Scale is by how much the clock is faster than the wall clock.
	Scale float64 `json:"scale"`
}

// Clock gives the region's clock, which runs OCI's intervals. Timestamps are the wall clock's.
func (s *Server) Clock() Clock {
	now, _ := s.clock.instant()
	return Clock{time.Duration(min(float64(now)*float64(time.Second), 1<<62)), s.clock.scale}
}

// Advance moves the region's clock on at once: what it was to reach within the interval is over, and what
// is terminated and was kept until then is forgotten, even if clients may still ask for it.
func (s *Server) Advance(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("ocisim: the clock cannot be set back (by %s)", -d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock.advance(d)
	s.store.sweep(true)
	return s.commit()
}

// longestTimer bounds a timer: on a very slow clock, an interval is no [time.Duration].
const longestTimer = time.Hour

// timer is for how long to wait at once for an interval to pass.
func (c *clock) timer(left instant) time.Duration {
	seconds := min(float64(left)/c.scale, longestTimer.Seconds())
	return time.Duration(seconds*float64(time.Second)) + time.Microsecond
}

// wait returns at an instant.
func (c *clock) wait(ctx context.Context, at instant) error {
	for {
		now, moved := c.instant()
		if now >= at {
			return ctx.Err()
		}
		t := time.NewTimer(c.timer(at - now))
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
func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	return c.wait(ctx, c.present().plus(d))
}

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
