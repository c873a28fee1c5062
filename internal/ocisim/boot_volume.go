// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// bootVolume is the boot volume of an instance with its attachment. It lives with the instance, unless the
// termination preserves it. Its size and performance have no effect on the host.
type bootVolume struct {
	core.BootVolume
	record
	Attachment core.BootVolumeAttachment
}

func (b *bootVolume) compartment() string { return *b.CompartmentId }
func (b *bootVolume) gone() bool          { return b.LifecycleState == core.BootVolumeLifecycleStateTerminated }

// Sizes that can be asked for, in GB, and the performance of a volume that asks for none. Source:
// InstanceSourceViaImageDetails. An update of an instance may name a smaller size: that of the platform
// image, which the official provider sends back.
const (
	minBootVolumeGB = 50
	maxBootVolumeGB = 32768
	defaultVpus     = 10
)

func checkBootVolumeSize(path string, size *int64) error {
	if size != nil && (*size < minBootVolumeGB || *size > maxBootVolumeGB) {
		return invalid(path+".bootVolumeSizeInGBs", "%d must be from %d to %d", *size, minBootVolumeGB, maxBootVolumeGB)
	}
	return nil
}

// addBootVolume makes the boot volume of a new instance, which is being attached.
func (s *Server) addBootVolume(i *instance, size, vpus *int64) {
	now := s.timestamp()
	b := &bootVolume{BootVolume: core.BootVolume{
		Id: ptr(s.names.ocid("bootvolume")), AvailabilityDomain: i.AvailabilityDomain, CompartmentId: i.CompartmentId,
		DisplayName: ptr(*i.DisplayName + " (Boot Volume)"), ImageId: i.ImageId, IsHydrated: ptr(true), TimeCreated: now,
		LifecycleState: core.BootVolumeLifecycleStateProvisioning, VpusPerGB: ptr[int64](defaultVpus), IsAutoTuneEnabled: ptr(false),
		AutotunePolicies: []core.AutotunePolicy{}, BootVolumeReplicas: []core.BootVolumeReplicaInfo{},
	}}
	set(&b.VpusPerGB, vpus)
	b.resize(value(size))
	b.FreeformTags, b.DefinedTags = s.tagged(nil, nil)
	b.Attachment = core.BootVolumeAttachment{
		Id: i.Id, AvailabilityDomain: i.AvailabilityDomain, CompartmentId: i.CompartmentId, BootVolumeId: b.Id, InstanceId: i.Id,
		DisplayName: ptr("Remote boot attachment for instance"), LifecycleState: core.BootVolumeAttachmentLifecycleStateAttaching,
		IsPvEncryptionInTransitEnabled: ptr(value(i.LaunchOptions.IsPvEncryptionInTransitEnabled)), TimeCreated: now, TimeUpdated: now,
	}
	i.BootVolumeID = *b.Id
	s.store.bootVolumes.add(*b.Id, b)
}

// resize sets a size in GB; 0 is the image's.
func (b *bootVolume) resize(size int64) {
	if size == 0 {
		size = bootVolumeGB
	}
	b.SizeInGBs, b.SizeInMBs = &size, ptr(size*1024)
}

// askedSize is what a launch must ask for to get a volume of this size; nil for the image's.
func askedSize(b *bootVolume) *int64 {
	if *b.SizeInGBs < minBootVolumeGB {
		return nil
	}
	return b.SizeInGBs
}

func (s *Server) bootVolumeOf(i *instance) *bootVolume {
	return s.store.bootVolumes.get(i.BootVolumeID)
}

func (b *bootVolume) setAttachment(state core.BootVolumeAttachmentLifecycleStateEnum) {
	b.Attachment.LifecycleState = state
	b.changed()
}

func (b *bootVolume) attach() {
	b.LifecycleState = core.BootVolumeLifecycleStateAvailable
	b.setAttachment(core.BootVolumeAttachmentLifecycleStateAttached)
}

// release detaches the volume of an instance that ends, and ends it too, unless it is preserved.
func (b *bootVolume) release(preserve bool) {
	b.setAttachment(core.BootVolumeAttachmentLifecycleStateDetached)
	if !preserve {
		b.end()
	}
}

func (b *bootVolume) end() {
	b.LifecycleState = core.BootVolumeLifecycleStateTerminated
	b.changed()
	b.forget(terminatedVisible)
}

func (s *Server) getBootVolume(q *request) (response, error) {
	b, err := find(q.sees, s.store.bootVolumes, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(b.BootVolume)
}

func (s *Server) listBootVolumes(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, b := range s.store.bootVolumes.all() {
		if b.compartment() == compartment && q.wants("availabilityDomain", b.AvailabilityDomain) && q.wants("volumeGroupId", b.VolumeGroupId) {
			rows = append(rows, row{b.position, *b.DisplayName, &b.BootVolume})
		}
	}
	return page(q, rows)
}

// updateBootVolume changes a volume at once. It can grow, but not shrink.
func (s *Server) updateBootVolume(q *request) (response, error) {
	b, err := s.liveBootVolume(q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdateBootVolumeDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := onlyFields(q, "displayName", "freeformTags", "definedTags", "sizeInGBs", "vpusPerGB"); err != nil {
		return response{}, err
	}
	if d.SizeInGBs != nil {
		if *d.SizeInGBs < *b.SizeInGBs {
			return response{}, invalid("sizeInGBs", "a volume of %d GB cannot shrink to %d", *b.SizeInGBs, *d.SizeInGBs)
		}
		b.resize(*d.SizeInGBs)
	}
	set(&b.VpusPerGB, d.VpusPerGB)
	set(&b.DisplayName, d.DisplayName)
	setTags(&b.FreeformTags, &b.DefinedTags, d.FreeformTags, d.DefinedTags)
	b.changed()
	return ok(b.BootVolume)
}

func (s *Server) liveBootVolume(q *request) (*bootVolume, error) {
	b, err := find(q.sees, s.store.bootVolumes, q.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if b.gone() {
		return nil, notFound()
	}
	return b, q.match(b.BootVolume)
}

// deleteBootVolume ends a volume that a terminated instance left.
func (s *Server) deleteBootVolume(q *request) (response, error) {
	b, err := s.liveBootVolume(q)
	if err != nil {
		return response{}, err
	}
	if b.Attachment.LifecycleState != core.BootVolumeAttachmentLifecycleStateDetached {
		return response{}, conflict("The boot volume %s is attached to the instance %s.", *b.Id, *b.Attachment.InstanceId)
	}
	b.end()
	return response{status: http.StatusNoContent}, nil
}

func (s *Server) listBootVolumeAttachments(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	ad := q.query.Get("availabilityDomain")
	if ad == "" {
		return response{}, missing("availabilityDomain")
	}
	var rows []row
	for _, b := range s.store.bootVolumes.all() {
		a := &b.Attachment
		if *a.CompartmentId == compartment && q.wants("availabilityDomain", a.AvailabilityDomain) &&
			q.wants("instanceId", a.InstanceId) && q.wants("bootVolumeId", a.BootVolumeId) {
			rows = append(rows, row{b.position, *a.DisplayName, a})
		}
	}
	return page(q, rows)
}

func (s *Server) getBootVolumeAttachment(q *request) (response, error) {
	i, err := find(q.sees, s.store.instances, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(s.bootVolumeOf(i).Attachment)
}

// listNothing answers lists of what a region could have, but nobody can make here: block volumes and
// their attachments.
func (s *Server) listNothing(q *request) (response, error) {
	if _, err := q.compartment(); err != nil {
		return response{}, err
	}
	return page(q, nil)
}
