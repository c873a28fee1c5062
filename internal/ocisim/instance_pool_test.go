// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"slices"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestInstancePoolLife(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	created := r.createPool(t, 2)
	wantEqual(t, "state", created.LifecycleState, core.InstancePoolLifecycleStateProvisioning)
	p := r.awaitPool(t, created.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "current size", *p.CurrentSize, 2)

	updated, err := r.management.UpdateInstancePool(t.Context(), core.UpdateInstancePoolRequest{InstancePoolId: p.Id,
		UpdateInstancePoolDetails: core.UpdateInstancePoolDetails{Size: common.Int(3), InstanceDisplayNameFormatter: common.String("gpu-${launchCount}"),
			FreeformTags: map[string]string{"a": "b"}}})
	must(t, err)
	wantEqual(t, "state", updated.LifecycleState, core.InstancePoolLifecycleStateScaling)
	p = r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "current size", *p.CurrentSize, 3)
	wantEqual(t, "tag", p.FreeformTags["a"], "b")
	newest := r.poolInstances(t, p.Id)[0]
	wantEqual(t, "name", *newest.DisplayName, "gpu-3")

	list, err := r.management.ListInstancePools(t.Context(), core.ListInstancePoolsRequest{
		CompartmentId: common.String(compartmentID), LifecycleState: core.InstancePoolSummaryLifecycleStateRunning})
	must(t, err)
	wantEqual(t, "pools", len(list.Items), 1)
	wantEqual(t, "availability domain", list.Items[0].AvailabilityDomains[0], domain)

	_, err = r.management.TerminateInstancePool(t.Context(), core.TerminateInstancePoolRequest{InstancePoolId: p.Id})
	must(t, err)
	_, err = r.management.UpdateInstancePool(t.Context(), core.UpdateInstancePoolRequest{InstancePoolId: p.Id,
		UpdateInstancePoolDetails: core.UpdateInstancePoolDetails{Size: common.Int(1)}})
	wantError(t, err, 409, "IncorrectState")
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateTerminated)
	wantEqual(t, "hosts", len(hosts.running()), 0)
	_, err = r.management.DeleteInstanceConfiguration(t.Context(), core.DeleteInstanceConfigurationRequest{InstanceConfigurationId: p.InstanceConfigurationId})
	must(t, err)
}

func TestPoolShortageWaits(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{gpuShape: 1} })
	p := r.createPool(t, 2)
	var w *workrequests.WorkRequest
	eventually(t, "the work request tells of the shortage", func() bool {
		if w = r.workRequest(t, p.Id, "LaunchInstancesInPool"); w == nil {
			return false
		}
		faults, logs := r.complaints(t, w.Id)
		return slices.Contains(faults, "Out of host capacity.") && slices.Contains(logs, "Out of host capacity.")
	})
	wantEqual(t, "status", w.Status, workrequests.WorkRequestStatusInProgress)
	wantEqual(t, "state", r.getPool(t, p.Id).LifecycleState, core.InstancePoolLifecycleStateProvisioning)
	r.SetCapacity(gpuShape, 2)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "status", r.workRequest(t, p.Id, "LaunchInstancesInPool").Status, workrequests.WorkRequestStatusSucceeded)
}

func TestPoolShortageWhileWaitingIsTerminated(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{gpuShape: 0} })
	p := r.createPool(t, 1)
	eventually(t, "the launch begins", func() bool { return r.workRequest(t, p.Id, "LaunchInstancesInPool") != nil })
	_, err := r.management.TerminateInstancePool(t.Context(), core.TerminateInstancePoolRequest{InstancePoolId: p.Id})
	must(t, err)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateTerminated)
	wantEqual(t, "status", r.workRequest(t, p.Id, "LaunchInstancesInPool").Status, workrequests.WorkRequestStatusCanceled)
}

func TestPoolShortageEnds(t *testing.T) {
	t.Parallel()
	for shortage, state := range map[ocisim.Shortage]core.InstancePoolLifecycleStateEnum{
		ocisim.ShortageRunsShort:  core.InstancePoolLifecycleStateRunning,
		ocisim.ShortageTerminates: core.InstancePoolLifecycleStateTerminated,
	} {
		t.Run(string(shortage), func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, func(c *ocisim.Config) {
				c.Capacity, c.Shortage = map[string]int{gpuShape: 1}, shortage
			})
			p := r.createPool(t, 2)
			pool := r.awaitPool(t, p.Id, state)
			w := r.workRequest(t, p.Id, "LaunchInstancesInPool")
			wantEqual(t, "status", w.Status, workrequests.WorkRequestStatusFailed)
			if state == core.InstancePoolLifecycleStateRunning {
				wantEqual(t, "size", *pool.Size, 2)
				wantEqual(t, "current size", *pool.CurrentSize, 1)
			} else {
				wantEqual(t, "instances", r.Stats().Instances, 0)
			}
		})
	}
}

// A running cluster that cannot grow is not terminated.
func TestGrowthShortageKeepsCluster(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) {
		c.Capacity, c.Shortage = map[string]int{gpuShape: 1}, ocisim.ShortageTerminates
	})
	created := r.createNetwork(t, 1)
	r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	_, err := r.updateNetwork(t, created.ClusterNetwork, 2, nil)
	must(t, err)
	n := r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	wantEqual(t, "current size", *n.InstancePools[0].CurrentSize, 1)
	faults, _ := r.complaints(t, r.workRequest(t, n.InstancePools[0].Id, "LaunchInstancesInPool").Id)
	if !slices.Contains(faults, "Out of host capacity.") {
		t.Fatalf("errors are %q", faults)
	}
}

func (r *region) detach(t *testing.T, pool, instance *string, decrement, terminate *bool) core.DetachInstancePoolInstanceResponse {
	t.Helper()
	resp, err := r.management.DetachInstancePoolInstance(t.Context(), core.DetachInstancePoolInstanceRequest{InstancePoolId: pool,
		DetachInstancePoolInstanceDetails: core.DetachInstancePoolInstanceDetails{InstanceId: instance, IsDecrementSize: decrement, IsAutoTerminate: terminate}})
	must(t, err)
	return resp
}

func TestDetach(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	created := r.createPool(t, 3)
	p := r.awaitPool(t, created.Id, core.InstancePoolLifecycleStateRunning)
	members := r.poolInstances(t, p.Id)
	yes, no := common.Bool(true), common.Bool(false)

	one, err := r.management.GetInstancePoolInstance(t.Context(), core.GetInstancePoolInstanceRequest{InstancePoolId: p.Id, InstanceId: members[0].Id})
	must(t, err)
	wantEqual(t, "membership", one.LifecycleState, core.InstancePoolInstanceLifecycleStateActive)

	// By default the pool shrinks, and the instance goes on outside of it.
	resp := r.detach(t, p.Id, members[0].Id, nil, nil)
	p = r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "size", *p.Size, 2)
	wantEqual(t, "current size", *p.CurrentSize, 2)
	wantEqual(t, "state", r.getInstance(t, members[0].Id).LifecycleState, core.InstanceLifecycleStateRunning)
	w := r.workRequest(t, members[0].Id, "DetachInstancePoolInstance")
	wantEqual(t, "work request", *w.Id, *resp.OpcWorkRequestId)
	wantEqual(t, "status", w.Status, workrequests.WorkRequestStatusSucceeded)
	_, err = r.management.GetInstancePoolInstance(t.Context(), core.GetInstancePoolInstanceRequest{InstancePoolId: p.Id, InstanceId: members[0].Id})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")

	// Replace.
	release := hosts.hold(&hosts.removals)
	r.detach(t, p.Id, members[1].Id, no, yes)
	one, err = r.management.GetInstancePoolInstance(t.Context(), core.GetInstancePoolInstanceRequest{InstancePoolId: p.Id, InstanceId: members[1].Id})
	must(t, err)
	wantEqual(t, "membership", one.LifecycleState, core.InstancePoolInstanceLifecycleStateDetaching)
	wantEqual(t, "state", r.getPool(t, p.Id).LifecycleState, core.InstancePoolLifecycleStateScaling)
	release()
	p = r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "size", *p.Size, 2)
	wantEqual(t, "current size", *p.CurrentSize, 2)
	wantEqual(t, "state", r.getInstance(t, members[1].Id).LifecycleState, core.InstanceLifecycleStateTerminated)

	// Remove.
	r.detach(t, p.Id, members[2].Id, yes, yes)
	p = r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "size", *p.Size, 1)
	wantEqual(t, "state", r.getInstance(t, members[2].Id).LifecycleState, core.InstanceLifecycleStateTerminated)
	wantEqual(t, "hosts", len(hosts.running()), 2) // the detached one and the replacement

	attached, err := r.management.AttachInstancePoolInstance(t.Context(), core.AttachInstancePoolInstanceRequest{InstancePoolId: p.Id,
		AttachInstancePoolInstanceDetails: core.AttachInstancePoolInstanceDetails{InstanceId: members[0].Id}})
	must(t, err)
	wantEqual(t, "membership", attached.LifecycleState, core.InstancePoolInstanceLifecycleStateAttaching)
	p = r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "size", *p.Size, 2)
	wantEqual(t, "current size", *p.CurrentSize, 2)
}

func TestMemberTerminatedByOthers(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"replaced": false, "vacant": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, func(c *ocisim.Config) { c.KeepVacancies = keep })
			created := r.createNetwork(t, 2)
			r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
			victim := r.networkInstances(t, created.Id)[0].Id
			_, err := r.compute.TerminateInstance(t.Context(), core.TerminateInstanceRequest{InstanceId: victim})
			must(t, err)
			r.awaitInstance(t, victim, core.InstanceLifecycleStateTerminated)
			n := r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
			want := 2
			if keep {
				want = 1
			}
			wantEqual(t, "size", *n.InstancePools[0].Size, 2)
			wantEqual(t, "current size", *n.InstancePools[0].CurrentSize, want)
			for _, i := range r.networkInstances(t, created.Id) {
				if *i.Id == *victim {
					t.Error("the terminated instance is still a member")
				}
			}
		})
	}
}

func TestPoolOfNetworkIsNotTerminatedAlone(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	created := r.createNetwork(t, 1)
	_, err := r.management.TerminateInstancePool(t.Context(), core.TerminateInstancePoolRequest{InstancePoolId: created.InstancePools[0].Id})
	wantError(t, err, 409, "Conflict")
	// Its size can be changed through the pool, and the network follows.
	r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	release := hosts.hold(&hosts.removals)
	_, err = r.management.UpdateInstancePool(t.Context(), core.UpdateInstancePoolRequest{InstancePoolId: created.InstancePools[0].Id,
		UpdateInstancePoolDetails: core.UpdateInstancePoolDetails{Size: common.Int(0)}})
	must(t, err)
	wantEqual(t, "state", r.getNetwork(t, created.Id).LifecycleState, core.ClusterNetworkLifecycleStateScaling)
	release()
	r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	wantEqual(t, "instances", r.Stats().Instances, 0)
}
