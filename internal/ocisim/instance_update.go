// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"maps"
	"net/http"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// updateInstance changes an instance: at once, or by a restart where the change needs one.
func (s *Server) updateInstance(q *request) (response, error) {
	i, err := find(q.sees, s.store.instances, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(i.Instance); err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdateInstanceDetails](q)
	if err != nil {
		return response{}, err
	}
	if i.ending() {
		return response{}, incorrectState(*i.Id, string(i.LifecycleState))
	}
	next, err := s.updated(q, i, d)
	if err != nil {
		return response{}, err
	}
	restart, err := s.needsRestart(i, next, d)
	if err != nil {
		return response{}, err
	}
	newSource := *next.ImageId != *i.ImageId
	i.Instance = next
	if newSource {
		s.replaceBootVolume(i, d.SourceDetails.(core.UpdateInstanceSourceViaImageDetails))
	}
	i.changed()
	w := s.newWorkRequest(opUpdateInstance, i.compartment(), entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeUpdated)
	s.progress(w, 0, 0)
	if restart {
		s.startAction(i, transitions["RESET"], *w.Id)
	} else {
		s.succeed(w)
	}
	return response{body: i.Instance, etag: etagOf(i.Instance), workRequest: *w.Id}, nil
}

// updated is an instance as an update wants it. Settings go over the present ones; tags and metadata
// replace them.
func (s *Server) updated(q *request, i *instance, d core.UpdateInstanceDetails) (core.Instance, error) {
	if err := checkUpdate(i, d); err != nil {
		return core.Instance{}, err
	}
	asked, err := convert[map[string]any](d)
	if err != nil {
		return core.Instance{}, err
	}
	merged, err := convert[map[string]any](i.Instance)
	if err != nil {
		return core.Instance{}, err
	}
	for _, name := range []string{"freeformTags", "definedTags", "metadata", "extendedMetadata"} {
		if asked[name] != nil {
			merged[name] = asked[name]
		}
		delete(asked, name)
	}
	for _, name := range []string{"shape", "shapeConfig", "sourceDetails"} {
		delete(asked, name) // below
	}
	overlay(merged, asked)
	next, err := convert[core.Instance](merged)
	if err != nil {
		return next, err
	}
	if value(next.CapacityReservationId) == "" {
		next.CapacityReservationId = nil // an empty one takes the instance out of its reservation
	}
	if err := s.reshape(i, &next, d); err != nil {
		return next, err
	}
	return next, s.resource(q, i, &next, d)
}

// checkUpdate refuses what cannot be changed, here or on OCI.
func checkUpdate(i *instance, d core.UpdateInstanceDetails) error {
	_, viaImage := d.SourceDetails.(core.UpdateInstanceSourceViaImageDetails)
	for field, used := range map[string]bool{
		"dedicatedVmHostId":        value(d.DedicatedVmHostId) != "",
		"licensingConfigs":         len(d.LicensingConfigs) > 0,
		"securityAttributes":       len(d.SecurityAttributes) > 0,
		"timeMaintenanceRebootDue": d.TimeMaintenanceRebootDue != nil,
		"sourceDetails.sourceType": d.SourceDetails != nil && !viaImage,
	} {
		if used {
			return notSimulated(field)
		}
	}
	if d.FaultDomain != nil && !slices.Contains(faultDomains, *d.FaultDomain) {
		return invalid("faultDomain", "%q is none of %v", *d.FaultDomain, faultDomains)
	}
	for _, key := range []string{"ssh_authorized_keys", "user_data"} {
		if d.Metadata != nil && d.Metadata[key] != i.Metadata[key] {
			return invalid("metadata."+key, "it cannot be changed after the launch")
		}
	}
	return validateMetadata("", d.Metadata, d.ExtendedMetadata)
}

// reshape gives an instance another shape, or other resources of a flexible one.
func (s *Server) reshape(i *instance, next *core.Instance, d core.UpdateInstanceDetails) error {
	old, o := s.shape(*i.Shape), s.shape(*i.Shape)
	if d.Shape != nil {
		if o = s.shape(*d.Shape); o == nil {
			return invalid("shape", "%q is not offered", *d.Shape)
		}
	}
	if o != old && (o.bareMetal() || old.bareMetal()) {
		return invalid("shape", "an instance of shape %s cannot become one of %s", *i.Shape, *d.Shape)
	}
	if err := checkPlatform(d.PlatformConfig, o.PlatformConfigOptions); err != nil {
		return err
	}
	if o == old && (d.ShapeConfig == nil || !value(o.IsFlexible)) {
		return nil
	}
	asked, err := convert[*core.LaunchInstanceShapeConfigDetails](d.ShapeConfig)
	if err != nil {
		return err
	}
	if asked == nil {
		asked = &core.LaunchInstanceShapeConfigDetails{}
	}
	if asked.Ocpus == nil {
		asked.Ocpus = i.ShapeConfig.Ocpus
	}
	p := placed{LaunchInstanceDetails: core.LaunchInstanceDetails{ShapeConfig: asked}, shape: o}
	if err := checkShapeConfig(p); err != nil {
		return err
	}
	if o != old && !s.hasHosts(p, 1) {
		return outOfHostCapacity()
	}
	if o != old && d.PlatformConfig == nil && o.PlatformConfigOptions.Type != old.PlatformConfigOptions.Type {
		next.PlatformConfig, err = platformOf(o)
	}
	next.Shape, next.ShapeConfig = o.Shape.Shape, shapeConfig(p)
	return err
}

// resource gives an instance another image or capacity reservation.
func (s *Server) resource(q *request, i *instance, next *core.Instance, d core.UpdateInstanceDetails) error {
	o := s.shape(*next.Shape)
	if source, viaImage := d.SourceDetails.(core.UpdateInstanceSourceViaImageDetails); viaImage {
		image, err := find(q.sees, s.store.images, *source.ImageId)
		if err != nil {
			return err
		}
		if err := checkCompatible(image, o); err != nil {
			return err
		}
		size := source.BootVolumeSizeInGBs
		if value(size) == *s.bootVolumeOf(i).SizeInGBs {
			size = nil // The present size will do, be it that of a platform image.
		}
		if err := checkBootVolumeSize("sourceDetails", size); err != nil {
			return err
		}
		next.ImageId, next.SourceDetails = image.Id, core.InstanceSourceViaImageDetails{ImageId: image.Id}
	}
	if id := next.CapacityReservationId; id != nil && value(d.CapacityReservationId) == *id {
		return s.placeInReservation(q.sees, placed{shape: o, LaunchInstanceDetails: core.LaunchInstanceDetails{
			AvailabilityDomain: next.AvailabilityDomain, CapacityReservationId: id, FaultDomain: next.FaultDomain,
			ShapeConfig: &core.LaunchInstanceShapeConfigDetails{Ocpus: next.ShapeConfig.Ocpus, MemoryInGBs: next.ShapeConfig.MemoryInGBs}}})
	}
	return nil
}

// needsRestart says whether a change takes effect by a restart only, which the request may rule out.
func (s *Server) needsRestart(i *instance, next core.Instance, d core.UpdateInstanceDetails) (bool, error) {
	hardware := func(of core.Instance) string {
		return etagOf(core.Instance{Shape: of.Shape, ShapeConfig: of.ShapeConfig, PlatformConfig: of.PlatformConfig,
			LaunchOptions: of.LaunchOptions, FaultDomain: of.FaultDomain, ImageId: of.ImageId})
	}
	switch {
	case hardware(i.Instance) == hardware(next) || i.LifecycleState == core.InstanceLifecycleStateStopped:
		return false, nil
	case i.LifecycleState != core.InstanceLifecycleStateRunning:
		return false, incorrectState(*i.Id, string(i.LifecycleState))
	case d.UpdateOperationConstraint == core.UpdateInstanceDetailsUpdateOperationConstraintAvoidDowntime:
		return false, conflict("The update of the instance %s needs a restart, which updateOperationConstraint AVOID_DOWNTIME rules out.", *i.Id)
	}
	return true, nil
}

// replaceBootVolume gives an instance a new volume of another image.
func (s *Server) replaceBootVolume(i *instance, d core.UpdateInstanceSourceViaImageDetails) {
	old := s.bootVolumeOf(i)
	old.release(value(d.IsPreserveBootVolumeEnabled))
	s.addBootVolume(i, d.BootVolumeSizeInGBs, old.VpusPerGB)
	i.NewDisk = true
	if i.LifecycleState == core.InstanceLifecycleStateStopped {
		s.bootVolumeOf(i).attach()
	}
}

// moveInstance puts an instance with its attachments into another compartment. Its VNIC and its boot volume
// stay in theirs.
func (s *Server) moveInstance(q *request) (response, error) {
	i, err := find(q.sees, s.store.instances, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(i.Instance); err != nil {
		return response{}, err
	}
	d, err := decode[core.ChangeInstanceCompartmentDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	if i.ending() {
		return response{}, incorrectState(*i.Id, string(i.LifecycleState))
	}
	v, b := s.vnicOf(i), s.bootVolumeOf(i)
	i.CompartmentId, v.Attachment.CompartmentId, b.Attachment.CompartmentId = d.CompartmentId, d.CompartmentId, d.CompartmentId
	i.changed()
	v.changed()
	b.changed()
	w := s.newWorkRequest(opMoveInstance, i.compartment(), entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeUpdated)
	s.progress(w, 0, 0)
	s.succeed(w)
	return response{status: http.StatusAccepted, etag: etagOf(i.Instance), workRequest: *w.Id}, nil
}

// platformOf a shape by its defaults.
func platformOf(o *offeredShape) (core.PlatformConfig, error) {
	i, err := convert[core.Instance](map[string]any{"platformConfig": maps.Clone(platformDefaults(o.PlatformConfigOptions))})
	return i.PlatformConfig, err
}
