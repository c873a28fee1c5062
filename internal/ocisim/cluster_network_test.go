// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"errors"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestClusterNetworkLife(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	release := hosts.hold(&hosts.boots)
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	created := r.createNetwork(t, 3)
	wantEqual(t, "state", created.LifecycleState, core.ClusterNetworkLifecycleStateProvisioning)
	if created.Etag == nil || created.OpcWorkRequestId == nil || len(created.InstancePools) != 1 {
		t.Fatalf("the answer lacks etag, work request or pool: %v", created)
	}
	poolID := created.InstancePools[0].Id

	eventually(t, "three hosts boot", func() bool { return hosts.booted() == 3 })
	for _, i := range r.networkInstances(t, created.Id) {
		wantEqual(t, "state while booting", *i.State, "Provisioning")
	}
	n := r.getNetwork(t, created.Id)
	wantEqual(t, "state", n.LifecycleState, core.ClusterNetworkLifecycleStateProvisioning)
	wantEqual(t, "current size", *n.InstancePools[0].CurrentSize, 0)
	release()

	n.ClusterNetwork = r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	wantEqual(t, "size", *n.InstancePools[0].Size, 3)
	wantEqual(t, "current size", *n.InstancePools[0].CurrentSize, 3)
	wantEqual(t, "pool state", n.InstancePools[0].LifecycleState, core.InstancePoolLifecycleStateRunning)
	if n.HpcIslandId == nil || len(n.NetworkBlockIds) != 1 {
		t.Fatalf("no placement: %v", n.ClusterNetwork)
	}

	instances := r.networkInstances(t, created.Id)
	named := regexp.MustCompile(`^inst-[a-z0-9]{5}-Gpu$`)
	faultDomains := map[string]bool{}
	for _, i := range instances {
		if !named.MatchString(*i.DisplayName) || *i.State != "Running" || *i.Shape != gpuShape {
			t.Errorf("instance is %v", i)
		}
		faultDomains[*i.FaultDomain] = true
	}
	wantEqual(t, "instances", len(instances), 3)
	wantEqual(t, "fault domains", len(faultDomains), 3)
	checkHosts(t, r, hosts, instances)

	reservation := r.workRequest(t, created.Id, "CreateClusterNetworkReservation")
	wantEqual(t, "work request of the header", *reservation.Id, *created.OpcWorkRequestId)
	wantEqual(t, "status", reservation.Status, workrequests.WorkRequestStatusSucceeded)
	launch := r.workRequest(t, poolID, "LaunchInstancesInPool")
	wantEqual(t, "status", launch.Status, workrequests.WorkRequestStatusSucceeded)
	wantEqual(t, "percent", *launch.PercentComplete, 100)
	wantEqual(t, "resources", len(launch.Resources), 4)

	release = hosts.hold(&hosts.removals)
	gone, err := r.management.TerminateClusterNetwork(t.Context(), core.TerminateClusterNetworkRequest{ClusterNetworkId: created.Id})
	must(t, err)
	wantEqual(t, "status code", gone.RawResponse.StatusCode, 204)
	wantEqual(t, "state", r.getNetwork(t, created.Id).LifecycleState, core.ClusterNetworkLifecycleStateTerminating)
	release()
	r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateTerminated)
	wantEqual(t, "hosts", len(hosts.running()), 0)
	eventually(t, "the termination's work request ends", func() bool {
		return r.workRequest(t, created.Id, "TerminateClusterNetwork").Status == workrequests.WorkRequestStatusSucceeded
	})
	wantEqual(t, "status", r.workRequest(t, poolID, "TerminateInstancesInPool").Status, workrequests.WorkRequestStatusSucceeded)
	st := r.Stats()
	wantEqual(t, "networks", st.ClusterNetworks, 0)
	wantEqual(t, "instances", st.Instances, 0)
	wantEqual(t, "configurations", st.InstanceConfigurations, 1)
	_, err = r.management.TerminateClusterNetwork(t.Context(), core.TerminateClusterNetworkRequest{ClusterNetworkId: created.Id})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}

// checkHosts compares what the hosts were told with what the API says.
func checkHosts(t *testing.T, r *region, hosts *recorder, instances []core.InstanceSummary) {
	t.Helper()
	addresses := map[netip.Addr]bool{}
	for _, h := range hosts.running() {
		addresses[h.PrivateIP] = true
		at := slices.IndexFunc(instances, func(i core.InstanceSummary) bool { return *i.Id == h.InstanceID })
		if at < 0 {
			t.Fatalf("host %v has no instance", h)
		}
		wantEqual(t, "hostname", h.Hostname, strings.ToLower(*instances[at].DisplayName))
		wantEqual(t, "fault domain", h.FaultDomain, *instances[at].FaultDomain)
		wantEqual(t, "keys", h.Metadata["ssh_authorized_keys"], "ssh-ed25519 AAAA lab")
		wantEqual(t, "subnet", h.Subnet.String(), "10.0.1.0/24")
		wantEqual(t, "gateway", h.Gateway.String(), "10.0.1.1")
		list, err := r.compute.ListVnicAttachments(t.Context(), core.ListVnicAttachmentsRequest{
			CompartmentId: common.String(compartmentID), InstanceId: &h.InstanceID})
		must(t, err)
		wantEqual(t, "attachments", len(list.Items), 1)
		wantEqual(t, "attachment", list.Items[0].LifecycleState, core.VnicAttachmentLifecycleStateAttached)
		vnic, err := r.network.GetVnic(t.Context(), core.GetVnicRequest{VnicId: list.Items[0].VnicId})
		must(t, err)
		wantEqual(t, "address", *vnic.PrivateIp, h.PrivateIP.String())
		wantEqual(t, "MAC", *vnic.MacAddress, h.MAC)
		wantEqual(t, "hostname label", *vnic.HostnameLabel, h.Hostname)
		wantEqual(t, "VNIC", *vnic.Id, h.VnicID)
	}
	wantEqual(t, "addresses", len(addresses), len(instances))
}

func TestClusterNetworkWithoutCapacity(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{gpuShape: 1} })
	created := r.createNetwork(t, 2)
	r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateTerminated)
	w := r.workRequest(t, created.Id, "CreateClusterNetworkReservation")
	wantEqual(t, "status", w.Status, workrequests.WorkRequestStatusFailed)
	wantEqual(t, "work request of the header", *w.Id, *created.OpcWorkRequestId)
	faults, logs := r.complaints(t, w.Id)
	const text = "Insufficient capacity for cluster network"
	if !slices.Contains(faults, text) || !slices.Contains(logs, text) {
		t.Fatalf("errors %q, logs %q", faults, logs)
	}
	_, err := r.management.GetInstanceConfiguration(t.Context(), core.GetInstanceConfigurationRequest{
		InstanceConfigurationId: created.InstancePools[0].InstanceConfigurationId})
	must(t, err)
}

// A network that waits for its hosts keeps them from others.
func TestReservationHoldsCapacity(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	release := hosts.hold(&hosts.boots)
	r := newRegion(t, func(c *ocisim.Config) {
		c.Hosts, c.Capacity = hosts, map[string]int{gpuShape: 25}
	})
	first := r.createNetwork(t, 24)
	eventually(t, "the first batch of 20 boots", func() bool { return hosts.booted() == 20 })
	second := r.createNetwork(t, 2)
	r.awaitNetwork(t, second.Id, core.ClusterNetworkLifecycleStateTerminated)
	release()
	r.awaitNetwork(t, first.Id, core.ClusterNetworkLifecycleStateRunning)
	wantEqual(t, "hosts", hosts.booted(), 24)
}

func (r *region) updateNetwork(t *testing.T, n core.ClusterNetwork, size int, configuration *string) (core.UpdateClusterNetworkResponse, error) {
	t.Helper()
	return r.management.UpdateClusterNetwork(t.Context(), core.UpdateClusterNetworkRequest{
		ClusterNetworkId: n.Id, UpdateClusterNetworkDetails: core.UpdateClusterNetworkDetails{
			InstancePools: []core.UpdateClusterNetworkInstancePoolDetails{{
				Id: n.InstancePools[0].Id, Size: &size, InstanceConfigurationId: configuration}}}})
}

func TestClusterNetworkResize(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	release := hosts.hold(&hosts.boots)
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	created := r.createNetwork(t, 2)
	_, err := r.updateNetwork(t, created.ClusterNetwork, 3, nil)
	wantError(t, err, 409, "IncorrectState")
	release()
	r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	before := r.networkInstances(t, created.Id)

	other := r.configure(t, launchDetails(gpuShape))
	release = hosts.hold(&hosts.boots)
	grown, err := r.updateNetwork(t, created.ClusterNetwork, 5, &other)
	must(t, err)
	wantEqual(t, "state", grown.LifecycleState, core.ClusterNetworkLifecycleStateScaling)
	wantEqual(t, "size", *grown.InstancePools[0].Size, 5)
	_, err = r.updateNetwork(t, created.ClusterNetwork, 6, nil)
	wantError(t, err, 409, "IncorrectState")
	release()
	n := r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	wantEqual(t, "current size", *n.InstancePools[0].CurrentSize, 5)
	byConfiguration := map[string]int{}
	for _, i := range r.networkInstances(t, created.Id) {
		byConfiguration[*i.InstanceConfigurationId]++
	}
	wantEqual(t, "of the old configuration", byConfiguration[*created.InstancePools[0].InstanceConfigurationId], 2)
	wantEqual(t, "of the new configuration", byConfiguration[other], 3)

	// The old configuration is free now, the new one is not.
	_, err = r.management.DeleteInstanceConfiguration(t.Context(), core.DeleteInstanceConfigurationRequest{InstanceConfigurationId: &other})
	wantError(t, err, 409, "Conflict")
	if !strings.Contains(err.Error(), "The Instance Configuration "+other+" is associated to one or more Instance Pools.") {
		t.Fatal(err)
	}
	_, err = r.management.DeleteInstanceConfiguration(t.Context(), core.DeleteInstanceConfigurationRequest{
		InstanceConfigurationId: created.InstancePools[0].InstanceConfigurationId})
	must(t, err)

	_, err = r.updateNetwork(t, created.ClusterNetwork, 2, nil)
	must(t, err)
	n = r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	wantEqual(t, "current size", *n.InstancePools[0].CurrentSize, 2)
	after := r.networkInstances(t, created.Id)
	wantEqual(t, "members", len(after), 2)
	if *after[0].FaultDomain == *after[1].FaultDomain {
		t.Error("the members left are in one fault domain")
	}
	if slices.EqualFunc(before, after, func(a, b core.InstanceSummary) bool { return *a.Id == *b.Id }) {
		t.Error("the oldest members should have gone")
	}
	w := r.workRequest(t, n.InstancePools[0].Id, "TerminateInstancesInPool")
	wantEqual(t, "resources", len(w.Resources), 4)
}

func TestClusterNetworkTerminatedWhileBooting(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	hosts.hold(&hosts.boots)
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	created := r.createNetwork(t, 2)
	eventually(t, "hosts boot", func() bool { return hosts.booted() == 2 })
	_, err := r.management.TerminateClusterNetwork(t.Context(), core.TerminateClusterNetworkRequest{ClusterNetworkId: created.Id})
	must(t, err)
	r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateTerminated)
	wantEqual(t, "instances", r.Stats().Instances, 0)
	wantEqual(t, "status", r.workRequest(t, created.InstancePools[0].Id, "LaunchInstancesInPool").Status, workrequests.WorkRequestStatusCanceled)
}

func TestBootFailureInWorkRequest(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	failed := false
	hosts.refuse = func(ocisim.Host) error {
		hosts.mu.Lock()
		defer hosts.mu.Unlock()
		if failed {
			return nil
		}
		failed = true
		return errors.New("no such kernel")
	}
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts, c.Shortage = hosts, ocisim.ShortageRunsShort })
	created := r.createNetwork(t, 2)
	n := r.awaitNetwork(t, created.Id, core.ClusterNetworkLifecycleStateRunning)
	wantEqual(t, "current size", *n.InstancePools[0].CurrentSize, 1)
	w := r.workRequest(t, n.InstancePools[0].Id, "LaunchInstancesInPool")
	wantEqual(t, "status", w.Status, workrequests.WorkRequestStatusFailed)
	faults, logs := r.complaints(t, w.Id)
	for _, texts := range [][]string{faults, logs} {
		if !strings.Contains(strings.Join(texts, "\n"), "no such kernel") {
			t.Fatalf("errors %q, logs %q", faults, logs)
		}
	}
}

func TestClusterNetworkList(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{gpuShape: 1} })
	good, bad := r.createNetwork(t, 1), r.createNetwork(t, 5)
	r.awaitNetwork(t, good.Id, core.ClusterNetworkLifecycleStateRunning)
	r.awaitNetwork(t, bad.Id, core.ClusterNetworkLifecycleStateTerminated)
	list := func(state core.ClusterNetworkSummaryLifecycleStateEnum, name *string) []core.ClusterNetworkSummary {
		resp, err := r.management.ListClusterNetworks(t.Context(), core.ListClusterNetworksRequest{
			CompartmentId: common.String(compartmentID), LifecycleState: state, DisplayName: name})
		must(t, err)
		return resp.Items
	}
	all := list("", nil)
	wantEqual(t, "all", len(all), 2)
	wantEqual(t, "newest", *all[0].Id, *bad.Id)
	running := list(core.ClusterNetworkSummaryLifecycleStateRunning, nil)
	wantEqual(t, "running", len(running), 1)
	wantEqual(t, "running", *running[0].Id, *good.Id)
	wantEqual(t, "pool", *running[0].InstancePools[0].CurrentSize, 1)
	wantEqual(t, "by name", len(list("", common.String("nobody"))), 0)
}

func TestClusterNetworkValidation(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	vmLaunch := launchDetails(vmShape)
	vmLaunch.PlatformConfig = nil
	gpu, vm := r.configure(t, launchDetails(gpuShape)), r.configure(t, vmLaunch)
	for name, c := range map[string]struct {
		change func(*core.CreateClusterNetworkDetails)
		status int
		code   string
		text   string
	}{
		"two pools": {func(d *core.CreateClusterNetworkDetails) {
			d.InstancePools = append(d.InstancePools, d.InstancePools[0])
		}, 400, "InvalidParameter", "instancePools"},
		"no size":   {func(d *core.CreateClusterNetworkDetails) { d.InstancePools[0].Size = nil }, 400, "MissingParameter", "instancePools[0].size"},
		"no domain": {func(d *core.CreateClusterNetworkDetails) { d.PlacementConfiguration.AvailabilityDomain = nil }, 400, "MissingParameter", "placementConfiguration.availabilityDomain"},
		"other domain": {func(d *core.CreateClusterNetworkDetails) {
			d.PlacementConfiguration.AvailabilityDomain = common.String("AD-9")
		}, 400, "InvalidParameter", "availabilityDomain"},
		"bad constraint": {func(d *core.CreateClusterNetworkDetails) { d.PlacementConfiguration.PlacementConstraint = "NEAR" }, 400, "InvalidParameter", "placementConfiguration.placementConstraint"},
		"no subnet":      {func(d *core.CreateClusterNetworkDetails) { d.PlacementConfiguration.PrimaryVnicSubnets = nil }, 400, "MissingParameter", "subnetId"},
		"no island": {func(d *core.CreateClusterNetworkDetails) {
			d.ClusterConfiguration = &core.ClusterConfigurationDetails{}
		}, 400, "MissingParameter", "clusterConfiguration.hpcIslandId"},
		"long name": {func(d *core.CreateClusterNetworkDetails) { d.DisplayName = common.String(strings.Repeat("x", 256)) }, 400, "InvalidParameter", "displayName"},
		"long tag": {func(d *core.CreateClusterNetworkDetails) {
			d.FreeformTags = map[string]string{"k": strings.Repeat("x", 257)}
		}, 400, "InvalidParameter", "freeformTags"},
		"shape without":  {func(d *core.CreateClusterNetworkDetails) { d.InstancePools[0].InstanceConfigurationId = &vm }, 400, "InvalidParameter", "has no RDMA network"},
		"no such subnet": {func(d *core.CreateClusterNetworkDetails) { d.PlacementConfiguration.PrimaryVnicSubnets.SubnetId = &gpu }, 404, "NotAuthorizedOrNotFound", ""},
		"no such config": {func(d *core.CreateClusterNetworkDetails) {
			d.InstancePools[0].InstanceConfigurationId = d.CompartmentId
		}, 404, "NotAuthorizedOrNotFound", ""},
		"other compartment": {func(d *core.CreateClusterNetworkDetails) { d.CompartmentId = &gpu }, 404, "NotAuthorizedOrNotFound", ""},
		"second VNIC": {func(d *core.CreateClusterNetworkDetails) {
			d.PlacementConfiguration.SecondaryVnicSubnets = []core.InstancePoolPlacementSecondaryVnicSubnet{{SubnetId: common.String(subnetID)}}
		}, 501, "MethodNotImplemented", "secondaryVnicSubnets"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := networkDetails(gpu, 1)
			c.change(&d)
			_, err := r.management.CreateClusterNetwork(t.Context(), core.CreateClusterNetworkRequest{CreateClusterNetworkDetails: d})
			wantError(t, err, c.status, c.code)
			if !strings.Contains(err.Error(), c.text) {
				t.Fatalf("%v does not name %s", err, c.text)
			}
		})
	}
}
