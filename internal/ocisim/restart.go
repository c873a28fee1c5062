// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// open makes the region, or goes on with the one that is in the store.
func (s *Server) open() error {
	s.mu.Lock() // The jobs of a region that goes on wait for the end of this.
	defer s.mu.Unlock()
	var old *about
	since := anchor{Wall: time.Now()}
	db, err := openDatabase(s.cfg.Store)
	if err == nil && db != nil {
		old, err = readAbout(db)
	}
	if old != nil {
		since = old.Clock
	}
	s.clock = newClock(s.cfg.TimeScale, since)
	s.store = newStore(s.clock)
	s.store.db = db
	switch {
	case err != nil:
	case old == nil:
		s.make()
	default:
		err = s.goOn(old)
	}
	if err == nil {
		s.protect()
		err = s.commit()
	}
	if err != nil {
		return errors.Join(err, s.store.close())
	}
	return nil
}

func (s *Server) make() {
	s.made = s.timestamp()
	s.setScenario(s.cfg.Scenario)
	s.addNetwork()
	s.addImages()
}

// goOn takes the region from its database.
func (s *Server) goOn(old *about) error {
	if err := s.checkAbout(old); err != nil {
		return err
	}
	if err := s.names.source.UnmarshalBinary(old.Names); err != nil {
		return fmt.Errorf("read the generator of names: %w", err)
	}
	s.made = &common.SDKTime{Time: old.Made}
	if reflect.ValueOf(s.cfg.Scenario).IsZero() {
		s.cfg.Scenario = old.Scenario
	}
	s.setScenario(s.cfg.Scenario)
	if err := s.store.load(); err != nil {
		return err
	}
	s.store.position = max(s.store.position, old.Position)
	s.store.sweep(false)
	return s.resume()
}

func (s *Server) checkAbout(old *about) error {
	switch {
	case old.Version != databaseVersion:
		return fmt.Errorf("the database %s is of version %d, this program reads %d: start afresh without it", s.cfg.Store, old.Version, databaseVersion)
	case old.Region != s.cfg.Region || old.TenancyID != s.cfg.TenancyID || old.CompartmentID != s.cfg.CompartmentID:
		return fmt.Errorf("the database %s is of region %s, tenancy %s, compartment %s", s.cfg.Store, old.Region, old.TenancyID, old.CompartmentID)
	}
	return nil
}

// resume lets everything that was in motion go on, and the hosts of running instances come back.
func (s *Server) resume() error {
	for _, i := range s.store.instances.all() {
		if !i.gone() && s.shape(*i.Shape) == nil {
			return fmt.Errorf("the region has instances of shape %s, which Config.Shapes lacks", *i.Shape)
		}
	}
	for _, t := range s.store.tables {
		t.resume(s)
	}
	return nil
}

// resumable is a stored thing that may have been in motion: resume starts its job again, which goes by
// nothing but records.
type resumable interface{ resume(s *Server) }

func (t *table[T]) resume(s *Server) {
	for _, v := range t.order {
		if r, ok := any(v).(resumable); ok {
			r.resume(s)
		}
	}
}

func (p *pool) resume(s *Server) { s.drivePool(p) }

func (i *instance) resume(s *Server) {
	switch {
	case moving(i.LifecycleState):
		s.drive(i)
	case i.LifecycleState == core.InstanceLifecycleStateRunning && s.cfg.Hosts != nil:
		s.begin(&i.job, func(ctx context.Context) { s.restore(ctx, i) })
		s.restoring = append(s.restoring, i.job.done)
	}
}

// restore boots the host of an instance that is RUNNING, as the end of an outage of its machine would.
func (s *Server) restore(ctx context.Context, i *instance) {
	select {
	case s.seats <- struct{}{}:
		defer func() { <-s.seats }()
	case <-ctx.Done():
		return
	}
	if err := s.bootHost(ctx, i); err != nil {
		s.update(ctx, func() { s.hostStarted(i, err) })
	}
}

// HostsRestored returns when the hosts that were running when the region's last server ended have booted
// again. Instances whose hosts did not are STOPPED.
func (s *Server) HostsRestored(ctx context.Context) error {
	s.mu.Lock()
	jobs := slices.Clone(s.restoring)
	s.mu.Unlock()
	for _, done := range jobs {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("wait for the hosts: %w", ctx.Err())
		}
	}
	return nil
}
