// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

const otherDomain = "Lab1:US-LAB-1-AD-2"

func (r *region) createComputeCluster(t *testing.T) core.ComputeCluster {
	t.Helper()
	resp, err := r.compute.CreateComputeCluster(t.Context(), core.CreateComputeClusterRequest{
		CreateComputeClusterDetails: core.CreateComputeClusterDetails{
			AvailabilityDomain: common.String(domain), CompartmentId: common.String(compartmentID), DisplayName: common.String("rdma"),
			PlacementConstraintDetails: core.ComputeClusterPlacementConstraintDetails{
				HpcIslandId: common.String("ocid1.hpcisland.oc1..a"), TargetNetworkBlockIds: []string{"ocid1.computenetworkblock.oc1..b"}},
		}})
	must(t, err)
	return resp.ComputeCluster
}

func gpuDetails(cluster *string) core.LaunchInstanceDetails {
	d := vmDetails()
	d.Shape, d.ShapeConfig, d.PlatformConfig = common.String(gpuShape), nil, nil
	d.CreateVnicDetails.SubnetId, d.ComputeClusterId = common.String(subnetID), cluster
	return d
}

func (r *region) clusterInstances(t *testing.T, cluster *string) []core.Instance {
	t.Helper()
	resp, err := r.compute.ListInstances(t.Context(), core.ListInstancesRequest{CompartmentId: common.String(compartmentID), ComputeClusterId: cluster})
	must(t, err)
	return resp.Items
}

func TestComputeClusterLife(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	c := r.createComputeCluster(t)
	wantEqual(t, "state", c.LifecycleState, core.ComputeClusterLifecycleStateActive)
	i := r.launch(t, gpuDetails(c.Id))
	r.launch(t, gpuDetails(nil))
	list := r.clusterInstances(t, c.Id)
	if len(list) != 1 || *list[0].Id != *i.Id {
		t.Fatalf("instances of the cluster: %v", list)
	}

	updated, err := r.compute.UpdateComputeCluster(t.Context(), core.UpdateComputeClusterRequest{ComputeClusterId: c.Id,
		UpdateComputeClusterDetails: core.UpdateComputeClusterDetails{DisplayName: common.String("fast"), FreeformTags: map[string]string{"a": "b"},
			PlacementConstraintDetails: core.ComputeClusterPlacementConstraintDetails{HpcIslandId: common.String("ocid1.hpcisland.oc1..a")}}})
	must(t, err)
	wantEqual(t, "name", *updated.DisplayName, "fast")
	wantEqual(t, "blocks", len(updated.PlacementConstraintDetails.(core.ComputeClusterPlacementConstraintDetails).TargetNetworkBlockIds), 0)
	_, err = r.compute.UpdateComputeCluster(t.Context(), core.UpdateComputeClusterRequest{ComputeClusterId: c.Id,
		UpdateComputeClusterDetails: core.UpdateComputeClusterDetails{PlacementConstraintDetails: core.ComputeClusterPlacementConstraintDetails{
			HpcIslandId: common.String("ocid1.hpcisland.oc1..other")}}})
	wantError(t, err, 400, "InvalidParameter")

	remove := core.DeleteComputeClusterRequest{ComputeClusterId: c.Id}
	_, err = r.compute.DeleteComputeCluster(t.Context(), remove)
	wantError(t, err, 409, "Conflict")
	_, err = r.compute.TerminateInstance(t.Context(), core.TerminateInstanceRequest{InstanceId: i.Id})
	must(t, err)
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateTerminated)
	_, err = r.compute.DeleteComputeCluster(t.Context(), remove)
	must(t, err)
	got, err := r.compute.GetComputeCluster(t.Context(), core.GetComputeClusterRequest{ComputeClusterId: c.Id})
	must(t, err)
	wantEqual(t, "state", got.LifecycleState, core.ComputeClusterLifecycleStateDeleted)
	_, err = r.compute.DeleteComputeCluster(t.Context(), remove)
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
	_, err = r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: gpuDetails(c.Id)})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}

func TestComputeClusterList(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	c := r.createComputeCluster(t)
	for name, want := range map[string]int{"rdma": 1, "other": 0} {
		list, err := r.compute.ListComputeClusters(t.Context(), core.ListComputeClustersRequest{
			CompartmentId: common.String(compartmentID), DisplayName: &name, AvailabilityDomain: common.String(domain)})
		must(t, err)
		wantEqual(t, "clusters named "+name, len(list.Items), want)
	}
	_, err := r.compute.ChangeComputeClusterCompartment(t.Context(), core.ChangeComputeClusterCompartmentRequest{ComputeClusterId: c.Id,
		ChangeComputeClusterCompartmentDetails: core.ChangeComputeClusterCompartmentDetails{CompartmentId: common.String(tenancyID)}})
	must(t, err)
	list, err := r.compute.ListComputeClusters(t.Context(), core.ListComputeClustersRequest{CompartmentId: common.String(tenancyID)})
	must(t, err)
	wantEqual(t, "clusters of the root", len(list.Items), 1)
	_, err = r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: gpuDetails(c.Id)})
	wantError(t, err, 400, "InvalidParameter")
}

func TestComputeClusterRefusals(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.AvailabilityDomains = append(c.AvailabilityDomains, otherDomain) })
	c := r.createComputeCluster(t)
	for name, change := range map[string]func(*core.LaunchInstanceDetails){
		"shape": func(d *core.LaunchInstanceDetails) { d.Shape = common.String(vmShape) },
		"availabilityDomain": func(d *core.LaunchInstanceDetails) {
			d.AvailabilityDomain, d.CreateVnicDetails.SubnetId = common.String(otherDomain), common.String(subnetID)
		},
		"compartmentId": func(d *core.LaunchInstanceDetails) { d.CompartmentId = common.String(tenancyID) },
	} {
		d := gpuDetails(c.Id)
		change(&d)
		_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
		wantError(t, err, 400, "InvalidParameter")
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	for name, placement := range map[string]core.PlacementConstraintDetails{
		"MissingParameter": core.ComputeClusterPlacementConstraintDetails{TargetNetworkBlockIds: []string{"ocid1.computenetworkblock.oc1..b"}},
		"InvalidParameter": core.HostGroupPlacementConstraintDetails{ComputeHostGroupId: common.String("ocid1.g")},
	} {
		_, err := r.compute.CreateComputeCluster(t.Context(), core.CreateComputeClusterRequest{CreateComputeClusterDetails: core.CreateComputeClusterDetails{
			AvailabilityDomain: common.String(domain), CompartmentId: common.String(compartmentID), PlacementConstraintDetails: placement}})
		wantError(t, err, 400, name)
	}
}

// TestLaunchByConfiguration fills in what the configuration leaves open, and overrides the rest.
func TestLaunchByConfiguration(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	c := r.createComputeCluster(t)
	details := launchDetails(gpuShape)
	details.FreeformTags, details.DisplayName = map[string]string{"a": "b"}, common.String("node")
	details.CreateVnicDetails = &core.InstanceConfigurationCreateVnicDetails{NsgIds: []string{}}
	configuration := r.configure(t, details)
	launch := func(d *core.InstanceConfigurationLaunchInstanceDetails) (core.LaunchInstanceConfigurationResponse, error) {
		return r.management.LaunchInstanceConfiguration(t.Context(), core.LaunchInstanceConfigurationRequest{
			InstanceConfigurationId: &configuration, OpcComputeClusterId: c.Id,
			InstanceConfiguration: core.ComputeInstanceDetails{LaunchDetails: d}})
	}
	_, err := launch(nil)
	wantError(t, err, 400, "MissingParameter")
	i, err := launch(&core.InstanceConfigurationLaunchInstanceDetails{
		AvailabilityDomain: common.String(domain), DisplayName: common.String("node-1"), FreeformTags: map[string]string{"n": "1"},
		CreateVnicDetails: &core.InstanceConfigurationCreateVnicDetails{SubnetId: common.String(subnetID)},
	})
	must(t, err)
	wantEqual(t, "configuration", *i.InstanceConfigurationId, configuration)
	wantEqual(t, "name", *i.DisplayName, "node-1")
	wantEqual(t, "tag of the configuration", i.FreeformTags["a"], "b")
	wantEqual(t, "tag of the request", i.FreeformTags["n"], "1")
	wantEqual(t, "work request", *r.workRequest(t, i.Id, "LaunchInstance").Id, *i.OpcWorkRequestId)
	wantEqual(t, "instances of the cluster", len(r.clusterInstances(t, c.Id)), 1)
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
	_, err = r.management.LaunchInstanceConfiguration(t.Context(), core.LaunchInstanceConfigurationRequest{
		InstanceConfigurationId: &configuration, InstanceConfiguration: core.ComputeInstanceOptions{}})
	wantError(t, err, 501, "MethodNotImplemented")
}

func TestPoolInComputeCluster(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	c := r.createComputeCluster(t)
	d := poolDetails(r.configure(t, launchDetails(gpuShape)), 2)
	d.PlacementConfigurations[0].ComputeClusterId = c.Id
	p, err := r.management.CreateInstancePool(t.Context(), core.CreateInstancePoolRequest{CreateInstancePoolDetails: d})
	must(t, err)
	got := r.awaitPool(t, p.Id, core.InstancePoolLifecycleStateRunning)
	wantEqual(t, "cluster", *got.PlacementConfigurations[0].ComputeClusterId, *c.Id)
	wantEqual(t, "instances of the cluster", len(r.clusterInstances(t, c.Id)), 2)
}
