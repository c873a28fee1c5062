// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"time"
)

// job is the one background activity of a resource.
type job struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// begin cancels the job of a resource and runs another one after it has ended. The lock must be held.
func (s *Server) begin(slot *job, run func(ctx context.Context)) {
	prev := *slot
	if prev.cancel != nil {
		prev.cancel()
	}
	ctx, cancel := context.WithCancel(s.ctx)
	next := job{cancel: cancel, done: make(chan struct{})}
	*slot = next
	s.background.Go(func() {
		defer cancel()
		defer close(next.done)
		if prev.done != nil {
			<-prev.done
		}
		run(ctx)
	})
}

// update changes state from a job, unless the job has been cancelled, and says whether it did.
func (s *Server) update(ctx context.Context, change func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	change()
	return true
}

// sweep drops what is to be forgotten.
func (s *Server) sweep() {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.update(s.ctx, func() { s.store.sweep(false) })
		case <-s.ctx.Done():
			return
		}
	}
}
