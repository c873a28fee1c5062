// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestPoolActions(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	p := r.createPool(t, 2)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	_, err := r.management.StartInstancePool(t.Context(), core.StartInstancePoolRequest{InstancePoolId: p.Id})
	wantError(t, err, 409, "IncorrectState")
	stopped, err := r.management.StopInstancePool(t.Context(), core.StopInstancePoolRequest{InstancePoolId: p.Id})
	must(t, err)
	wantEqual(t, "state", stopped.LifecycleState, core.InstancePoolLifecycleStateStopping)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateStopped)
	wantEqual(t, "hosts", len(hosts.running()), 0)
	for _, i := range r.poolInstances(t, p.Id) {
		wantEqual(t, "a member's state", *i.State, "Stopped")
	}
	renamed, err := r.management.UpdateInstancePool(t.Context(), core.UpdateInstancePoolRequest{InstancePoolId: p.Id,
		UpdateInstancePoolDetails: core.UpdateInstancePoolDetails{DisplayName: common.String("other")}})
	must(t, err)
	wantEqual(t, "state", renamed.LifecycleState, core.InstancePoolLifecycleStateStopped)
	_, err = r.management.UpdateInstancePool(t.Context(), core.UpdateInstancePoolRequest{InstancePoolId: p.Id,
		UpdateInstancePoolDetails: core.UpdateInstancePoolDetails{Size: common.Int(3)}})
	wantError(t, err, 409, "IncorrectState")
	_, err = r.management.StartInstancePool(t.Context(), core.StartInstancePoolRequest{InstancePoolId: p.Id})
	must(t, err)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "hosts", len(hosts.running()), 2)
	_, err = r.management.SoftresetInstancePool(t.Context(), core.SoftresetInstancePoolRequest{InstancePoolId: p.Id})
	must(t, err)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "boots", hosts.booted(), 6)
	_, err = r.management.ResetInstancePool(t.Context(), core.ResetInstancePoolRequest{InstancePoolId: p.Id})
	must(t, err)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "boots", hosts.booted(), 8)
}

// TestNetworkStops with the pool that it is of.
func TestNetworkStops(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	n := r.createNetwork(t, 1)
	r.awaitNetwork(t, n.Id, core.ClusterNetworkLifecycleStateRunning)
	_, err := r.management.SoftstopInstancePool(t.Context(), core.SoftstopInstancePoolRequest{InstancePoolId: n.InstancePools[0].Id})
	must(t, err)
	r.awaitNetwork(t, n.Id, core.ClusterNetworkLifecycleStateStopped)
}

func TestMovePools(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	n, p := r.createNetwork(t, 1), r.createPool(t, 1)
	r.awaitNetwork(t, n.Id, core.ClusterNetworkLifecycleStateRunning)
	r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	move := func(pool *string) error {
		_, err := r.management.ChangeInstancePoolCompartment(t.Context(), core.ChangeInstancePoolCompartmentRequest{InstancePoolId: pool,
			ChangeInstancePoolCompartmentDetails: core.ChangeInstancePoolCompartmentDetails{CompartmentId: common.String(tenancyID)}})
		return err
	}
	must(t, move(p.Id))
	wantEqual(t, "the pool's compartment", *r.getPool(t, p.Id).CompartmentId, tenancyID)
	wantEqual(t, "its member's", *r.getInstance(t, r.poolInstances(t, p.Id)[0].Id).CompartmentId, compartmentID)
	wantError(t, move(n.InstancePools[0].Id), 409, "Conflict")
	_, err := r.management.ChangeClusterNetworkCompartment(t.Context(), core.ChangeClusterNetworkCompartmentRequest{ClusterNetworkId: n.Id,
		ChangeClusterNetworkCompartmentDetails: core.ChangeClusterNetworkCompartmentDetails{CompartmentId: common.String(tenancyID)}})
	must(t, err)
	got := r.getNetwork(t, n.Id)
	wantEqual(t, "the network's compartment", *got.CompartmentId, tenancyID)
	wantEqual(t, "its pool's", *got.InstancePools[0].CompartmentId, tenancyID)
	_, err = r.management.ChangeInstanceConfigurationCompartment(t.Context(), core.ChangeInstanceConfigurationCompartmentRequest{
		InstanceConfigurationId:                       got.InstancePools[0].InstanceConfigurationId,
		ChangeInstanceConfigurationCompartmentDetails: core.ChangeInstanceConfigurationCompartmentDetails{CompartmentId: common.String(tenancyID)}})
	must(t, err)
}

// TestConfigurationOfInstance launches a second instance like the first.
func TestConfigurationOfInstance(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	cluster := r.createComputeCluster(t)
	i := r.launch(t, gpuDetails(cluster.Id))
	c, err := r.management.CreateInstanceConfiguration(t.Context(), core.CreateInstanceConfigurationRequest{
		CreateInstanceConfiguration: core.CreateInstanceConfigurationFromInstanceDetails{CompartmentId: common.String(compartmentID), InstanceId: i.Id}})
	must(t, err)
	wantEqual(t, "deferred fields", len(c.DeferredFields), 0)
	second, err := r.management.LaunchInstanceConfiguration(t.Context(), core.LaunchInstanceConfigurationRequest{
		InstanceConfigurationId: c.Id, InstanceConfiguration: core.ComputeInstanceDetails{}})
	must(t, err)
	wantEqual(t, "shape", *second.Shape, *i.Shape)
	wantEqual(t, "instances of the cluster", len(r.clusterInstances(t, cluster.Id)), 2)
	details := launchDetails(gpuShape)
	got, err := r.management.GetInstanceConfiguration(t.Context(), core.GetInstanceConfigurationRequest{InstanceConfigurationId: common.String(r.configure(t, details))})
	must(t, err)
	wantEqual(t, "deferred fields", len(got.DeferredFields), 2)
}

// TestNetworkInReservation takes the hosts that were reserved for it: those that its next batch needs, too.
func TestNetworkInReservation(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	release := hosts.hold(&hosts.boots)
	r := newRegion(t, func(c *ocisim.Config) {
		c.Hosts, c.Capacity = hosts, map[string]int{gpuShape: 22}
	})
	reserved := r.reserve(t, 21)
	r.awaitReservation(t, reserved.Id, core.ComputeCapacityReservationLifecycleStateActive)
	details := launchDetails(gpuShape)
	details.CapacityReservationId = reserved.Id
	configuration := r.configure(t, details)
	create := func(size int) *string {
		n, err := r.management.CreateClusterNetwork(t.Context(), core.CreateClusterNetworkRequest{CreateClusterNetworkDetails: networkDetails(configuration, size)})
		must(t, err)
		return n.Id
	}
	r.awaitNetwork(t, create(22), core.ClusterNetworkLifecycleStateTerminated)
	n := create(21)
	eventually(t, "the first batch boots", func() bool { return hosts.booted() == 20 })
	wantEqual(t, "used", *r.getReservation(t, reserved.Id).UsedInstanceCount, 20)
	d := gpuDetails(nil)
	d.CapacityReservationId = reserved.Id
	_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	wantError(t, err, 500, "InternalError")
	release()
	r.awaitNetwork(t, n, core.ClusterNetworkLifecycleStateRunning)
	wantEqual(t, "used", *r.getReservation(t, reserved.Id).UsedInstanceCount, 21)
	wantEqual(t, "free", r.report(t, gpuShape).count(), 1)
}
