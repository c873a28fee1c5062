// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// clusterNetwork is an RDMA network with its one pool; the pool does the work.
type clusterNetwork struct {
	core.ClusterNetwork
	record
	PoolID string
}

func (n *clusterNetwork) compartment() string { return *n.CompartmentId }
func (n *clusterNetwork) gone() bool {
	return n.LifecycleState == core.ClusterNetworkLifecycleStateTerminated
}

func (s *Server) poolOfNetwork(n *clusterNetwork) *pool { return s.store.pools.get(n.PoolID) }

func (s *Server) networkView(n *clusterNetwork) core.ClusterNetwork {
	v := n.ClusterNetwork
	v.InstancePools = []core.InstancePool{s.poolView(s.poolOfNetwork(n))}
	return v
}

func (s *Server) createNetwork(q *request) (response, error) {
	d, err := decode[core.CreateClusterNetworkDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	if len(d.InstancePools) != 1 {
		return response{}, invalid("instancePools", "a cluster network has exactly one pool, not %d", len(d.InstancePools))
	}
	n, p, err := s.newNetwork(q, d)
	if err != nil {
		return response{}, err
	}
	s.store.networks.add(*n.Id, n)
	s.store.pools.add(*p.Id, p)
	w := s.newWorkRequest(opReserveNetwork, n.compartment(), entityNetwork, *n.Id, workrequests.WorkRequestResourceActionTypeCreated)
	p.Reservation, p.Due = *w.Id, s.clock.present().plus(reserveTime)
	p.changed()
	s.startPool(p)
	return response{body: s.networkView(n), etag: etagOf(s.networkView(n)), workRequest: *w.Id, created: *n.Id}, nil
}

func (s *Server) newNetwork(q *request, d core.CreateClusterNetworkDetails) (*clusterNetwork, *pool, error) {
	placement, err := convert[core.CreateInstancePoolPlacementConfigurationDetails](d.PlacementConfiguration)
	if err != nil {
		return nil, nil, err
	}
	of := d.InstancePools[0]
	p, err := s.newPool(q, core.CreateInstancePoolDetails{
		CompartmentId: d.CompartmentId, InstanceConfigurationId: of.InstanceConfigurationId, Size: of.Size, DisplayName: of.DisplayName,
		FreeformTags: of.FreeformTags, DefinedTags: of.DefinedTags,
		PlacementConfigurations: []core.CreateInstancePoolPlacementConfigurationDetails{placement},
	})
	if err != nil {
		return nil, nil, err
	}
	now := s.timestamp()
	n := &clusterNetwork{PoolID: *p.Id, ClusterNetwork: core.ClusterNetwork{
		Id: ptr(s.names.ocid("clusternetwork")), CompartmentId: d.CompartmentId, DisplayName: d.DisplayName,
		LifecycleState: core.ClusterNetworkLifecycleStateProvisioning, TimeCreated: now, TimeUpdated: now,
		PlacementConfiguration: d.PlacementConfiguration,
	}}
	if n.DisplayName == nil {
		n.DisplayName = ptr("clusternetwork" + s.defaultSuffix())
	}
	if c := d.ClusterConfiguration; c != nil {
		n.HpcIslandId, n.NetworkBlockIds = c.HpcIslandId, c.NetworkBlockIds
	}
	n.FreeformTags, n.DefinedTags = s.tagged(d.FreeformTags, d.DefinedTags)
	p.NetworkID = *n.Id
	return n, p, s.checkRDMA(p.Shape)
}

func (s *Server) checkRDMA(name string) error {
	if !s.shape(name).rdma {
		return invalid("instanceConfigurationId", "the shape %s of the instance configuration has no RDMA network", name)
	}
	return nil
}

// reserve holds the hosts of a cluster network, all or none; without them the network ends.
func (s *Server) reserve(n *clusterNetwork, p *pool, w *workRequest) {
	unnoticed := s.cfg.ReservationShortage == ReservationUnnoticed
	launch, err := s.placeMember(everyone, p, p.PlacementConfigurations[0])
	enough := unnoticed || err == nil && s.hasHosts(launch, *p.Size)
	if err != nil || !enough {
		s.refuseNetwork(p, w, err)
		return
	}
	if !unnoticed {
		p.Reserved, p.ReservationID = *p.Size, value(launch.CapacityReservationId)
		p.changed()
	}
	if n.HpcIslandId == nil {
		n.HpcIslandId = ptr(s.names.ocid("hpcisland"))
	}
	if len(n.NetworkBlockIds) == 0 {
		n.NetworkBlockIds = []string{s.names.ocid("computenetworkblock")}
	}
	n.changed()
	s.succeed(w)
}

// refuseNetwork ends a cluster network that gets no hosts, because of an error or for want of them.
func (s *Server) refuseNetwork(p *pool, w *workRequest, err error) {
	if err != nil {
		s.launchFault(w, err)
	} else {
		s.reservationFault(w)
	}
	s.finish(w, workrequests.WorkRequestStatusFailed)
	s.setState(p, core.InstancePoolLifecycleStateTerminated)
}

// reservationFault says that there are not enough hosts, where the scenario wants it.
func (s *Server) reservationFault(w *workRequest) {
	s.fault(w, codeOutOfCapacity, "Insufficient capacity for cluster network")
	switch s.cfg.ReservationShortage {
	case ReservationErrors:
		w.Logs = w.Logs[:len(w.Logs)-1]
	case ReservationLogs:
		w.Errors = nil
	default:
	}
}

func (s *Server) getNetwork(q *request) (response, error) {
	n, err := find(q.sees, s.store.networks, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(s.networkView(n))
}

func (s *Server) listNetworks(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	if _, err := q.enum("lifecycleState", core.GetClusterNetworkSummaryLifecycleStateEnumStringValues()); err != nil {
		return response{}, err
	}
	var rows []row
	for _, n := range s.store.networks.all() {
		if n.compartment() != compartment || !q.wants("displayName", n.DisplayName) || !q.wants("lifecycleState", ptr(string(n.LifecycleState))) {
			continue
		}
		rows = append(rows, row{at: n.position, name: *n.DisplayName, item: core.ClusterNetworkSummary{
			Id: n.Id, CompartmentId: n.CompartmentId, LifecycleState: core.ClusterNetworkSummaryLifecycleStateEnum(n.LifecycleState),
			TimeCreated: n.TimeCreated, TimeUpdated: n.TimeUpdated, DisplayName: n.DisplayName, FreeformTags: n.FreeformTags,
			DefinedTags: n.DefinedTags, InstancePools: []core.InstancePoolSummary{s.poolSummary(s.poolOfNetwork(n))}}})
	}
	return page(q, rows)
}

func (s *Server) listNetworkInstances(q *request) (response, error) {
	n, err := find(q.sees, s.store.networks, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return s.listMembers(q, s.poolOfNetwork(n))
}

// updateNetwork changes names and tags, and the pool. It has no work request header, as on OCI.
func (s *Server) updateNetwork(q *request) (response, error) {
	n, err := find(q.sees, s.store.networks, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(s.networkView(n)); err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdateClusterNetworkDetails](q)
	if err != nil {
		return response{}, err
	}
	if len(d.InstancePools) > 1 {
		return response{}, invalid("instancePools", "a cluster network has exactly one pool, not %d", len(d.InstancePools))
	}
	members := s.poolOfNetwork(n)
	next := members.InstancePool
	for _, p := range d.InstancePools {
		if *p.Id != n.PoolID {
			return response{}, notFound()
		}
		set(&next.DisplayName, p.DisplayName)
		set(&next.Size, p.Size)
		set(&next.InstanceConfigurationId, p.InstanceConfigurationId)
		setTags(&next.FreeformTags, &next.DefinedTags, p.FreeformTags, p.DefinedTags)
	}
	if err := s.changePool(q, members, next); err != nil {
		return response{}, err
	}
	set(&n.DisplayName, d.DisplayName)
	setTags(&n.FreeformTags, &n.DefinedTags, d.FreeformTags, d.DefinedTags)
	n.TimeUpdated = s.timestamp()
	n.changed()
	return ok(s.networkView(n))
}

// terminateNetwork ends a cluster network with its pool and instances. The instance configuration stays.
func (s *Server) terminateNetwork(q *request) (response, error) {
	n, err := find(q.sees, s.store.networks, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if n.gone() {
		return response{}, notFound()
	}
	if err := q.match(s.networkView(n)); err != nil {
		return response{}, err
	}
	if n.LifecycleState == core.ClusterNetworkLifecycleStateTerminating {
		return response{}, incorrectState(*n.Id, string(n.LifecycleState))
	}
	w := s.newWorkRequest(opTerminateNetwork, n.compartment(), entityNetwork, *n.Id, workrequests.WorkRequestResourceActionTypeDeleted)
	p := s.poolOfNetwork(n)
	s.progress(w, 0, 0)
	s.endPool(p, *w.Id)
	s.startPool(p)
	return response{status: http.StatusNoContent, workRequest: *w.Id}, nil
}

// moveNetwork puts a cluster network with its pool into another compartment. Instances that run stay in
// theirs.
func (s *Server) moveNetwork(q *request) (response, error) {
	n, err := find(q.sees, s.store.networks, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(s.networkView(n)); err != nil {
		return response{}, err
	}
	d, err := decode[core.ChangeClusterNetworkCompartmentDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	p := s.poolOfNetwork(n)
	if p.LifecycleState != core.InstancePoolLifecycleStateRunning {
		return response{}, incorrectState(*n.Id, string(n.LifecycleState))
	}
	n.CompartmentId, n.TimeUpdated, p.CompartmentId = d.CompartmentId, s.timestamp(), d.CompartmentId
	n.changed()
	p.changed()
	return response{status: http.StatusNoContent, etag: etagOf(s.networkView(n))}, nil
}
