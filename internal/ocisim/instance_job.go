// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// transit moves an instance into a passing state and lets its job bring it on from there. The job
// supersedes one that the instance has.
func (s *Server) transit(i *instance, through core.InstanceLifecycleStateEnum, due instant) {
	i.enter(through, due)
	s.drive(i)
}

func (i *instance) enter(through core.InstanceLifecycleStateEnum, due instant) {
	i.LifecycleState, i.Due = through, due
	i.changed()
}

// drive runs the job of an instance until the instance rests. The job goes by the instance's record alone,
// so it goes on where another one ended, in this process or in one before.
func (s *Server) drive(i *instance) {
	s.begin(&i.job, func(ctx context.Context) {
		for s.step(ctx, i) {
		}
	})
}

// step takes an instance through its present state and says whether there is another one to come.
func (s *Server) step(ctx context.Context, i *instance) bool {
	var state core.InstanceLifecycleStateEnum
	var due instant
	s.update(ctx, func() {
		state, due = i.LifecycleState, i.Due
		if w := s.store.workRequests.get(i.Work); w != nil {
			s.progress(w, 0, 0)
		}
	})
	if !moving(state) || s.clock.wait(ctx, due) != nil {
		return false
	}
	switch state {
	case core.InstanceLifecycleStateStopping:
		s.stopHost(ctx, i)
		return s.update(ctx, func() { s.hostStopped(i) })
	case core.InstanceLifecycleStateTerminating:
		s.removeHost(ctx, i)
		s.update(ctx, func() { s.endInstance(i) })
	case core.InstanceLifecycleStateStarting:
		err := s.bootHost(ctx, i)
		s.update(ctx, func() { s.hostStarted(i, err) })
	default:
		err := s.bootHost(ctx, i)
		if err != nil && ctx.Err() == nil {
			s.removeHost(ctx, i)
		}
		s.update(ctx, func() { s.hostLaunched(i, err) })
	}
	return false
}

// moving says whether a state is a passing one.
func moving(state core.InstanceLifecycleStateEnum) bool {
	switch state {
	case core.InstanceLifecycleStateProvisioning, core.InstanceLifecycleStateStarting,
		core.InstanceLifecycleStateStopping, core.InstanceLifecycleStateTerminating:
		return true
	default:
		return false
	}
}

func (s *Server) hostLaunched(i *instance, err error) {
	if err == nil {
		s.runs(i)
		s.endWork(&i.Work, s.succeed)
		return
	}
	i.Failure = fmt.Sprintf("Launching instance %s failed: %v", *i.DisplayName, err)
	s.log.Error("host did not boot", "instance", *i.Id, "name", *i.DisplayName, "error", err)
	if p := s.poolOf(i); p != nil {
		s.memberFailed(p, i.Failure)
	}
	s.endWork(&i.Work, func(w *workRequest) {
		s.fault(w, "InternalError", i.Failure)
		s.conclude(w)
	})
	s.endInstance(i)
}

// hostStopped ends the first half of an action; the second follows where the instance starts again.
func (s *Server) hostStopped(i *instance) {
	if i.Restart {
		i.Restart = false
		i.enter(core.InstanceLifecycleStateStarting, i.Due.plus(s.bootTime(i)))
		return
	}
	i.LifecycleState = core.InstanceLifecycleStateStopped
	i.changed()
}

// hostStarted ends a start, which leaves the instance STOPPED where its host does not boot.
func (s *Server) hostStarted(i *instance, err error) {
	if err == nil {
		s.runs(i)
		s.endWork(&i.Work, s.succeed)
		return
	}
	s.log.Error("host did not start", "instance", *i.Id, "error", err)
	i.LifecycleState = core.InstanceLifecycleStateStopped
	s.endWork(&i.Work, func(w *workRequest) {
		s.fault(w, "InternalError", err.Error())
		s.conclude(w)
	})
	i.changed()
}

func (s *Server) runs(i *instance) {
	i.LifecycleState = core.InstanceLifecycleStateRunning
	i.changed()
	s.memberRests(i)
	v := s.vnicOf(i)
	s.log.Info("instance runs", "instance", *i.Id, "host", *v.HostnameLabel, "address", *v.PrivateIp)
}

// terminate ends an instance from an instant on, whatever it is at. The work request may be nil.
func (s *Server) terminate(i *instance, at instant, w *workRequest) {
	s.endWork(&i.Work, s.cancel)
	if w != nil {
		i.Work = *w.Id
	}
	s.vnicOf(i).detaching()
	s.bootVolumeOf(i).setAttachment(core.BootVolumeAttachmentLifecycleStateDetaching)
	s.transit(i, core.InstanceLifecycleStateTerminating, at.plus(terminateTime))
}

// endInstance makes an instance TERMINATED: its address and host are free, its record stays for a while.
func (s *Server) endInstance(i *instance) {
	v := s.vnicOf(i)
	s.log.Info("instance is terminated", "instance", *i.Id, "host", *v.HostnameLabel)
	s.memberRests(i)
	i.LifecycleState, i.PoolID = core.InstanceLifecycleStateTerminated, ""
	s.endWork(&i.Work, s.succeed)
	i.forget(terminatedVisible)
	s.releaseVnic(v)
	s.bootVolumeOf(i).release(i.KeepBootVolume)
	v.forget(terminatedVisible)
}

func (s *Server) bootTime(i *instance) time.Duration { return s.shape(*i.Shape).bootTime() }

// bootHost boots the host of an instance, with the disk that it had if it had one.
func (s *Server) bootHost(ctx context.Context, i *instance) error {
	var h Host
	var fault string
	var newDisk bool
	if !s.update(ctx, func() {
		newDisk = i.NewDisk
		if fault = i.Fault; fault == "" {
			s.vnicOf(i).attach()
			s.protect()
			s.bootVolumeOf(i).attach()
			h = s.hostOf(i)
		}
	}) {
		return ctx.Err()
	}
	switch {
	case fault != "":
		return errors.New(fault)
	case s.cfg.Hosts == nil:
		return nil
	}
	if newDisk {
		if err := s.cfg.Hosts.RemoveDisk(ctx, *i.Id); err != nil {
			return err
		}
		s.update(ctx, func() {
			i.NewDisk = false
			i.changed()
		})
	}
	return s.cfg.Hosts.Boot(ctx, h)
}

func (s *Server) stopHost(ctx context.Context, i *instance) {
	if s.cfg.Hosts == nil {
		return
	}
	if err := s.cfg.Hosts.Stop(ctx, *i.Id); err != nil {
		s.log.Error("host was not stopped", "instance", *i.Id, "name", *i.DisplayName, "error", err)
	}
}

func (s *Server) removeHost(ctx context.Context, i *instance) {
	if s.cfg.Hosts == nil {
		return
	}
	if err := s.cfg.Hosts.Remove(ctx, *i.Id); err != nil {
		s.log.Error("host was not removed", "instance", *i.Id, "name", *i.DisplayName, "error", err)
	}
}
