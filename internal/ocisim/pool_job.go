// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// move is an instance on its way into a pool or out of it; its membership says which.
type move struct {
	InstanceID string
	Work       string // work request
	Terminate  bool   // the instance ends when it is out
}

// startPool lets a pool begin what a request wants of it.
func (s *Server) startPool(p *pool) {
	p.At = s.clock.present()
	p.changed()
	s.drivePool(p)
}

// drivePool runs the job of a pool until the pool rests. The job goes by the records alone, step by step,
// so it goes on where another one ended, in this process or in one before.
func (s *Server) drivePool(p *pool) {
	s.begin(&p.job, func(ctx context.Context) {
		for {
			var next wait
			s.update(ctx, func() { next = s.stepPool(p) }) //nolint:contextcheck // jobs live as long as the region, not as the job that starts them
			if next == nil || next(ctx) != nil {
				return
			}
		}
	})
}

// wait is what comes between two steps of a job.
type wait func(ctx context.Context) error

// atOnce goes on with the next step.
func atOnce(ctx context.Context) error { return ctx.Err() }

// until goes on at an instant.
func (s *Server) until(at instant) wait {
	return func(ctx context.Context) error { return s.clock.wait(ctx, at) }
}

// untilRest goes on when the jobs of some instances have ended.
func untilRest(instances []*instance) wait {
	var jobs []<-chan struct{}
	for _, i := range instances {
		jobs = append(jobs, i.job.done)
	}
	return func(ctx context.Context) error {
		for _, done := range jobs {
			select {
			case <-done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return ctx.Err()
	}
}

// stepPool takes a pool's next step towards its size, or its end. It gives nil when the pool rests.
func (s *Server) stepPool(p *pool) wait {
	switch {
	case p.rests():
		return nil
	case p.Then != "":
		return s.stepAction(p)
	case p.Reservation != "":
		return s.stepReservation(p)
	case p.Moving != nil:
		return s.stepMove(p)
	case p.LifecycleState == core.InstancePoolLifecycleStateTerminating:
		return s.stepEnd(p)
	}
	if victims := s.victims(p); len(victims) > 0 || p.Shrinking != "" {
		return s.shrink(p, victims)
	}
	return s.fill(p)
}

func (p *pool) rests() bool {
	return p.gone() || p.LifecycleState == core.InstancePoolLifecycleStateRunning || p.LifecycleState == core.InstancePoolLifecycleStateStopped
}

// stepAction waits for the members, which their own jobs stop or start.
func (s *Server) stepAction(p *pool) wait {
	passing := slices.DeleteFunc(s.staying(p), func(i *instance) bool { return !moving(i.LifecycleState) })
	if len(passing) > 0 {
		return untilRest(passing)
	}
	s.setState(p, p.Then)
	p.Then = ""
	p.changed()
	return nil
}

// stepReservation gets the hosts of a cluster network, all or none.
func (s *Server) stepReservation(p *pool) wait {
	w := s.store.workRequests.get(p.Reservation)
	s.progress(w, 0, 0)
	if !s.clock.reached(p.Due) {
		return s.until(p.Due)
	}
	p.Reservation, p.At = "", p.Due
	p.changed()
	s.reserve(s.networkOf(p), p, w)
	return atOnce
}

// stepMove completes an attachment or a detachment.
func (s *Server) stepMove(p *pool) wait {
	m := p.Moving
	w, i := s.store.workRequests.get(m.Work), s.store.instances.get(m.InstanceID)
	s.progress(w, 0, 0)
	if !s.clock.reached(p.Due) {
		return s.until(p.Due)
	}
	if i != nil { // it has not been forgotten in the meantime
		if m.Terminate && !i.gone() {
			if !i.ending() {
				s.terminate(i, p.Due, nil)
			}
			return untilRest([]*instance{i})
		}
		if i.Membership == core.InstancePoolInstanceLifecycleStateDetaching {
			i.PoolID = ""
		}
		i.Membership = core.InstancePoolInstanceLifecycleStateActive
		i.changed()
	}
	s.succeed(w)
	p.Moving, p.At = nil, max(p.At, p.Due)
	p.changed()
	return atOnce
}

// stepEnd terminates a pool with all of its members.
func (s *Server) stepEnd(p *pool) wait {
	if members := s.members(p); len(members) > 0 || p.Shrinking != "" {
		return s.shrink(p, members)
	}
	s.setState(p, core.InstancePoolLifecycleStateTerminated)
	s.endWork(&p.Ending, s.succeed)
	return nil
}

// shrink terminates members under one work request, and ends that when they are gone.
func (s *Server) shrink(p *pool, victims []*instance) wait {
	w := s.store.workRequests.get(p.Shrinking)
	if w == nil {
		w = s.newWorkRequest(opTerminateInPool, p.compartment(), entityPool, *p.Id, workrequests.WorkRequestResourceActionTypeUpdated)
		for _, i := range victims {
			w.touch(entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeDeleted)
		}
		s.progress(w, 0, len(victims))
		p.Shrinking = *w.Id
		p.changed()
	}
	for _, i := range victims {
		if !i.ending() {
			s.terminate(i, p.At, nil)
		}
	}
	if leaving := slices.DeleteFunc(slices.Clone(s.members(p)), (*instance).stays); len(leaving) > 0 {
		return untilRest(leaving)
	}
	s.endWork(&p.Shrinking, s.succeed)
	p.changed()
	return atOnce
}

// fill launches members in batches until the pool has its size, or must do with less by [Shortage].
func (s *Server) fill(p *pool) wait {
	w := s.store.workRequests.get(p.Launching)
	vacant := *p.Size - len(s.staying(p))
	if w == nil && vacant > 0 {
		w = s.newWorkRequest(opLaunchInPool, p.compartment(), entityPool, *p.Id, workrequests.WorkRequestResourceActionTypeUpdated)
		p.Launching = *w.Id
		p.changed()
	}
	if w != nil {
		s.progress(w, s.running(p), *p.Size)
	}
	booting := slices.DeleteFunc(slices.Clone(s.members(p)), (*instance).booted)
	switch {
	case len(booting) > 0:
		return untilRest(booting)
	case vacant <= 0:
		s.endWork(&p.Launching, s.succeed)
		return s.settle(p)
	case p.Short:
		return s.runShort(p)
	}
	s.launchBatch(p, w)
	return atOnce
}

// runShort is what a pool does that lacks members after its last batch.
func (s *Server) runShort(p *pool) wait {
	if s.cfg.Shortage == ShortageWaits {
		if p.RetryAt == 0 {
			p.RetryAt = s.clock.present().plus(relaunchInterval) // not from At: an outage is no reason to try often
		}
		if !s.clock.reached(p.RetryAt) {
			p.changed()
			return s.until(p.RetryAt)
		}
		p.Short, p.At, p.RetryAt = false, p.RetryAt, 0
		p.changed()
		return atOnce
	}
	s.endWork(&p.Launching, s.conclude)
	if s.cfg.Shortage == ShortageTerminates && p.LifecycleState == core.InstancePoolLifecycleStateProvisioning {
		s.endPool(p, "")
		return atOnce
	}
	return s.settle(p)
}

// settle makes a pool RUNNING. What was reserved for it and not taken is free again.
func (s *Server) settle(p *pool) wait {
	p.Short, p.RetryAt, p.Reserved = false, 0, 0
	s.setState(p, core.InstancePoolLifecycleStateRunning)
	return nil
}

// endPool makes a pool TERMINATING, whatever it is at. The work request may be empty.
func (s *Server) endPool(p *pool, work string) {
	for _, open := range []*string{&p.Reservation, &p.Launching, &p.Shrinking} {
		s.endWork(open, s.cancel)
	}
	if p.Moving != nil {
		s.endWork(&p.Moving.Work, s.cancel)
		p.Moving = nil
	}
	p.Ending, p.Then = work, ""
	s.setState(p, core.InstancePoolLifecycleStateTerminating)
}
