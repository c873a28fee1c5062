// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func (r *region) updateInstance(t *testing.T, id *string, d core.UpdateInstanceDetails) (core.UpdateInstanceResponse, error) {
	t.Helper()
	return r.compute.UpdateInstance(t.Context(), core.UpdateInstanceRequest{InstanceId: id, UpdateInstanceDetails: d})
}

// awaitWork waits for the end of a work request.
func (r *region) awaitWork(t *testing.T, id *string, status workrequests.WorkRequestStatusEnum) {
	t.Helper()
	eventually(t, "the work request is "+string(status), func() bool {
		w, err := r.work.GetWorkRequest(t.Context(), workrequests.GetWorkRequestRequest{WorkRequestId: id})
		must(t, err)
		return w.Status == status
	})
}

func TestUpdateInPlace(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
	d := vmDetails()
	d.FreeformTags = map[string]string{"old": "1"}
	i := r.launch(t, d)
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
	got, err := r.updateInstance(t, i.Id, core.UpdateInstanceDetails{
		FreeformTags: map[string]string{"new": "2"}, Metadata: map[string]string{"user_data": d.Metadata["user_data"], "own": "x"},
		AgentConfig:     &core.UpdateInstanceAgentConfigDetails{IsMonitoringDisabled: common.Bool(true)},
		InstanceOptions: &core.InstanceOptions{AreLegacyImdsEndpointsDisabled: common.Bool(true)},
	})
	must(t, err)
	r.awaitWork(t, got.OpcWorkRequestId, workrequests.WorkRequestStatusSucceeded)
	wantEqual(t, "old tag", got.FreeformTags["old"], "")
	wantEqual(t, "new tag", got.FreeformTags["new"], "2")
	wantEqual(t, "metadata", got.Metadata["own"], "x")
	wantEqual(t, "monitoring", *got.AgentConfig.IsMonitoringDisabled, true)
	wantEqual(t, "plugin", *got.AgentConfig.PluginsConfig[0].Name, "Bastion")
	wantEqual(t, "legacy endpoints", *got.InstanceOptions.AreLegacyImdsEndpointsDisabled, true)
	wantEqual(t, "state", got.LifecycleState, core.InstanceLifecycleStateRunning)
	wantEqual(t, "boots", hosts.booted(), 1)
	for _, metadata := range []map[string]string{{"own": "y"}, {"user_data": "b3RoZXI="}} {
		_, err = r.updateInstance(t, i.Id, core.UpdateInstanceDetails{Metadata: metadata})
		wantError(t, err, 400, "InvalidParameter")
	}
}

func TestUpdateByRestart(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) {
		c.Hosts, c.Shapes = hosts, append(c.Shapes, "VM.Standard3.Flex")
	})
	i := r.launch(t, vmDetails())
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
	larger := core.UpdateInstanceDetails{ShapeConfig: &core.UpdateInstanceShapeConfigDetails{Ocpus: common.Float32(4)}}
	larger.UpdateOperationConstraint = core.UpdateInstanceDetailsUpdateOperationConstraintAvoidDowntime
	_, err := r.updateInstance(t, i.Id, larger)
	wantError(t, err, 409, "Conflict")
	larger.UpdateOperationConstraint = core.UpdateInstanceDetailsUpdateOperationConstraintAllowDowntime
	release := hosts.hold(&hosts.removals)
	got, err := r.updateInstance(t, i.Id, larger)
	must(t, err)
	wantEqual(t, "state", got.LifecycleState, core.InstanceLifecycleStateStopping)
	_, err = r.updateInstance(t, i.Id, core.UpdateInstanceDetails{FaultDomain: common.String("FAULT-DOMAIN-3")})
	wantError(t, err, 409, "IncorrectState")
	release()
	r.awaitWork(t, got.OpcWorkRequestId, workrequests.WorkRequestStatusSucceeded)
	now := r.getInstance(t, i.Id)
	wantEqual(t, "state", now.LifecycleState, core.InstanceLifecycleStateRunning)
	wantEqual(t, "OCPUs", *now.ShapeConfig.Ocpus, 4)
	wantEqual(t, "memory", *now.ShapeConfig.MemoryInGBs, 64)
	wantEqual(t, "lost disks", len(hosts.lostDisks()), 0)
	wantEqual(t, "boots", hosts.booted(), 2)

	got, err = r.updateInstance(t, i.Id, core.UpdateInstanceDetails{Shape: common.String("VM.Standard3.Flex")})
	must(t, err)
	wantEqual(t, "platform", got.PlatformConfig.(core.IntelVmPlatformConfig).IsSecureBootEnabled != nil, true)
	wantEqual(t, "OCPUs", *got.ShapeConfig.Ocpus, 4)
	r.awaitWork(t, got.OpcWorkRequestId, workrequests.WorkRequestStatusSucceeded)
	for name, d := range map[string]core.UpdateInstanceDetails{
		"bare metal": {Shape: common.String(gpuShape)},
		"unknown":    {Shape: common.String("VM.Big")},
		"too large":  {ShapeConfig: &core.UpdateInstanceShapeConfigDetails{Ocpus: common.Float32(1000)}},
		"too much":   {ShapeConfig: &core.UpdateInstanceShapeConfigDetails{Ocpus: common.Float32(1), MemoryInGBs: common.Float32(65)}},
		"no domain":  {FaultDomain: common.String("FD")},
		"platform":   {PlatformConfig: core.AmdVmUpdateInstancePlatformConfig{}},
	} {
		if _, err := r.updateInstance(t, i.Id, d); err == nil {
			t.Errorf("%s is accepted", name)
		} else {
			wantError(t, err, 400, "InvalidParameter")
		}
	}
}

// TestReplaceImage boots the host again of another image, on a new boot volume.
func TestReplaceImage(t *testing.T) {
	t.Parallel()
	hosts := newRecorder()
	r := newRegion(t, func(c *ocisim.Config) {
		c.Hosts = hosts
		addImages(c)
	})
	i := r.launch(t, vmDetails())
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
	old := r.bootVolume(t, i.Id)
	next := "ocid1.image.oc1.us-lab-1.Oracle-Linux-9.6-2025.06.30-0"
	got, err := r.updateInstance(t, i.Id, core.UpdateInstanceDetails{SourceDetails: core.UpdateInstanceSourceViaImageDetails{
		ImageId: &next, BootVolumeSizeInGBs: common.Int64(80), IsPreserveBootVolumeEnabled: common.Bool(true)}})
	must(t, err)
	wantEqual(t, "image", *got.ImageId, next)
	r.awaitWork(t, got.OpcWorkRequestId, workrequests.WorkRequestStatusSucceeded)
	wantEqual(t, "the host's image", hosts.running()[0].ImageID, next)
	wantEqual(t, "lost disks", len(hosts.lostDisks()), 1)
	wantEqual(t, "lost NVMe devices", len(hosts.lostNVMe()), 0)
	volume := r.bootVolume(t, i.Id)
	wantEqual(t, "size", *volume.SizeInGBs, 80)
	wantEqual(t, "state", r.getBootVolume(t, old.Id).LifecycleState, core.BootVolumeLifecycleStateAvailable)
	_, err = r.updateInstance(t, i.Id, core.UpdateInstanceDetails{SourceDetails: core.UpdateInstanceSourceViaImageDetails{
		ImageId: common.String("ocid1.image.oc1.us-lab-1.Oracle-Linux-8.10-Gen2-GPU-2025.08.31-0")}})
	wantError(t, err, 400, "InvalidParameter")
}

func TestMoveInstance(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	i := r.launch(t, vmDetails())
	r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
	moved, err := r.compute.ChangeInstanceCompartment(t.Context(), core.ChangeInstanceCompartmentRequest{InstanceId: i.Id,
		ChangeInstanceCompartmentDetails: core.ChangeInstanceCompartmentDetails{CompartmentId: common.String(tenancyID)}})
	must(t, err)
	r.awaitWork(t, moved.OpcWorkRequestId, workrequests.WorkRequestStatusSucceeded)
	list, err := r.compute.ListVnicAttachments(t.Context(), core.ListVnicAttachmentsRequest{CompartmentId: common.String(tenancyID), InstanceId: i.Id})
	must(t, err)
	wantEqual(t, "VNIC attachments", len(list.Items), 1)
	volumes, err := r.compute.ListBootVolumeAttachments(t.Context(), core.ListBootVolumeAttachmentsRequest{
		CompartmentId: common.String(tenancyID), AvailabilityDomain: common.String(domain), InstanceId: i.Id})
	must(t, err)
	wantEqual(t, "boot volume attachments", len(volumes.Items), 1)
	_, err = r.compute.ChangeInstanceCompartment(t.Context(), core.ChangeInstanceCompartmentRequest{InstanceId: i.Id,
		ChangeInstanceCompartmentDetails: core.ChangeInstanceCompartmentDetails{CompartmentId: common.String("ocid1.compartment.oc1..other")}})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}
