// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// instance is a compute instance with its one VNIC.
type instance struct {
	core.Instance
	ComputeClusterID string // empty outside of compute clusters
	shape            *offeredShape
	vnic             *vnic
	pool             *pool                                       // nil outside of pools
	membership       core.InstancePoolInstanceLifecycleStateEnum // in the pool
	fault            error                                       // why it will not boot
	effect           NodeEffect                                  // what is wrong with its host
	failure          string
	job              job // launching, an action, or terminating
}

func (i *instance) compartment() string { return *i.CompartmentId }
func (i *instance) gone() bool          { return i.LifecycleState == core.InstanceLifecycleStateTerminated }

// ending says that the instance is being terminated or is.
func (i *instance) ending() bool {
	return i.gone() || i.LifecycleState == core.InstanceLifecycleStateTerminating
}

// hostOf tells the labs's hosts what they need to know.
func (s *Server) hostOf(i *instance) Host {
	return Host{
		InstanceID: *i.Id, DisplayName: *i.DisplayName, Hostname: *i.vnic.HostnameLabel, Shape: *i.Shape,
		Region: s.cfg.Region, AvailabilityDomain: *i.AvailabilityDomain, FaultDomain: *i.FaultDomain,
		CompartmentID: i.compartment(), TenancyID: s.cfg.TenancyID, ImageID: *i.ImageId, VnicID: *i.vnic.Id,
		MAC: *i.vnic.MacAddress, PrivateIP: i.vnic.address, Subnet: i.vnic.subnet.cidr, Gateway: i.vnic.subnet.gateway(),
		Metadata: maps.Clone(i.Metadata), Effect: i.effect,
	}
}

func (s *Server) getInstance(q *request) (response, error) {
	i, err := find(q.sees, s.store.instances, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(i.Instance)
}

func (s *Server) listInstances(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	if _, err := q.enum("lifecycleState", core.GetInstanceLifecycleStateEnumStringValues()); err != nil {
		return response{}, err
	}
	if q.query.Get("capacityReservationId") != "" {
		return response{}, notSimulated("ListInstances with capacityReservationId")
	}
	var rows []row
	for _, i := range s.store.instances.all() {
		if i.compartment() == compartment && q.wants("availabilityDomain", i.AvailabilityDomain) &&
			q.wants("displayName", i.DisplayName) && q.wants("lifecycleState", ptr(string(i.LifecycleState))) &&
			q.wants("computeClusterId", &i.ComputeClusterID) {
			rows = append(rows, row{i.Instance, *i.DisplayName})
		}
	}
	return page(q, rows)
}

// updateInstance changes names, tags and metadata; OCI restarts or moves instances for the rest.
func (s *Server) updateInstance(q *request) (response, error) {
	i, err := find(q.sees, s.store.instances, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(i.Instance); err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdateInstanceDetails](q)
	if err != nil {
		return response{}, err
	}
	if i.ending() {
		return response{}, incorrectState(*i.Id, string(i.LifecycleState))
	}
	if err := onlyFields(q, "displayName", "freeformTags", "definedTags", "metadata", "extendedMetadata"); err != nil {
		return response{}, err
	}
	if err := validateMetadata("", d.Metadata, d.ExtendedMetadata); err != nil {
		return response{}, err
	}
	set(&i.DisplayName, d.DisplayName)
	setTags(&i.FreeformTags, &i.DefinedTags, d.FreeformTags, d.DefinedTags)
	if d.Metadata != nil {
		i.Metadata = d.Metadata
	}
	if d.ExtendedMetadata != nil {
		i.ExtendedMetadata = d.ExtendedMetadata
	}
	w := s.newWorkRequest(opUpdateInstance, i.compartment(), entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeUpdated)
	s.progress(w, 0, 0)
	s.succeed(w)
	return response{body: i.Instance, etag: etagOf(i.Instance), workRequest: *w.Id}, nil
}

// terminateInstance ends an instance. Its pool, where it has one, then launches a replacement, unless
// [Config.KeepVacancies].
func (s *Server) terminateInstance(q *request) (response, error) {
	i, err := find(q.sees, s.store.instances, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if i.gone() {
		return response{}, notFound()
	}
	if err := q.match(i.Instance); err != nil {
		return response{}, err
	}
	if i.ending() {
		return response{}, incorrectState(*i.Id, string(i.LifecycleState))
	}
	w := s.newWorkRequest(opTerminate, i.compartment(), entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeDeleted)
	s.terminate(i, w)
	if i.pool != nil && i.pool.LifecycleState == core.InstancePoolLifecycleStateRunning && !s.cfg.KeepVacancies {
		s.replaceMember(i.pool)
	}
	return response{status: http.StatusNoContent, workRequest: *w.Id}, nil
}

// transition is what an action does: the state it needs, the one it passes through, and its end.
type transition struct {
	from, through, to core.InstanceLifecycleStateEnum
}

var transitions = map[string]transition{
	"START":     {core.InstanceLifecycleStateStopped, core.InstanceLifecycleStateStarting, core.InstanceLifecycleStateRunning},
	"STOP":      {core.InstanceLifecycleStateRunning, core.InstanceLifecycleStateStopping, core.InstanceLifecycleStateStopped},
	"SOFTSTOP":  {core.InstanceLifecycleStateRunning, core.InstanceLifecycleStateStopping, core.InstanceLifecycleStateStopped},
	"RESET":     {core.InstanceLifecycleStateRunning, core.InstanceLifecycleStateStopping, core.InstanceLifecycleStateRunning},
	"SOFTRESET": {core.InstanceLifecycleStateRunning, core.InstanceLifecycleStateStopping, core.InstanceLifecycleStateRunning},
}

// instanceAction stops, starts or resets an instance. Its host is removed and booted again, so unlike on
// OCI it comes back with a fresh file system.
func (s *Server) instanceAction(q *request) (response, error) {
	i, err := find(q.sees, s.store.instances, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	action := q.query.Get("action")
	t, simulated := transitions[action]
	switch {
	case action == "":
		return response{}, missing("action")
	case !slices.Contains(core.GetInstanceActionActionEnumStringValues(), action):
		return response{}, invalid("action", "%q is unknown", action)
	case !simulated:
		return response{}, notSimulated("InstanceAction " + action)
	}
	if err := q.match(i.Instance); err != nil {
		return response{}, err
	}
	if i.LifecycleState != t.from {
		return response{}, incorrectState(*i.Id, string(i.LifecycleState))
	}
	i.LifecycleState = t.through
	s.begin(&i.job, func(ctx context.Context) { s.act(ctx, i, t) })
	return ok(i.Instance)
}

func (s *Server) act(ctx context.Context, i *instance, t transition) {
	if t.from == core.InstanceLifecycleStateRunning {
		if s.clock.sleep(ctx, stopTime) != nil {
			return
		}
		s.removeHost(ctx, i)
	}
	if t.to == core.InstanceLifecycleStateRunning {
		if !s.update(ctx, func() { i.LifecycleState = core.InstanceLifecycleStateStarting }) {
			return
		}
		if err := s.bootHost(ctx, i); err != nil {
			s.update(ctx, func() {
				s.log.Error("host did not start", "instance", *i.Id, "error", err)
				i.LifecycleState = core.InstanceLifecycleStateStopped
			})
			return
		}
	}
	s.update(ctx, func() { i.LifecycleState = t.to })
}
