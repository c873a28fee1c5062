// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"net/http"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// reservation keeps hosts of some shapes free for instances that name it.
type reservation struct {
	core.ComputeCapacityReservation
	record
	Next reservationChange // on its way
	Work string            // its work request; empty unless one is on its way
	Due  instant           // when it comes about
	job  job
}

// reservationChange is what a reservation in a passing state becomes.
type reservationChange struct {
	Configs     []core.InstanceReservationConfig
	Compartment *string
}

func (r *reservation) compartment() string { return *r.CompartmentId }
func (r *reservation) gone() bool {
	return r.LifecycleState == core.ComputeCapacityReservationLifecycleStateDeleted
}

// holds says whether an instance, or one to be launched, counts against a part of a reservation.
func holds(c core.InstanceReservationConfig, shape string, config *core.InstanceShapeConfig, faultDomain *string) bool {
	if *c.InstanceShape != shape || c.FaultDomain != nil && faultDomain != nil && *c.FaultDomain != *faultDomain {
		return false
	}
	asked := c.InstanceShapeConfig
	return asked == nil || (asked.Ocpus == nil || *asked.Ocpus == value(config.Ocpus)) &&
		(asked.MemoryInGBs == nil || *asked.MemoryInGBs == value(config.MemoryInGBs))
}

// reservationView is a reservation with its use counted.
func (s *Server) reservationView(r *reservation) core.ComputeCapacityReservation {
	v := r.ComputeCapacityReservation
	v.InstanceReservationConfigs = slices.Clone(r.InstanceReservationConfigs)
	var reserved, used int64
	for n := range v.InstanceReservationConfigs {
		c := &v.InstanceReservationConfigs[n]
		c.UsedCount = ptr(s.usedOf(*r.Id, *c))
		reserved, used = reserved+*c.ReservedCount, used+*c.UsedCount
	}
	v.ReservedInstanceCount, v.UsedInstanceCount = &reserved, &used
	return v
}

func (s *Server) usedOf(id string, c core.InstanceReservationConfig) int64 {
	var n int64
	for _, i := range s.store.inReservation.with(id) {
		if holds(c, *i.Shape, i.ShapeConfig, i.FaultDomain) {
			n++
		}
	}
	return n
}

// heldHosts of a shape are in reservations, and not in use.
func (s *Server) heldHosts(shape string) int {
	var n int64
	for _, r := range s.store.reservations.all() {
		for _, c := range r.InstanceReservationConfigs {
			if *c.InstanceShape == shape && !r.gone() {
				n += *c.ReservedCount - s.usedOf(*r.Id, c)
			}
		}
	}
	return int(n)
}

// freeInReservation counts the hosts that a launch can take from the reservation that it names.
func (s *Server) freeInReservation(p placed) int {
	var n int64
	for _, c := range s.store.reservations.get(*p.CapacityReservationId).InstanceReservationConfigs {
		if holds(c, *p.shape.Shape.Shape, shapeConfig(p), p.FaultDomain) {
			n += *c.ReservedCount - s.usedOf(*p.CapacityReservationId, c)
		}
	}
	for _, o := range s.store.pools.all() {
		if o.ReservationID == *p.CapacityReservationId && o.Shape == *p.shape.Shape.Shape {
			n -= int64(o.Reserved)
		}
	}
	return int(n)
}

// placeInReservation checks that a launch fits the reservation that it names.
func (s *Server) placeInReservation(sees viewer, p placed) error {
	r, err := find(sees, s.store.reservations, *p.CapacityReservationId)
	if err != nil {
		return err
	}
	fits := func(c core.InstanceReservationConfig) bool {
		return holds(c, *p.shape.Shape.Shape, shapeConfig(p), p.FaultDomain)
	}
	switch {
	case r.LifecycleState != core.ComputeCapacityReservationLifecycleStateActive && r.LifecycleState != core.ComputeCapacityReservationLifecycleStateUpdating:
		return incorrectState(*r.Id, string(r.LifecycleState))
	case *r.AvailabilityDomain != *p.AvailabilityDomain:
		return invalid("capacityReservationId", "the capacity reservation %s is in %s, not in %s", *r.Id, *r.AvailabilityDomain, *p.AvailabilityDomain)
	case !slices.ContainsFunc(r.InstanceReservationConfigs, fits):
		return invalid("capacityReservationId", "the capacity reservation %s has no capacity of shape %s in this configuration", *r.Id, *p.shape.Shape.Shape)
	}
	return nil
}

// reservationConfigs checks what a request wants to reserve.
func (s *Server) reservationConfigs(d []core.InstanceReservationConfigDetails) ([]core.InstanceReservationConfig, error) {
	for _, c := range d {
		o := s.shape(*c.InstanceShape)
		switch {
		case o == nil:
			return nil, invalid("instanceReservationConfigs.instanceShape", "%q is not offered", *c.InstanceShape)
		case *c.ReservedCount < 0:
			return nil, invalid("instanceReservationConfigs.reservedCount", "%d is negative", *c.ReservedCount)
		case c.FaultDomain != nil && !slices.Contains(faultDomains, *c.FaultDomain):
			return nil, invalid("instanceReservationConfigs.faultDomain", "%q is none of %v", *c.FaultDomain, faultDomains)
		case value(o.IsFlexible) && c.InstanceShapeConfig == nil:
			return nil, missing("instanceReservationConfigs.instanceShapeConfig")
		case c.ClusterPlacementGroupId != nil:
			return nil, notSimulated("instanceReservationConfigs.clusterPlacementGroupId")
		}
	}
	return convert[[]core.InstanceReservationConfig](d)
}

func (s *Server) createReservation(q *request) (response, error) {
	d, err := decode[core.CreateComputeCapacityReservationDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	if err := s.checkAvailabilityDomain(d.AvailabilityDomain); err != nil {
		return response{}, err
	}
	if value(d.IsDefaultReservation) {
		return response{}, notSimulated("isDefaultReservation")
	}
	configs, err := s.reservationConfigs(d.InstanceReservationConfigs)
	if err != nil {
		return response{}, err
	}
	now := s.timestamp()
	r := &reservation{ComputeCapacityReservation: core.ComputeCapacityReservation{
		Id: ptr(s.names.ocid("capacityreservation")), CompartmentId: d.CompartmentId, AvailabilityDomain: d.AvailabilityDomain,
		DisplayName: d.DisplayName, IsDefaultReservation: ptr(false), TimeCreated: now, TimeUpdated: now,
		LifecycleState: core.ComputeCapacityReservationLifecycleStateCreating,
	}}
	if r.DisplayName == nil {
		r.DisplayName = ptr("capacityreservation" + s.defaultSuffix())
	}
	r.FreeformTags, r.DefinedTags = s.tagged(d.FreeformTags, d.DefinedTags)
	s.store.reservations.add(*r.Id, r)
	w := s.newWorkRequest(opCreateReservation, r.compartment(), entityReservation, *r.Id, workrequests.WorkRequestResourceActionTypeCreated)
	s.changeReservation(r, w, reservationChange{Configs: configs})
	v := s.reservationView(r)
	return response{status: http.StatusCreated, body: v, etag: etagOf(v), workRequest: *w.Id, created: *r.Id,
		location: v1 + "/" + entityReservation + "/" + *r.Id}, nil
}

// changeReservation lets a change of a reservation come about after the time that it takes. The
// reservation's state says which one it is.
func (s *Server) changeReservation(r *reservation, w *workRequest, next reservationChange) {
	r.Next, r.Work, r.Due = next, *w.Id, s.clock.present().plus(detachTime)
	r.changed()
	s.progress(w, 0, 0)
	r.resume(s)
}

// resume brings a change that is on its way about.
func (r *reservation) resume(s *Server) {
	if r.Work == "" {
		return
	}
	due := r.Due
	s.begin(&r.job, func(ctx context.Context) {
		if s.clock.wait(ctx, due) == nil {
			s.update(ctx, func() { s.reservationChanged(r) })
		}
	})
}

func (s *Server) reservationChanged(r *reservation) {
	w := s.store.workRequests.get(r.Work)
	next := core.ComputeCapacityReservationLifecycleStateActive
	switch r.LifecycleState {
	case core.ComputeCapacityReservationLifecycleStateCreating:
		if !s.holdHosts(r, r.Next.Configs, w) {
			next = core.ComputeCapacityReservationLifecycleStateDeleted
		}
	case core.ComputeCapacityReservationLifecycleStateUpdating:
		s.holdHosts(r, r.Next.Configs, w)
	case core.ComputeCapacityReservationLifecycleStateMoving:
		r.CompartmentId = r.Next.Compartment
	case core.ComputeCapacityReservationLifecycleStateDeleting:
		next = core.ComputeCapacityReservationLifecycleStateDeleted
	default:
	}
	r.LifecycleState, r.TimeUpdated, r.Next = next, s.timestamp(), reservationChange{}
	if r.gone() {
		r.InstanceReservationConfigs = nil
		r.forget(terminatedVisible)
	}
	s.endWork(&r.Work, s.conclude)
	r.changed()
}

// holdHosts takes what a reservation wants, all or nothing.
func (s *Server) holdHosts(r *reservation, configs []core.InstanceReservationConfig, w *workRequest) bool {
	before := r.InstanceReservationConfigs
	r.InstanceReservationConfigs = configs
	for _, c := range configs {
		if free, limited := s.freeHosts(*c.InstanceShape); limited && free < 0 {
			r.InstanceReservationConfigs = before
			s.fault(w, codeOutOfCapacity, "Out of host capacity.")
			return false
		}
	}
	return true
}

func (s *Server) getReservation(q *request) (response, error) {
	r, err := find(q.sees, s.store.reservations, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(s.reservationView(r))
}

func (s *Server) listReservations(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	if _, err := q.enum("lifecycleState", core.GetComputeCapacityReservationLifecycleStateEnumStringValues()); err != nil {
		return response{}, err
	}
	var rows []row
	for _, r := range s.store.reservations.all() {
		if r.compartment() == compartment && q.wants("availabilityDomain", r.AvailabilityDomain) && q.wants("displayName", r.DisplayName) &&
			q.wants("lifecycleState", ptr(string(r.LifecycleState))) {
			summary, err := convert[core.ComputeCapacityReservationSummary](s.reservationView(r))
			if err != nil {
				return response{}, err
			}
			rows = append(rows, row{r.position, *r.DisplayName, summary})
		}
	}
	return page(q, rows)
}

// activeReservation finds the reservation of a request that changes it.
func (s *Server) activeReservation(q *request) (*reservation, error) {
	r, err := find(q.sees, s.store.reservations, q.PathValue("id"))
	switch {
	case err != nil:
		return nil, err
	case r.gone():
		return nil, notFound()
	case r.LifecycleState != core.ComputeCapacityReservationLifecycleStateActive:
		return nil, incorrectState(*r.Id, string(r.LifecycleState))
	}
	return r, q.match(s.reservationView(r))
}

func (s *Server) updateReservation(q *request) (response, error) {
	r, err := s.activeReservation(q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdateComputeCapacityReservationDetails](q)
	if err != nil {
		return response{}, err
	}
	if value(d.IsDefaultReservation) {
		return response{}, notSimulated("isDefaultReservation")
	}
	configs := r.InstanceReservationConfigs
	if d.InstanceReservationConfigs != nil {
		if configs, err = s.reservationConfigs(d.InstanceReservationConfigs); err != nil {
			return response{}, err
		}
	}
	for _, c := range configs {
		if used := s.usedOf(*r.Id, c); *c.ReservedCount < used {
			return response{}, conflict("%d instances of shape %s use the capacity reservation %s.", used, *c.InstanceShape, *r.Id)
		}
	}
	set(&r.DisplayName, d.DisplayName)
	setTags(&r.FreeformTags, &r.DefinedTags, d.FreeformTags, d.DefinedTags)
	r.LifecycleState = core.ComputeCapacityReservationLifecycleStateUpdating
	r.changed()
	w := s.newWorkRequest(opUpdateReservation, r.compartment(), entityReservation, *r.Id, workrequests.WorkRequestResourceActionTypeUpdated)
	s.changeReservation(r, w, reservationChange{Configs: configs})
	return response{status: http.StatusAccepted, workRequest: *w.Id}, nil
}

func (s *Server) moveReservation(q *request) (response, error) {
	r, err := s.activeReservation(q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.ChangeComputeCapacityReservationCompartmentDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	r.LifecycleState = core.ComputeCapacityReservationLifecycleStateMoving
	r.changed()
	w := s.newWorkRequest(opMoveReservation, r.compartment(), entityReservation, *r.Id, workrequests.WorkRequestResourceActionTypeUpdated)
	s.changeReservation(r, w, reservationChange{Compartment: d.CompartmentId})
	return response{status: http.StatusAccepted, workRequest: *w.Id}, nil
}

func (s *Server) deleteReservation(q *request) (response, error) {
	r, err := s.activeReservation(q)
	if err != nil {
		return response{}, err
	}
	if used := *s.reservationView(r).UsedInstanceCount; used > 0 {
		return response{}, conflict("%d instances use the capacity reservation %s.", used, *r.Id)
	}
	r.LifecycleState = core.ComputeCapacityReservationLifecycleStateDeleting
	r.changed()
	w := s.newWorkRequest(opDeleteReservation, r.compartment(), entityReservation, *r.Id, workrequests.WorkRequestResourceActionTypeDeleted)
	s.changeReservation(r, w, reservationChange{})
	return response{status: http.StatusAccepted, workRequest: *w.Id}, nil
}

func (s *Server) listReservationInstances(q *request) (response, error) {
	r, err := find(q.sees, s.store.reservations, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, i := range s.store.inReservation.with(*r.Id) {
		if q.wants("availabilityDomain", i.AvailabilityDomain) && q.wants("compartmentId", i.CompartmentId) {
			rows = append(rows, row{i.position, *i.DisplayName, core.CapacityReservationInstanceSummary{
				Id: i.Id, AvailabilityDomain: i.AvailabilityDomain, CompartmentId: i.CompartmentId, Shape: i.Shape, FaultDomain: i.FaultDomain,
				ShapeConfig: &core.InstanceReservationShapeConfigDetails{Ocpus: i.ShapeConfig.Ocpus, MemoryInGBs: i.ShapeConfig.MemoryInGBs}}})
		}
	}
	return page(q, rows)
}

func (s *Server) listReservationShapes(q *request) (response, error) {
	if _, err := q.compartment(); err != nil {
		return response{}, err
	}
	var rows []row
	for _, ad := range s.cfg.AvailabilityDomains {
		for _, o := range s.shapes {
			if q.wants("availabilityDomain", &ad) && q.wants("displayName", o.Shape.Shape) {
				rows = append(rows, row{uint64(len(rows)), *o.Shape.Shape,
					core.ComputeCapacityReservationInstanceShapeSummary{AvailabilityDomain: &ad, InstanceShape: o.Shape.Shape}})
			}
		}
	}
	return page(q, rows)
}
