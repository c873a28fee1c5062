// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// poolRequest finds the pool of a request about one of its instances, and the instance.
func (s *Server) poolRequest(q *request, instanceID string) (*pool, *instance, error) {
	p, err := find(q.sees, s.store.pools, q.PathValue("id"))
	if err != nil {
		return nil, nil, err
	}
	i, err := find(q.sees, s.store.instances, instanceID)
	return p, i, err
}

func (s *Server) getPoolInstance(q *request) (response, error) {
	p, i, err := s.poolRequest(q, q.PathValue("instance"))
	if err != nil {
		return response{}, err
	}
	if i.PoolID != *p.Id {
		return response{}, notFound()
	}
	return ok(i.member())
}

func (s *Server) listPoolInstances(q *request) (response, error) {
	p, err := find(q.sees, s.store.pools, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return s.listMembers(q, p)
}

func (s *Server) listMembers(q *request, p *pool) (response, error) {
	if _, err := q.compartment(); err != nil {
		return response{}, err
	}
	var rows []row
	for _, i := range s.members(p) {
		if q.wants("displayName", i.DisplayName) {
			rows = append(rows, row{i.position, *i.DisplayName, i.summary()})
		}
	}
	return page(q, rows)
}

// attachPoolInstance takes a running instance into a pool, which grows by it.
func (s *Server) attachPoolInstance(q *request) (response, error) {
	d, err := decode[core.AttachInstancePoolInstanceDetails](q)
	if err != nil {
		return response{}, err
	}
	p, i, err := s.poolRequest(q, *d.InstanceId)
	switch {
	case err != nil:
		return response{}, err
	case p.NetworkID != "":
		return response{}, conflict("Instances cannot be attached to the pool of the cluster network %s.", p.NetworkID)
	case i.PoolID != "":
		return response{}, conflict("The instance %s is in the instance pool %s already.", *i.Id, i.PoolID)
	case p.LifecycleState != core.InstancePoolLifecycleStateRunning:
		return response{}, incorrectState(*p.Id, string(p.LifecycleState))
	case i.LifecycleState != core.InstanceLifecycleStateRunning:
		return response{}, incorrectState(*i.Id, string(i.LifecycleState))
	}
	w := s.newWorkRequest(opAttachInstance, p.compartment(), entityPool, *p.Id, workrequests.WorkRequestResourceActionTypeRelated)
	w.touch(entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeRelated)
	w.changed()
	p.Size = ptr(*p.Size + 1)
	i.PoolID, i.Membership = *p.Id, core.InstancePoolInstanceLifecycleStateAttaching
	i.changed()
	s.move(p, i, w, false)
	resp, err := ok(i.member())
	resp.workRequest = *w.Id
	return resp, err
}

// move lets an instance into a pool or out of it, whichever its membership says.
func (s *Server) move(p *pool, i *instance, w *workRequest, terminate bool) {
	p.Moving, p.Due = &move{*i.Id, *w.Id, terminate}, s.clock.present().plus(detachTime)
	s.setState(p, core.InstancePoolLifecycleStateScaling)
	s.startPool(p)
}

// detachPoolInstance takes an instance out of a pool: by default the pool shrinks and the instance goes on.
func (s *Server) detachPoolInstance(q *request) (response, error) {
	d, err := decode[core.DetachInstancePoolInstanceDetails](q)
	if err != nil {
		return response{}, err
	}
	p, i, err := s.poolRequest(q, *d.InstanceId)
	switch {
	case err != nil:
		return response{}, err
	case i.PoolID != *p.Id:
		return response{}, notFound()
	case p.LifecycleState != core.InstancePoolLifecycleStateRunning:
		return response{}, incorrectState(*p.Id, string(p.LifecycleState))
	}
	w := s.newWorkRequest(opDetachInstance, p.compartment(), entityPool, *p.Id, workrequests.WorkRequestResourceActionTypeRelated)
	w.touch(entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeRelated)
	if d.IsDecrementSize == nil || *d.IsDecrementSize {
		p.Size = ptr(*p.Size - 1)
	}
	w.changed()
	i.Membership = core.InstancePoolInstanceLifecycleStateDetaching
	i.changed()
	s.move(p, i, w, value(d.IsAutoTerminate))
	return response{status: http.StatusNoContent, workRequest: *w.Id}, nil
}

// stateText is how pools spell the state of an instance: Running, not RUNNING.
func (i *instance) stateText() *string {
	state := string(i.LifecycleState)
	return ptr(state[:1] + strings.ToLower(state[1:]))
}

// summary of a pool's instance, without addresses, as OCI gives it.
func (i *instance) summary() core.InstanceSummary {
	return core.InstanceSummary{
		Id: i.Id, AvailabilityDomain: i.AvailabilityDomain, CompartmentId: i.CompartmentId, InstanceConfigurationId: i.InstanceConfigurationId,
		Region: i.Region, State: i.stateText(), TimeCreated: i.TimeCreated, DisplayName: i.DisplayName, FaultDomain: i.FaultDomain,
		Shape: i.Shape, LoadBalancerBackends: []core.InstancePoolInstanceLoadBalancerBackend{},
	}
}

func (i *instance) member() core.InstancePoolInstance {
	sum := i.summary()
	return core.InstancePoolInstance{
		Id: sum.Id, InstancePoolId: &i.PoolID, AvailabilityDomain: sum.AvailabilityDomain, LifecycleState: i.Membership,
		CompartmentId: sum.CompartmentId, InstanceConfigurationId: sum.InstanceConfigurationId, Region: sum.Region, Shape: sum.Shape,
		State: sum.State, TimeCreated: sum.TimeCreated, DisplayName: sum.DisplayName, FaultDomain: sum.FaultDomain,
		LoadBalancerBackends: sum.LoadBalancerBackends,
	}
}
