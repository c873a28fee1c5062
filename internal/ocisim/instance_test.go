// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func vmDetails() core.LaunchInstanceDetails {
	return core.LaunchInstanceDetails{
		AvailabilityDomain: common.String(domain), CompartmentId: common.String(compartmentID), DisplayName: common.String("Bastion Host"),
		Shape: common.String(vmShape), ShapeConfig: &core.LaunchInstanceShapeConfigDetails{Ocpus: common.Float32(2)},
		SourceDetails:     core.InstanceSourceViaImageDetails{ImageId: common.String(imageID)},
		CreateVnicDetails: &core.CreateVnicDetails{SubnetId: common.String(publicSubnet)},
		Metadata:          map[string]string{"user_data": base64.StdEncoding.EncodeToString([]byte("#cloud-config\n"))},
		AgentConfig: &core.LaunchInstanceAgentConfigDetails{PluginsConfig: []core.InstanceAgentPluginConfigDetails{
			{Name: common.String("Bastion"), DesiredState: core.InstanceAgentPluginConfigDetailsDesiredStateEnabled}}},
		PlatformConfig: core.AmdVmLaunchInstancePlatformConfig{IsSecureBootEnabled: common.Bool(true)},
	}
}

func (r *region) launch(t *testing.T, d core.LaunchInstanceDetails) core.LaunchInstanceResponse {
	t.Helper()
	resp, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	must(t, err)
	return resp
}

func TestInstanceLife(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	release := hosts.hold(&hosts.boots)
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	i := r.launch(t, vmDetails())
	wantEqual(t, "state", i.LifecycleState, core.InstanceLifecycleStateProvisioning)
	eventually(t, "the host boots", func() bool { return hosts.booted() == 1 })
	wantEqual(t, "status", r.workRequest(t, i.Id, "LaunchInstance").Status, workrequests.WorkRequestStatusInProgress)
	release()
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
	w := r.workRequest(t, i.Id, "LaunchInstance")
	wantEqual(t, "work request", *w.Id, *i.OpcWorkRequestId)
	wantEqual(t, "status", w.Status, workrequests.WorkRequestStatusSucceeded)
	wantEqual(t, "entity", *w.Resources[0].EntityType, "instances")
	wantEqual(t, "URI", *w.Resources[0].EntityUri, "/20160918/instances/"+*i.Id)

	got := r.getInstance(t, i.Id)
	wantEqual(t, "OCPUs", *got.ShapeConfig.Ocpus, 2)
	wantEqual(t, "memory", *got.ShapeConfig.MemoryInGBs, 32)
	wantEqual(t, "image", *got.SourceDetails.(core.InstanceSourceViaImageDetails).ImageId, imageID)
	wantEqual(t, "secure boot", *got.PlatformConfig.(core.AmdVmPlatformConfig).IsSecureBootEnabled, true)
	wantEqual(t, "plugin", *got.AgentConfig.PluginsConfig[0].Name, "Bastion")
	host := hosts.running()[0]
	wantEqual(t, "hostname", host.Hostname, "bastion-host")
	wantEqual(t, "address", host.PrivateIP.String(), "10.0.0.3") // .2 is reserved
	wantEqual(t, "user data", host.Metadata["user_data"], vmDetails().Metadata["user_data"])

	updated, err := r.compute.UpdateInstance(t.Context(), core.UpdateInstanceRequest{InstanceId: i.Id, IfMatch: got.Etag,
		UpdateInstanceDetails: core.UpdateInstanceDetails{DisplayName: common.String("jump"), FreeformTags: map[string]string{"a": "b"}}})
	must(t, err)
	wantEqual(t, "name", *updated.DisplayName, "jump")
	_, err = r.compute.UpdateInstance(t.Context(), core.UpdateInstanceRequest{InstanceId: i.Id,
		UpdateInstanceDetails: core.UpdateInstanceDetails{DedicatedVmHostId: common.String("ocid1.dedicatedvmhost.oc1..x")}})
	wantError(t, err, 501, "MethodNotImplemented")

	gone, err := r.compute.TerminateInstance(t.Context(), core.TerminateInstanceRequest{InstanceId: i.Id})
	must(t, err)
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateTerminated)
	eventually(t, "the termination succeeds", func() bool {
		w := r.workRequest(t, i.Id, "TerminateInstance")
		return *w.Id == *gone.OpcWorkRequestId && w.Status == workrequests.WorkRequestStatusSucceeded
	})
	wantEqual(t, "hosts", len(hosts.running()), 0)
	list, err := r.compute.ListInstances(t.Context(), core.ListInstancesRequest{
		CompartmentId: common.String(compartmentID), LifecycleState: core.InstanceLifecycleStateTerminated})
	must(t, err)
	wantEqual(t, "terminated instances", len(list.Items), 1)
	ips, err := r.network.ListPrivateIps(t.Context(), core.ListPrivateIpsRequest{SubnetId: common.String(publicSubnet)})
	must(t, err)
	wantEqual(t, "addresses", len(ips.Items), 0)
}

func TestInstanceActions(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	i := r.launch(t, vmDetails())
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
	act := func(action core.InstanceActionActionEnum) error {
		_, err := r.compute.InstanceAction(t.Context(), core.InstanceActionRequest{InstanceId: i.Id, Action: action})
		return err
	}
	wantError(t, act(core.InstanceActionActionStart), 409, "IncorrectState")
	must(t, act(core.InstanceActionActionStop))
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateStopped)
	wantEqual(t, "hosts", len(hosts.running()), 0)
	must(t, act(core.InstanceActionActionStart))
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
	must(t, act(core.InstanceActionActionReset))
	eventually(t, "the host boots a third time", func() bool { return hosts.booted() == 3 })
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
	wantEqual(t, "hosts", len(hosts.running()), 1)
	wantError(t, act(core.InstanceActionActionRebootmigrate), 501, "MethodNotImplemented")
}

func TestLaunchWithoutCapacity(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{vmShape: 1} })
	i := r.launch(t, vmDetails())
	_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: vmDetails()})
	wantError(t, err, 500, "InternalError")
	if !strings.Contains(err.Error(), "Out of host capacity.") {
		t.Fatal(err)
	}
	_, err = r.compute.TerminateInstance(t.Context(), core.TerminateInstanceRequest{InstanceId: i.Id})
	must(t, err)
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateTerminated)
	r.launch(t, vmDetails())
}

func TestLaunchFails(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	hosts.refuse = func(ocisim.Host) error { return errors.New("no such kernel") }
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	i := r.launch(t, vmDetails())
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateTerminated)
	w := r.workRequest(t, i.Id, "LaunchInstance")
	wantEqual(t, "status", w.Status, workrequests.WorkRequestStatusFailed)
	faults, logs := r.complaints(t, w.Id)
	if !strings.Contains(strings.Join(faults, ""), "no such kernel") || !strings.Contains(strings.Join(logs, ""), "no such kernel") {
		t.Fatalf("errors %q, logs %q", faults, logs)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	d := vmDetails()
	d.CreateVnicDetails.PrivateIp = common.String("10.0.0.5")
	i := r.launch(t, d)
	_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	wantError(t, err, 409, "Conflict")
	for _, bad := range []string{"10.0.0.1", "10.0.0.7", "10.0.0.0", "10.1.0.5", "five"} {
		d.CreateVnicDetails.PrivateIp = &bad
		_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
		wantError(t, err, 400, "InvalidParameter")
	}
	// Of eight addresses three are OCI's, one is reserved, and one is taken.
	for range 3 {
		r.launch(t, vmDetails())
	}
	_, err = r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: vmDetails()})
	wantError(t, err, 400, "LimitExceeded")
	_, err = r.compute.TerminateInstance(t.Context(), core.TerminateInstanceRequest{InstanceId: i.Id})
	must(t, err)
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateTerminated)
	freed := r.launch(t, vmDetails())
	r.awaitInstance(t, freed.Id, core.InstanceLifecycleStateRunning)
	ips, err := r.network.ListPrivateIps(t.Context(), core.ListPrivateIpsRequest{SubnetId: common.String(publicSubnet), IpAddress: common.String("10.0.0.5")})
	must(t, err)
	wantEqual(t, "addresses", len(ips.Items), 1)
	ip, err := r.network.GetPrivateIp(t.Context(), core.GetPrivateIpRequest{PrivateIpId: ips.Items[0].Id})
	must(t, err)
	wantEqual(t, "address", *ip.IpAddress, "10.0.0.5")
	_, err = r.network.ListPrivateIps(t.Context(), core.ListPrivateIpsRequest{IpAddress: common.String("10.0.0.5")})
	wantError(t, err, 400, "InvalidParameter")
	attachments, err := r.compute.ListVnicAttachments(t.Context(), core.ListVnicAttachmentsRequest{
		CompartmentId: common.String(compartmentID), VnicId: ip.VnicId})
	must(t, err)
	attachment, err := r.compute.GetVnicAttachment(t.Context(), core.GetVnicAttachmentRequest{VnicAttachmentId: attachments.Items[0].Id})
	must(t, err)
	wantEqual(t, "instance", *attachment.InstanceId, *freed.Id)
}

func TestLaunchValidation(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	for name, c := range map[string]struct {
		change func(*core.LaunchInstanceDetails)
		status int
		code   string
		text   string
	}{
		"no shape":      {func(d *core.LaunchInstanceDetails) { d.Shape = nil }, 400, "MissingParameter", "shape"},
		"unknown shape": {func(d *core.LaunchInstanceDetails) { d.Shape = common.String("BM.Big") }, 400, "InvalidParameter", "shape"},
		"no source":     {func(d *core.LaunchInstanceDetails) { d.SourceDetails = nil }, 400, "MissingParameter", "imageId"},
		"unknown image": {func(d *core.LaunchInstanceDetails) { d.SourceDetails = nil; d.ImageId = common.String("ocid1.image.x") }, 404, "NotAuthorizedOrNotFound", ""},
		"no subnet":     {func(d *core.LaunchInstanceDetails) { d.CreateVnicDetails = nil }, 400, "MissingParameter", "subnetId"},
		"fault domain":  {func(d *core.LaunchInstanceDetails) { d.FaultDomain = common.String("FD-1") }, 400, "InvalidParameter", "faultDomain"},
		"user data":     {func(d *core.LaunchInstanceDetails) { d.Metadata["user_data"] = "#cloud-config" }, 400, "InvalidParameter", "metadata.user_data"},
		"metadata size": {func(d *core.LaunchInstanceDetails) { d.Metadata["x"] = strings.Repeat("x", 32000) }, 400, "InvalidParameter", "32000"},
		"IPv6":          {func(d *core.LaunchInstanceDetails) { d.CreateVnicDetails.AssignIpv6Ip = common.Bool(true) }, 501, "MethodNotImplemented", "assignIpv6Ip"},
		"reservation": {func(d *core.LaunchInstanceDetails) {
			d.CapacityReservationId = common.String("ocid1.capacityreservation.oc1..r")
		}, 404, "NotAuthorizedOrNotFound", ""},
		"platform": {func(d *core.LaunchInstanceDetails) { d.PlatformConfig = core.IntelVmLaunchInstancePlatformConfig{} }, 400, "InvalidParameter", "platformConfig.type"},
		"boot volume": {func(d *core.LaunchInstanceDetails) {
			d.SourceDetails = core.InstanceSourceViaBootVolumeDetails{BootVolumeId: common.String("ocid1.bootvolume.oc1..b")}
		}, 501, "MethodNotImplemented", "sourceType"},
		"plugin's state": {func(d *core.LaunchInstanceDetails) { d.AgentConfig.PluginsConfig[0].DesiredState = "ON" }, 400, "InvalidParameter", "agentConfig.pluginsConfig[0].desiredState"},
		"plugin's name":  {func(d *core.LaunchInstanceDetails) { d.AgentConfig.PluginsConfig[0].Name = nil }, 400, "MissingParameter", "agentConfig.pluginsConfig[0].name"},
		"extended metadata": {func(d *core.LaunchInstanceDetails) {
			d.ExtendedMetadata = map[string]any{"x": []string{strings.Repeat("x", 32000)}}
		}, 400, "InvalidParameter", "extendedMetadata"},
		"private subnet": {func(d *core.LaunchInstanceDetails) {
			d.CreateVnicDetails.SubnetId, d.CreateVnicDetails.AssignPublicIp = common.String(subnetID), common.Bool(true)
		}, 400, "InvalidParameter", "assignPublicIp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := vmDetails()
			c.change(&d)
			_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
			wantError(t, err, c.status, c.code)
			if !strings.Contains(err.Error(), c.text) {
				t.Fatalf("%v does not name %s", err, c.text)
			}
		})
	}
}
