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
	record
	VnicID           string
	BootVolumeID     string
	KeepBootVolume   bool   // when the instance ends
	ComputeClusterID string // empty outside of compute clusters
	PoolID           string // empty outside of pools
	Membership       core.InstancePoolInstanceLifecycleStateEnum
	Fault            string     // why it will not boot
	Effect           NodeEffect // what is wrong with its host
	Failure          string     // of the launch
	job              job        // launching, an action, or terminating
}

func (i *instance) compartment() string { return *i.CompartmentId }
func (i *instance) gone() bool          { return i.LifecycleState == core.InstanceLifecycleStateTerminated }

// ending says that the instance is being terminated or is.
func (i *instance) ending() bool {
	return i.gone() || i.LifecycleState == core.InstanceLifecycleStateTerminating
}

// vnicOf and poolOf an instance; outside of pools the latter is nil.
func (s *Server) vnicOf(i *instance) *vnic { return s.store.vnics.get(i.VnicID) }
func (s *Server) poolOf(i *instance) *pool { return s.store.pools.get(i.PoolID) }

func (s *Server) setInstanceState(i *instance, state core.InstanceLifecycleStateEnum) {
	i.LifecycleState = state
	i.changed()
}

// hostOf tells the labs's hosts what they need to know.
func (s *Server) hostOf(i *instance) Host {
	v := s.vnicOf(i)
	n := s.store.subnets.get(*v.SubnetId)
	return Host{
		InstanceID: *i.Id, DisplayName: *i.DisplayName, Hostname: *v.HostnameLabel, Shape: *i.Shape,
		Region: s.cfg.Region, AvailabilityDomain: *i.AvailabilityDomain, FaultDomain: *i.FaultDomain,
		CompartmentID: i.compartment(), TenancyID: s.cfg.TenancyID, ImageID: *i.ImageId, VnicID: i.VnicID,
		MAC: *v.MacAddress, PrivateIP: v.address(), Subnet: n.cidr(), Gateway: n.gateway(),
		Metadata: maps.Clone(i.Metadata), Effect: i.Effect,
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
	var rows []row
	for _, i := range s.store.instances.all() {
		if i.compartment() == compartment && q.wants("availabilityDomain", i.AvailabilityDomain) &&
			q.wants("displayName", i.DisplayName) && q.wants("lifecycleState", ptr(string(i.LifecycleState))) &&
			q.wants("computeClusterId", &i.ComputeClusterID) && q.wants("capacityReservationId", i.CapacityReservationId) {
			rows = append(rows, row{i.position, *i.DisplayName, &i.Instance})
		}
	}
	return page(q, rows)
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
	if i.KeepBootVolume, err = q.flag("preserveBootVolume"); err != nil {
		return response{}, err
	}
	w := s.newWorkRequest(opTerminate, i.compartment(), entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeDeleted)
	s.terminate(i, w)
	if p := s.poolOf(i); p != nil && p.LifecycleState == core.InstancePoolLifecycleStateRunning && !s.cfg.KeepVacancies {
		s.replaceMember(p)
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
	s.startAction(i, t)
	return ok(i.Instance)
}

func (s *Server) startAction(i *instance, t transition) {
	s.setInstanceState(i, t.through)
	s.begin(&i.job, func(ctx context.Context) { _ = s.act(ctx, i, t) }) // It logs what goes wrong.
}

// act takes the host of an instance down, up, or both. The error says why it did not come up.
func (s *Server) act(ctx context.Context, i *instance, t transition) error {
	if t.from == core.InstanceLifecycleStateRunning {
		if err := s.clock.sleep(ctx, stopTime); err != nil {
			return err
		}
		s.removeHost(ctx, i)
	}
	if t.to == core.InstanceLifecycleStateRunning {
		if !s.update(ctx, func() { s.setInstanceState(i, core.InstanceLifecycleStateStarting) }) {
			return ctx.Err()
		}
		if err := s.bootHost(ctx, i); err != nil {
			s.update(ctx, func() {
				s.log.Error("host did not start", "instance", *i.Id, "error", err)
				s.setInstanceState(i, core.InstanceLifecycleStateStopped)
			})
			return err
		}
	}
	s.update(ctx, func() { s.setInstanceState(i, t.to) })
	return nil
}
