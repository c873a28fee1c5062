// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

func (r *region) getBootVolume(t *testing.T, id *string) core.BootVolume {
	t.Helper()
	resp, err := r.storage.GetBootVolume(t.Context(), core.GetBootVolumeRequest{BootVolumeId: id})
	must(t, err)
	return resp.BootVolume
}

// bootVolume of an instance, as the official provider finds it.
func (r *region) bootVolume(t *testing.T, instance *string) core.BootVolume {
	t.Helper()
	list, err := r.compute.ListBootVolumeAttachments(t.Context(), core.ListBootVolumeAttachmentsRequest{
		CompartmentId: common.String(compartmentID), AvailabilityDomain: common.String(domain), InstanceId: instance})
	must(t, err)
	wantEqual(t, "attachment's state", list.Items[0].LifecycleState, core.BootVolumeAttachmentLifecycleStateAttached)
	return r.getBootVolume(t, list.Items[0].BootVolumeId)
}

func TestBootVolume(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	for preserve, want := range map[bool]core.BootVolumeLifecycleStateEnum{
		false: core.BootVolumeLifecycleStateTerminated, true: core.BootVolumeLifecycleStateAvailable,
	} {
		d := vmDetails()
		d.SourceDetails = core.InstanceSourceViaImageDetails{ImageId: common.String(imageID), BootVolumeSizeInGBs: common.Int64(100), BootVolumeVpusPerGB: common.Int64(20)}
		i := r.launch(t, d)
		r.awaitInstance(t, i.Id, core.InstanceLifecycleStateRunning)
		v := r.bootVolume(t, i.Id)
		wantEqual(t, "size", *v.SizeInGBs, 100)
		wantEqual(t, "performance", *v.VpusPerGB, 20)
		wantEqual(t, "image", *v.ImageId, imageID)
		grow := func(size int64) error {
			_, err := r.storage.UpdateBootVolume(t.Context(), core.UpdateBootVolumeRequest{BootVolumeId: v.Id,
				UpdateBootVolumeDetails: core.UpdateBootVolumeDetails{SizeInGBs: &size}})
			return err
		}
		must(t, grow(200))
		wantEqual(t, "size", *r.getBootVolume(t, v.Id).SizeInGBs, 200)
		wantError(t, grow(150), 400, "InvalidParameter")
		remove := core.DeleteBootVolumeRequest{BootVolumeId: v.Id}
		_, err := r.storage.DeleteBootVolume(t.Context(), remove)
		wantError(t, err, 409, "Conflict")
		_, err = r.compute.TerminateInstance(t.Context(), core.TerminateInstanceRequest{InstanceId: i.Id, PreserveBootVolume: &preserve})
		must(t, err)
		r.awaitInstance(t, i.Id, core.InstanceLifecycleStateTerminated)
		wantEqual(t, "state", r.getBootVolume(t, v.Id).LifecycleState, want)
		attachment, err := r.compute.GetBootVolumeAttachment(t.Context(), core.GetBootVolumeAttachmentRequest{BootVolumeAttachmentId: i.Id})
		must(t, err)
		wantEqual(t, "attachment's state", attachment.LifecycleState, core.BootVolumeAttachmentLifecycleStateDetached)
		if preserve {
			_, err = r.storage.DeleteBootVolume(t.Context(), remove)
			must(t, err)
		}
		_, err = r.storage.DeleteBootVolume(t.Context(), remove)
		wantError(t, err, 404, "NotAuthorizedOrNotFound")
	}
	list, err := r.storage.ListBootVolumes(t.Context(), core.ListBootVolumesRequest{CompartmentId: common.String(compartmentID)})
	must(t, err)
	wantEqual(t, "volumes", len(list.Items), 2)
	volumes, err := r.storage.ListVolumes(t.Context(), core.ListVolumesRequest{CompartmentId: common.String(compartmentID)})
	must(t, err)
	wantEqual(t, "block volumes", len(volumes.Items), 0)
}

func TestBootVolumeRefusals(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	for name, source := range map[string]core.InstanceSourceViaImageDetails{
		"small": {BootVolumeSizeInGBs: common.Int64(49)}, "large": {BootVolumeSizeInGBs: common.Int64(32769)},
		"slow": {BootVolumeVpusPerGB: common.Int64(5)}, "fast": {BootVolumeVpusPerGB: common.Int64(130)}, "odd": {BootVolumeVpusPerGB: common.Int64(25)},
	} {
		d := vmDetails()
		source.ImageId = common.String(imageID)
		d.SourceDetails = source
		_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		wantError(t, err, 400, "InvalidParameter")
	}
}
