// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// pool is an instance pool, on its own or the one of a cluster network.
type pool struct {
	core.InstancePool
	record
	NetworkID string // empty for a pool on its own
	Shape     string
	Reserved  int // hosts held for launches to come
	// ReservationID is the capacity reservation that the reserved hosts are of; empty for none.
	ReservationID string
	Launches      int // so far
	// Work requests that are open: LaunchInstancesInPool, TerminateInstancesInPool, the reservation of the
	// cluster network's hosts, and the cluster network's end.
	Launching, Shrinking, Reservation, Ending string

	At      instant // when the last step was due: the next one begins there, even if the clock is ahead
	Moving  *move   // an attachment or a detachment
	Due     instant // when the reservation or the move is done
	Short   bool    // the last batch was
	RetryAt instant // of a pool that waits for hosts; 0 unless it does
	// Then is the state after an action on all members; empty unless they are in one.
	Then core.InstancePoolLifecycleStateEnum
	job  job // unless the pool rests
}

func (p *pool) compartment() string { return *p.CompartmentId }
func (p *pool) gone() bool          { return p.LifecycleState == core.InstancePoolLifecycleStateTerminated }

// networkOf a pool; nil for a pool on its own.
func (s *Server) networkOf(p *pool) *clusterNetwork { return s.store.networks.get(p.NetworkID) }

// members of a pool, oldest first.
func (s *Server) members(p *pool) []*instance { return s.store.members.with(*p.Id) }

// poolView is the pool as clients see it: currentSize counts what runs.
func (s *Server) poolView(p *pool) core.InstancePool {
	v := p.InstancePool
	v.CurrentSize = ptr(s.running(p))
	return v
}

func (s *Server) running(p *pool) int {
	n := 0
	for _, i := range s.members(p) {
		if i.LifecycleState == core.InstanceLifecycleStateRunning {
			n++
		}
	}
	return n
}

// staying are the members that nobody ends.
func (s *Server) staying(p *pool) []*instance {
	return slices.DeleteFunc(slices.Clone(s.members(p)), (*instance).ending)
}

// setState of a pool and of its cluster network, which always agree.
func (s *Server) setState(p *pool, state core.InstancePoolLifecycleStateEnum) {
	p.LifecycleState = state
	n := s.networkOf(p)
	if n != nil {
		n.LifecycleState = core.ClusterNetworkLifecycleStateEnum(state)
		n.TimeUpdated = s.timestamp()
		n.changed()
	}
	if p.gone() {
		p.Reserved = 0
		if n != nil {
			n.forget(terminatedVisible) // first: it is shown with its pool
		}
		p.forget(terminatedVisible)
	}
	p.changed()
}

// newPool checks the details of a pool and makes it, PROVISIONING.
func (s *Server) newPool(q *request, d core.CreateInstancePoolDetails) (*pool, error) {
	if *d.Size < 0 {
		return nil, invalid("size", "%d is negative", *d.Size)
	}
	placements, err := convert[[]core.InstancePoolPlacementConfiguration](d.PlacementConfigurations)
	if err != nil {
		return nil, err
	}
	p := &pool{InstancePool: core.InstancePool{
		Id: ptr(s.names.ocid("instancepool")), CompartmentId: d.CompartmentId, InstanceConfigurationId: d.InstanceConfigurationId,
		LifecycleState: core.InstancePoolLifecycleStateProvisioning, PlacementConfigurations: placements, Size: d.Size,
		TimeCreated: s.timestamp(), DisplayName: d.DisplayName, PoolType: core.InstancePoolPoolTypeInstance,
		LoadBalancers:                []core.InstancePoolLoadBalancerAttachment{},
		InstanceDisplayNameFormatter: d.InstanceDisplayNameFormatter, InstanceHostnameFormatter: d.InstanceHostnameFormatter,
	}}
	if p.DisplayName == nil {
		p.DisplayName = ptr("instancepool" + s.defaultSuffix())
	}
	p.FreeformTags, p.DefinedTags = s.tagged(d.FreeformTags, d.DefinedTags)
	return p, s.checkPool(q.sees, p)
}

// checkPool places one member by way of trial, in each of the placements.
func (s *Server) checkPool(sees viewer, p *pool) error {
	if _, err := find(sees, s.store.configurations, *p.InstanceConfigurationId); err != nil {
		return err
	}
	if len(p.PlacementConfigurations) == 0 {
		return missing("placementConfigurations")
	}
	for _, c := range p.PlacementConfigurations {
		if len(c.SecondaryVnicSubnets) > 0 {
			return notSimulated("placementConfigurations.secondaryVnicSubnets")
		}
		placed, err := s.placeMember(sees, p, c)
		if err != nil {
			return err
		}
		p.Shape = *placed.shape.Shape.Shape
	}
	return nil
}

func (s *Server) createPool(q *request) (response, error) {
	d, err := decode[core.CreateInstancePoolDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	switch {
	case len(d.LoadBalancers) > 0:
		return response{}, notSimulated("loadBalancers")
	case d.LifecycleManagement != nil:
		return response{}, notSimulated("lifecycleManagement")
	}
	p, err := s.newPool(q, d)
	if err != nil {
		return response{}, err
	}
	s.store.pools.add(*p.Id, p)
	s.startPool(p)
	resp, err := ok(s.poolView(p))
	resp.created = *p.Id
	return resp, err
}

func (s *Server) getPool(q *request) (response, error) {
	p, err := find(q.sees, s.store.pools, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(s.poolView(p))
}

func (s *Server) listPools(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	if _, err := q.enum("lifecycleState", core.GetInstancePoolSummaryLifecycleStateEnumStringValues()); err != nil {
		return response{}, err
	}
	var rows []row
	for _, p := range s.store.pools.all() {
		if p.compartment() == compartment && q.wants("displayName", p.DisplayName) && q.wants("lifecycleState", ptr(string(p.LifecycleState))) {
			rows = append(rows, row{p.position, *p.DisplayName, s.poolSummary(p)})
		}
	}
	return page(q, rows)
}

func (s *Server) poolSummary(p *pool) core.InstancePoolSummary {
	sum := core.InstancePoolSummary{
		Id: p.Id, CompartmentId: p.CompartmentId, InstanceConfigurationId: p.InstanceConfigurationId,
		LifecycleState: core.InstancePoolSummaryLifecycleStateEnum(p.LifecycleState), Size: p.Size, TimeCreated: p.TimeCreated,
		DisplayName: p.DisplayName, PoolType: p.PoolType, FreeformTags: p.FreeformTags, DefinedTags: p.DefinedTags, CurrentSize: ptr(s.running(p)),
	}
	for _, c := range p.PlacementConfigurations {
		sum.AvailabilityDomains = append(sum.AvailabilityDomains, *c.AvailabilityDomain)
	}
	return sum
}

func (s *Server) updatePool(q *request) (response, error) {
	p, err := find(q.sees, s.store.pools, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(s.poolView(p)); err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdateInstancePoolDetails](q)
	if err != nil {
		return response{}, err
	}
	if d.LifecycleManagement != nil {
		return response{}, notSimulated("lifecycleManagement")
	}
	next := p.InstancePool
	if d.PlacementConfigurations != nil {
		if next.PlacementConfigurations, err = convert[[]core.InstancePoolPlacementConfiguration](d.PlacementConfigurations); err != nil {
			return response{}, err
		}
	}
	set(&next.InstanceDisplayNameFormatter, d.InstanceDisplayNameFormatter)
	set(&next.InstanceHostnameFormatter, d.InstanceHostnameFormatter)
	set(&next.DisplayName, d.DisplayName)
	set(&next.InstanceConfigurationId, d.InstanceConfigurationId)
	set(&next.Size, d.Size)
	setTags(&next.FreeformTags, &next.DefinedTags, d.FreeformTags, d.DefinedTags)
	if err := s.changePool(q, p, next); err != nil {
		return response{}, err
	}
	return ok(s.poolView(p))
}

// changePool applies an update to a running pool. Members stay as they are; new ones come of the new
// settings.
func (s *Server) changePool(q *request, p *pool, next core.InstancePool) error {
	stopped := p.LifecycleState == core.InstancePoolLifecycleStateStopped && *next.Size == *p.Size
	if p.LifecycleState != core.InstancePoolLifecycleStateRunning && !stopped {
		return incorrectState(*p.Id, string(p.LifecycleState))
	}
	if *next.Size < 0 {
		return invalid("size", "%d is negative", *next.Size)
	}
	trial := &pool{InstancePool: next}
	if err := s.checkPool(q.sees, trial); err != nil {
		return err
	}
	if p.NetworkID != "" {
		if err := s.checkRDMA(trial.Shape); err != nil {
			return err
		}
	}
	resized := *next.Size != *p.Size
	p.InstancePool, p.Shape = next, trial.Shape
	p.changed()
	if resized {
		s.setState(p, core.InstancePoolLifecycleStateScaling)
		s.startPool(p)
	}
	return nil
}

// terminatePool ends a pool on its own.
func (s *Server) terminatePool(q *request) (response, error) {
	p, err := find(q.sees, s.store.pools, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if p.gone() {
		return response{}, notFound()
	}
	if err := q.match(s.poolView(p)); err != nil {
		return response{}, err
	}
	if p.NetworkID != "" {
		return response{}, conflict("The instance pool %s belongs to the cluster network %s: terminate that.", *p.Id, p.NetworkID)
	}
	if p.LifecycleState == core.InstancePoolLifecycleStateTerminating {
		return response{}, incorrectState(*p.Id, string(p.LifecycleState))
	}
	s.endPool(p, "")
	s.startPool(p)
	return response{status: http.StatusNoContent}, nil
}
