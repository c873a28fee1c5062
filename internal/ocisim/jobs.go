// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"encoding/json"
	"fmt"
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
	_ = s.commit() // It is logged, and tried again with the next change.
	return true
}

// commit writes what has changed, before the lock is released and a client gets its answer. A region that
// cannot write goes on in memory: an error is for the log, and for the client who waits.
func (s *Server) commit() error {
	names, err := s.names.source.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode the generator of names: %w", err)
	}
	text, err := json.Marshal(about{
		Version: databaseVersion, Region: s.cfg.Region, TenancyID: s.cfg.TenancyID, CompartmentID: s.cfg.CompartmentID,
		Made: s.made.Time, Clock: s.clock.anchored(), Names: names, Position: s.store.position, Scenario: s.cfg.Scenario,
	})
	if err != nil {
		return fmt.Errorf("encode the region: %w", err)
	}
	if err := s.store.commit(text); err != nil {
		s.log.Error("the region's state was not written", "error", err)
		return err
	}
	return nil
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
