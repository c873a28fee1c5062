// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"time"
)

// clock shortens OCI's intervals; the time of day stays real.
type clock struct{ scale float64 }

func (c clock) now() time.Time { return time.Now().UTC() }

// scaled gives the real length of an interval of OCI.
func (c clock) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.scale)
}

// sleep waits for an interval of OCI's.
func (c clock) sleep(ctx context.Context, d time.Duration) error { return pause(ctx, c.scaled(d)) }

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
	maxClockSkew = 5 * time.Minute // of signatures
	leastKept    = time.Minute     // of what is terminated, because clients poll in real time
)
