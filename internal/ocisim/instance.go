// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
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
	Due              instant    // when the present, passing state ends
	Restart          bool       // STARTING follows STOPPING
	Work             string     // open work request
	NewDisk          bool       // the boot volume has been replaced since the host last booted
	job              job        // in a passing state
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

// stays says that nobody ends the instance; booted that it does not boot for the first time.
func (i *instance) stays() bool  { return !i.ending() }
func (i *instance) booted() bool { return i.LifecycleState != core.InstanceLifecycleStateProvisioning }

// hostOf tells the lab's hosts what they need to know.
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
	s.terminate(i, s.clock.present(), w)
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

// instanceAction stops, starts or resets an instance. Its host keeps its disk.
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
	s.startAction(i, t, "")
	return ok(i.Instance)
}

// startAction lets the host of an instance go down, up, or both. The work request may be empty.
func (s *Server) startAction(i *instance, t transition, work string) {
	i.Restart, i.Work = t.from == t.to, work
	takes := stopTime
	if t.through == core.InstanceLifecycleStateStarting {
		takes = s.bootTime(i)
	}
	s.transit(i, t.through, s.clock.present().plus(takes))
}
