// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// placed is a launch whose parts have all been found.
type placed struct {
	core.LaunchInstanceDetails
	shape  *offeredShape
	subnet *subnet
	vnic   core.CreateVnicDetails
	image  *string
}

// place checks a launch and finds its shape, image and subnet.
func (s *Server) place(sees viewer, d core.LaunchInstanceDetails) (placed, error) {
	if err := checkSimulated(d); err != nil {
		return placed{}, err
	}
	if err := s.checkAvailabilityDomain(d.AvailabilityDomain); err != nil {
		return placed{}, err
	}
	if d.FaultDomain != nil && !slices.Contains(faultDomains, *d.FaultDomain) {
		return placed{}, invalid("faultDomain", "%q is none of %v", *d.FaultDomain, faultDomains)
	}
	p := placed{LaunchInstanceDetails: d, vnic: value(d.CreateVnicDetails), shape: s.shape(value(d.Shape)), image: d.ImageId}
	if p.shape == nil {
		if d.Shape == nil {
			return p, missing("shape")
		}
		return p, invalid("shape", "%q is not offered in %s", *d.Shape, *d.AvailabilityDomain)
	}
	if d.CapacityReservationId != nil {
		if err := s.placeInReservation(sees, p); err != nil {
			return p, err
		}
	}
	if d.ComputeClusterId != nil {
		if err := s.placeInCluster(sees, d, p.shape); err != nil {
			return p, err
		}
	}
	if source, isImage := d.SourceDetails.(core.InstanceSourceViaImageDetails); isImage {
		p.image = source.ImageId
	}
	if p.image == nil {
		return p, missing("sourceDetails.imageId")
	}
	image, err := find(sees, s.store.images, *p.image)
	if err != nil {
		return p, err
	}
	if err := checkCompatible(image, p.shape); err != nil {
		return p, err
	}
	if err := checkShapeConfig(p); err != nil {
		return p, err
	}
	size, _ := askedVolume(p)
	if err := checkBootVolumeSize("sourceDetails", size); err != nil {
		return p, err
	}
	if err := checkPlatform(d.PlatformConfig, p.shape.PlatformConfigOptions); err != nil {
		return p, err
	}
	set(&p.vnic.HostnameLabel, d.HostnameLabel)
	if p.vnic.SubnetId == nil {
		p.vnic.SubnetId = d.SubnetId
	}
	if p.vnic.SubnetId == nil {
		return p, missing("createVnicDetails.subnetId")
	}
	if p.subnet, err = find(sees, s.store.subnets, *p.vnic.SubnetId); err != nil {
		return p, err
	}
	if err := s.checkVnic(sees, p.vnic, p.subnet); err != nil {
		return p, err
	}
	if p.vnic.HostnameLabel != nil && p.subnet.DnsLabel == nil { // OCI says no more than this.
		return p, &apiError{http.StatusBadRequest, "InvalidParameter", "Invalid VNIC creation parameters."}
	}
	if err := checkUserData("", d.Metadata); err != nil {
		return p, err
	}
	return p, validateMetadata("", d.Metadata, d.ExtendedMetadata)
}

// checkSimulated refuses what would change the instance if it were not ignored.
func checkSimulated(d core.LaunchInstanceDetails) error {
	source, viaImage := d.SourceDetails.(core.InstanceSourceViaImageDetails)
	for field, used := range map[string]bool{
		"clusterPlacementGroupId":                        d.ClusterPlacementGroupId != nil,
		"dedicatedVmHostId":                              d.DedicatedVmHostId != nil,
		"launchVolumeAttachments":                        len(d.LaunchVolumeAttachments) > 0,
		"placementConstraintDetails":                     d.PlacementConstraintDetails != nil,
		"sourceDetails.sourceType":                       d.SourceDetails != nil && !viaImage,
		"sourceDetails.instanceSourceImageFilterDetails": source.InstanceSourceImageFilterDetails != nil,
		"sourceDetails.kmsKeyId":                         source.KmsKeyId != nil,
	} {
		if used {
			return notSimulated(field)
		}
	}
	return nil
}

// launch makes an instance of a placed launch. The host is booted by [Server.boot].
func (s *Server) launch(p placed) (*instance, error) {
	asked, err := newInstance(p)
	if err != nil {
		return nil, fmt.Errorf("make instance of launch details: %w", err)
	}
	i := &instance{Instance: asked, ComputeClusterID: value(p.ComputeClusterId)}
	i.Id, i.Region, i.TimeCreated = ptr(s.names.ocid("instance")), &s.cfg.Region, s.timestamp()
	i.LifecycleState, i.ImageId, i.ShapeConfig = core.InstanceLifecycleStateProvisioning, p.image, shapeConfig(p)
	if i.DisplayName == nil {
		i.DisplayName = ptr("instance" + s.defaultSuffix())
	}
	if i.FaultDomain == nil {
		i.FaultDomain = ptr(s.emptiestFaultDomain(*i.AvailabilityDomain, faultDomains))
	}
	i.FreeformTags, i.DefinedTags = s.tagged(i.FreeformTags, i.DefinedTags)
	if i.Effect = s.dueNodeFault(*i.DisplayName, *i.Shape); i.Effect == NodeBootFails {
		i.Fault = bootFails
	}
	v, err := s.newVnic(i, p.vnic, p.subnet)
	if err != nil {
		return nil, err
	}
	i.VnicID = *v.Id
	size, vpus := askedVolume(p)
	s.addBootVolume(i, size, vpus)
	s.store.instances.add(*i.Id, i)
	return i, nil
}

// askedVolume is the boot volume that a launch asks for.
func askedVolume(p placed) (size, vpus *int64) {
	source, _ := p.SourceDetails.(core.InstanceSourceViaImageDetails)
	return source.BootVolumeSizeInGBs, source.BootVolumeVpusPerGB
}

// shapeConfig tells what the instance got: what was asked for on a flexible shape, else the shape's own.
func shapeConfig(p placed) *core.InstanceShapeConfig {
	c := &core.InstanceShapeConfig{
		Ocpus: p.shape.Ocpus, MemoryInGBs: p.shape.MemoryInGBs, Gpus: p.shape.Gpus, GpuDescription: p.shape.GpuDescription,
		LocalDisks: p.shape.LocalDisks, MaxVnicAttachments: p.shape.MaxVnicAttachments,
		NetworkingBandwidthInGbps: p.shape.NetworkingBandwidthInGbps, ProcessorDescription: p.shape.ProcessorDescription,
	}
	if asked := p.ShapeConfig; asked != nil && value(p.shape.IsFlexible) {
		set(&c.Ocpus, asked.Ocpus)
		c.MemoryInGBs = ptr(*c.Ocpus * *p.shape.MemoryOptions.DefaultPerOcpuInGBs)
		set(&c.MemoryInGBs, asked.MemoryInGBs)
	}
	c.Vcpus = ptr(int(2 * *c.Ocpus))
	return c
}

// checkShapeConfig keeps the resources of a flexible shape in its bounds.
func checkShapeConfig(p placed) error {
	if p.ShapeConfig == nil || !value(p.shape.IsFlexible) {
		return nil
	}
	c, cpus, memory := shapeConfig(p), p.shape.OcpuOptions, p.shape.MemoryOptions
	if *c.Ocpus < *cpus.Min || *c.Ocpus > *cpus.Max {
		return invalid("shapeConfig.ocpus", "%g is not in %g to %g", *c.Ocpus, *cpus.Min, *cpus.Max)
	}
	least, most := max(*memory.MinInGBs, *c.Ocpus**memory.MinPerOcpuInGBs), min(*memory.MaxInGBs, *c.Ocpus**memory.MaxPerOcpuInGBs)
	if *c.MemoryInGBs < least || *c.MemoryInGBs > most {
		return invalid("shapeConfig.memoryInGBs", "%g is not in %g to %g, as %g OCPUs have", *c.MemoryInGBs, least, most, *c.Ocpus)
	}
	return nil
}

func faultDomainKey(availabilityDomain, name string) string { return availabilityDomain + "/" + name }

func (s *Server) emptiestFaultDomain(ad string, of []string) string {
	count := func(name string) int { return len(s.store.faultDomains.with(faultDomainKey(ad, name))) }
	return slices.MinFunc(of, func(a, b string) int { return count(a) - count(b) })
}

// freeFor counts the hosts that launches of this kind can have; limited is false where there is no end.
func (s *Server) freeFor(p placed) (free int, limited bool) {
	if p.CapacityReservationId != nil {
		return s.freeInReservation(p), true
	}
	return s.freeHosts(*p.shape.Shape.Shape)
}

// freeHosts of a shape, without those reserved; limited is false where there is no end.
func (s *Server) freeHosts(name string) (free int, limited bool) {
	free, limited = s.cfg.Capacity[name]
	if !limited {
		return 0, false
	}
	free -= len(s.store.onShape.with(name))
	for _, p := range s.store.pools.all() {
		if p.Shape == name && p.ReservationID == "" {
			free -= p.Reserved
		}
	}
	return free - s.heldHosts(name), true
}

// boot lets the host of an instance boot that has been launched at an instant.
func (s *Server) boot(i *instance, at instant) {
	s.transit(i, core.InstanceLifecycleStateProvisioning, at.plus(s.bootTime(i)))
}

func (s *Server) launchInstance(q *request) (response, error) {
	d, err := decode[core.LaunchInstanceDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	return s.launchSingle(q, d)
}

// launchSingle launches an instance that belongs to no pool.
func (s *Server) launchSingle(q *request, d core.LaunchInstanceDetails) (response, error) {
	p, err := s.place(q.sees, d)
	if err != nil {
		return response{}, err
	}
	if err := s.admit(value(d.CompartmentId), *p.shape.Shape.Shape); err != nil {
		return response{}, err
	}
	hasHost := s.hasHosts(p, 1)
	if !hasHost && s.cfg.LaunchShortage == LaunchRefused {
		return response{}, outOfHostCapacity()
	}
	i, err := s.launch(p)
	if err != nil {
		return response{}, err
	}
	if !hasHost {
		i.Fault = fmt.Sprintf("(500, InternalError, false) Out of host capacity. (opc-request-id: %s)", requestID(q.Request))
		i.changed()
	}
	w := s.newWorkRequest(opLaunchInstance, i.compartment(), entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeCreated)
	i.Work = *w.Id
	s.boot(i, s.clock.present())
	return response{body: i.Instance, etag: etagOf(i.Instance), workRequest: *w.Id, created: *i.Id}, nil
}
