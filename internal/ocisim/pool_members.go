// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// placeMember finds the parts of a launch by the pool's configuration in one of its placements.
func (s *Server) placeMember(sees viewer, p *pool, at core.InstancePoolPlacementConfiguration) (placed, error) {
	c, err := find(sees, s.store.configurations, *p.InstanceConfigurationId)
	if err != nil {
		return placed{}, err
	}
	d, err := convert[core.LaunchInstanceDetails](c.launchDetails())
	if err != nil {
		return placed{}, err
	}
	if d.CreateVnicDetails == nil {
		d.CreateVnicDetails = &core.CreateVnicDetails{}
	}
	d.CompartmentId, d.AvailabilityDomain, d.InstanceConfigurationId = p.CompartmentId, at.AvailabilityDomain, c.Id
	d.DisplayName, d.HostnameLabel, d.CreateVnicDetails.HostnameLabel = nil, nil, nil
	set(&d.ComputeClusterId, at.ComputeClusterId)
	set(&d.CreateVnicDetails.SubnetId, at.PrimarySubnetId)
	if at.PrimaryVnicSubnets != nil {
		d.CreateVnicDetails.SubnetId = at.PrimaryVnicSubnets.SubnetId
	}
	if len(at.FaultDomains) > 0 {
		d.FaultDomain = ptr(s.emptiestFaultDomain(value(d.AvailabilityDomain), at.FaultDomains))
	}
	return s.place(sees, d)
}

// launchMember launches one instance of a pool.
func (s *Server) launchMember(p *pool) (*instance, error) {
	launch, err := s.placeMember(everyone, p, p.PlacementConfigurations[p.Launches%len(p.PlacementConfigurations)])
	if err != nil {
		return nil, err
	}
	if err := s.admit(p.compartment(), p.Shape); err != nil {
		return nil, err
	}
	if p.Reserved == 0 && !s.hasHosts(launch, 1) {
		return nil, outOfHostCapacity()
	}
	p.Launches++
	launch.DisplayName = ptr(s.names.member(*p.DisplayName))
	if f := value(p.InstanceDisplayNameFormatter); f != "" {
		launch.DisplayName = ptr(numbered(f, p.Launches))
	}
	if f := value(p.InstanceHostnameFormatter); f != "" {
		launch.vnic.HostnameLabel = ptr(hostnameOf(numbered(f, p.Launches)))
	}
	i, err := s.launch(launch)
	if err != nil {
		return nil, err
	}
	i.PoolID, i.Membership = *p.Id, core.InstancePoolInstanceLifecycleStateActive
	i.changed()
	p.Reserved = max(0, p.Reserved-1)
	p.changed()
	return i, nil
}

func numbered(formatter string, n int) string {
	return strings.ReplaceAll(formatter, "${launchCount}", strconv.Itoa(n))
}

// batch is a group of instances that a pool launches together.
type batch struct {
	instances []*instance
	booted    []<-chan struct{}
	short     bool // not all of the wanted ones could be launched
}

func (s *Server) launchBatch(p *pool, w *workRequest) batch {
	var b batch
	for range min(*p.Size-len(s.staying(p)), launchBatch) {
		i, err := s.launchMember(p)
		if err != nil {
			b.short = true
			s.launchFault(w, err)
			break
		}
		w.touch(entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeCreated)
		s.boot(i, nil)
		b.instances, b.booted = append(b.instances, i), append(b.booted, i.job.done)
	}
	w.changed()
	return b
}

func (s *Server) launchFault(w *workRequest, err error) {
	code, message := codeOutOfCapacity, err.Error()
	if e := (*apiError)(nil); errors.As(err, &e) {
		message = e.Message
		if e.Code != "InternalError" {
			code = e.Code
		}
	}
	s.fault(w, code, message)
}

// fill launches instances in batches until a pool has its size. It says false where the pool must go
// on with fewer, by [Config.Shortage].
func (s *Server) fill(ctx context.Context, p *pool) bool {
	var w *workRequest
	if !s.update(ctx, func() {
		if *p.Size > len(s.staying(p)) {
			w = s.newWorkRequest(opLaunchInPool, p.compartment(), entityPool, *p.Id, workrequests.WorkRequestResourceActionTypeUpdated)
		}
	}) || w == nil {
		return true
	}
	defer s.abandon(w)
	for {
		var b batch
		s.update(ctx, func() { //nolint:contextcheck // jobs live as long as the region, not as the job that starts them
			s.progress(w, s.running(p), *p.Size)
			b = s.launchBatch(p, w)
		})
		if !await(ctx, b.booted) {
			return true
		}
		done := false
		s.update(ctx, func() { done = s.settle(p, w, &b) })
		switch {
		case done:
			return true
		case !b.short:
			continue
		case s.cfg.Shortage != ShortageWaits:
			s.update(ctx, func() { s.conclude(w) })
			return false
		case s.clock.sleep(ctx, relaunchInterval) != nil:
			return true
		}
	}
}

// settle takes note of what became of a batch, and says whether the pool is full.
func (s *Server) settle(p *pool, w *workRequest, b *batch) bool {
	for _, i := range b.instances {
		if i.Failure != "" {
			b.short = true
			s.fault(w, "InternalError", i.Failure)
		}
	}
	s.progress(w, s.running(p), *p.Size)
	if len(s.staying(p)) < *p.Size {
		return false
	}
	s.succeed(w)
	return true
}

// await waits for jobs; false means that the waiting one was cancelled.
func await(ctx context.Context, jobs []<-chan struct{}) bool {
	for _, done := range jobs {
		select {
		case <-done:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// resize brings a pool to its size, one way or the other, and to RUNNING.
func (s *Server) resize(ctx context.Context, p *pool) {
	var victims []*instance
	s.update(ctx, func() { victims = s.victims(p) })
	if len(victims) > 0 {
		s.endInPool(ctx, p, victims)
	}
	full := s.fill(ctx, p)
	s.update(ctx, func() { s.ready(p, full) }) //nolint:contextcheck // jobs live as long as the region, not as the job that starts them
}

// ready makes a pool RUNNING, unless a member has been terminated behind the back of its last launches.
func (s *Server) ready(p *pool, full bool) {
	if full && len(s.staying(p)) < *p.Size && !s.cfg.KeepVacancies {
		s.replaceMember(p)
		return
	}
	s.setState(p, core.InstancePoolLifecycleStateRunning)
}

// victims are the members too many: always the oldest in the fullest fault domain, as Oracle's
// documentation tells it.
func (s *Server) victims(p *pool) []*instance {
	staying := s.staying(p)
	var victims []*instance
	for len(staying) > *p.Size {
		count := map[string]int{}
		for _, i := range staying {
			count[*i.FaultDomain]++
		}
		victim := slices.MaxFunc(staying, func(a, b *instance) int { return count[*a.FaultDomain] - count[*b.FaultDomain] })
		victims = append(victims, victim)
		staying = slices.DeleteFunc(staying, func(i *instance) bool { return i == victim })
	}
	return victims
}

// endInPool terminates members under one work request.
func (s *Server) endInPool(ctx context.Context, p *pool, victims []*instance) {
	var w *workRequest
	if !s.update(ctx, func() {
		w = s.newWorkRequest(opTerminateInPool, p.compartment(), entityPool, *p.Id, workrequests.WorkRequestResourceActionTypeUpdated)
		for _, i := range victims {
			w.touch(entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeDeleted)
		}
		s.progress(w, 0, len(victims))
	}) {
		return
	}
	defer s.abandon(w)
	s.end(ctx, victims...)
	s.update(ctx, func() { s.succeed(w) })
}

// end terminates instances, unless they are being terminated already, and waits.
func (s *Server) end(ctx context.Context, instances ...*instance) {
	var ended []<-chan struct{}
	s.update(ctx, func() { //nolint:contextcheck // jobs live as long as the region, not as the job that starts them
		for _, i := range instances {
			if !i.ending() {
				s.terminate(i, nil)
			}
			ended = append(ended, i.job.done)
		}
	})
	await(ctx, ended)
}

// empty terminates a pool with all of its members.
func (s *Server) empty(ctx context.Context, p *pool) {
	var members []*instance
	s.update(ctx, func() {
		s.setState(p, core.InstancePoolLifecycleStateTerminating)
		members = slices.Clone(s.members(p))
	})
	if len(members) > 0 {
		s.endInPool(ctx, p, members)
	}
	s.update(ctx, func() { s.setState(p, core.InstancePoolLifecycleStateTerminated) })
}

// replaceMember lets a pool launch a replacement for a member that somebody terminates.
func (s *Server) replaceMember(p *pool) {
	s.setState(p, core.InstancePoolLifecycleStateScaling)
	s.begin(&p.job, func(ctx context.Context) { s.resize(ctx, p) })
}
