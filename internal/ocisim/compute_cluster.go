// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// computeCluster is an RDMA network that instances are launched into one by one. Everything about it is
// synchronous.
type computeCluster struct {
	core.ComputeCluster
	record
}

func (c *computeCluster) compartment() string { return *c.CompartmentId }
func (c *computeCluster) gone() bool {
	return c.LifecycleState == core.ComputeClusterLifecycleStateDeleted
}

func (s *Server) createComputeCluster(q *request) (response, error) {
	d, err := decode[core.CreateComputeClusterDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	if err := s.checkAvailabilityDomain(d.AvailabilityDomain); err != nil {
		return response{}, err
	}
	if err := checkClusterPlacement(d.PlacementConstraintDetails); err != nil {
		return response{}, err
	}
	now := s.timestamp()
	c := &computeCluster{ComputeCluster: core.ComputeCluster{
		Id: ptr(s.names.ocid("computecluster")), CompartmentId: d.CompartmentId, AvailabilityDomain: d.AvailabilityDomain,
		DisplayName: d.DisplayName, LifecycleState: core.ComputeClusterLifecycleStateActive, TimeCreated: now, TimeUpdated: now,
		PlacementConstraintDetails: d.PlacementConstraintDetails,
	}}
	if c.DisplayName == nil {
		c.DisplayName = ptr("computecluster" + s.defaultSuffix())
	}
	c.FreeformTags, c.DefinedTags = s.tagged(d.FreeformTags, d.DefinedTags)
	s.store.computeClusters.add(*c.Id, c)
	resp, err := ok(c.ComputeCluster)
	resp.created = *c.Id
	return resp, err
}

// checkClusterPlacement takes what the API's text demands: targets need the island that they are in.
func checkClusterPlacement(d core.PlacementConstraintDetails) error {
	const path = "placementConstraintDetails"
	if d == nil {
		return nil
	}
	c, ofCluster := d.(core.ComputeClusterPlacementConstraintDetails)
	switch {
	case !ofCluster:
		return invalid(path+".type", "a compute cluster takes COMPUTE_CLUSTER only")
	case len(c.TargetMemoryFabricIds) > 0:
		return notSimulated(path + ".targetMemoryFabricIds")
	case len(c.TargetNetworkBlockIds) > 0 && c.HpcIslandId == nil:
		return missing(path + ".hpcIslandId")
	}
	return nil
}

func (s *Server) getComputeCluster(q *request) (response, error) {
	c, err := find(q.sees, s.store.computeClusters, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(c.ComputeCluster)
}

func (s *Server) listComputeClusters(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, c := range s.store.computeClusters.all() {
		if c.compartment() != compartment || !q.wants("availabilityDomain", c.AvailabilityDomain) || !q.wants("displayName", c.DisplayName) {
			continue
		}
		rows = append(rows, row{at: c.position, name: *c.DisplayName, item: core.ComputeClusterSummary{
			Id: c.Id, CompartmentId: c.CompartmentId, AvailabilityDomain: c.AvailabilityDomain, DisplayName: c.DisplayName,
			LifecycleState: c.LifecycleState, TimeCreated: c.TimeCreated, FreeformTags: c.FreeformTags, DefinedTags: c.DefinedTags}})
	}
	return collection(page(q, rows))
}

// activeComputeCluster finds the cluster of a request that changes it.
func (s *Server) activeComputeCluster(q *request) (*computeCluster, error) {
	c, err := find(q.sees, s.store.computeClusters, q.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if c.gone() {
		return nil, notFound()
	}
	return c, q.match(c.ComputeCluster)
}

func (s *Server) updateComputeCluster(q *request) (response, error) {
	c, err := s.activeComputeCluster(q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdateComputeClusterDetails](q)
	if err != nil {
		return response{}, err
	}
	if d.PlacementConstraintDetails != nil {
		if err := s.moveCluster(c, d.PlacementConstraintDetails); err != nil {
			return response{}, err
		}
	}
	set(&c.DisplayName, d.DisplayName)
	setTags(&c.FreeformTags, &c.DefinedTags, d.FreeformTags, d.DefinedTags)
	c.TimeUpdated = s.timestamp()
	c.changed()
	return ok(c.ComputeCluster)
}

// moveCluster changes the placement of launches to come; the island stays, as the API's text says.
func (s *Server) moveCluster(c *computeCluster, to core.PlacementConstraintDetails) error {
	if err := checkClusterPlacement(to); err != nil {
		return err
	}
	island := func(d core.PlacementConstraintDetails) string {
		of, _ := d.(core.ComputeClusterPlacementConstraintDetails)
		return value(of.HpcIslandId)
	}
	if island(c.PlacementConstraintDetails) != island(to) {
		return invalid("placementConstraintDetails.hpcIslandId", "it cannot be changed")
	}
	c.PlacementConstraintDetails = to
	return nil
}

func (s *Server) moveComputeCluster(q *request) (response, error) {
	c, err := s.activeComputeCluster(q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.ChangeComputeClusterCompartmentDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	c.CompartmentId, c.TimeUpdated = d.CompartmentId, s.timestamp()
	c.changed()
	return response{status: http.StatusNoContent}, nil
}

func (s *Server) deleteComputeCluster(q *request) (response, error) {
	c, err := s.activeComputeCluster(q)
	if err != nil {
		return response{}, err
	}
	if len(s.store.inCluster.with(*c.Id)) > 0 {
		return response{}, conflict("The compute cluster %s has instances. Terminate them before you delete it.", *c.Id)
	}
	c.LifecycleState, c.TimeUpdated = core.ComputeClusterLifecycleStateDeleted, s.timestamp()
	c.changed()
	c.forget(terminatedVisible)
	return response{status: http.StatusNoContent}, nil
}

// placeInCluster checks that an instance can be launched into a compute cluster: it has RDMA ports and is
// of the cluster's compartment and availability domain.
func (s *Server) placeInCluster(sees viewer, d core.LaunchInstanceDetails, shape *offeredShape) error {
	c, err := find(sees, s.store.computeClusters, *d.ComputeClusterId)
	switch {
	case err != nil:
		return err
	case c.gone():
		return notFound()
	case !shape.rdma:
		return invalid("shape", "%s has no RDMA network, which instances of a compute cluster need", *shape.Shape.Shape)
	case *c.AvailabilityDomain != *d.AvailabilityDomain:
		return invalid("availabilityDomain", "the compute cluster %s is in %s, not in %s", *c.Id, *c.AvailabilityDomain, *d.AvailabilityDomain)
	case c.compartment() != *d.CompartmentId:
		return invalid("compartmentId", "the compute cluster %s is in another compartment", *c.Id)
	}
	return nil
}
