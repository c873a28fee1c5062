// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"encoding/base64"
	"net/http"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// configuration is an instance configuration; it has no lifecycle.
type configuration struct {
	core.InstanceConfiguration
	record
}

func (c *configuration) compartment() string { return *c.CompartmentId }
func (c *configuration) gone() bool          { return false }

// launchDetails gives what is to be launched; validated on creation.
func (c *configuration) launchDetails() *core.InstanceConfigurationLaunchInstanceDetails {
	compute, _ := c.InstanceDetails.(core.ComputeInstanceDetails)
	return compute.LaunchDetails
}

func (s *Server) createConfiguration(q *request) (response, error) {
	kind, err := decode[struct {
		Source string `json:"source"`
	}](q)
	if err != nil {
		return response{}, err
	}
	var d core.CreateInstanceConfigurationDetails
	switch core.CreateInstanceConfigurationBaseSourceEnum(kind.Source) {
	case "", core.CreateInstanceConfigurationBaseSourceNone:
		d, err = decode[core.CreateInstanceConfigurationDetails](q)
	case core.CreateInstanceConfigurationBaseSourceInstance:
		d, err = s.configurationOfInstance(q)
	default:
		return response{}, notSimulated("An instance configuration with source " + kind.Source)
	}
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	if err := checkConfiguration(d.InstanceDetails); err != nil {
		return response{}, err
	}
	c := &configuration{InstanceConfiguration: core.InstanceConfiguration{
		Id: ptr(s.names.ocid("instanceconfiguration")), CompartmentId: d.CompartmentId, TimeCreated: s.timestamp(),
		DisplayName: d.DisplayName, InstanceDetails: d.InstanceDetails, GmcConfigs: []core.InstanceConfigurationGmcConfigDetail{},
		Source: core.InstanceConfigurationSourceEnum(kind.Source), // The official provider wants back what it sent.
	}}
	c.DeferredFields = deferredFields(c.launchDetails())
	if c.DisplayName == nil {
		c.DisplayName = ptr("instanceconfig" + s.defaultSuffix())
	}
	c.FreeformTags, c.DefinedTags = s.tagged(d.FreeformTags, d.DefinedTags)
	s.store.configurations.add(*c.Id, c)
	resp, err := ok(c.InstanceConfiguration)
	resp.created = *c.Id
	return resp, err
}

// configurationOfInstance is a configuration that launches instances like one that exists.
func (s *Server) configurationOfInstance(q *request) (core.CreateInstanceConfigurationDetails, error) {
	var none core.CreateInstanceConfigurationDetails
	d, err := decode[core.CreateInstanceConfigurationFromInstanceDetails](q)
	if err != nil {
		return none, err
	}
	i, err := find(q.sees, s.store.instances, *d.InstanceId)
	if err != nil {
		return none, err
	}
	if i.ending() {
		return none, incorrectState(*i.Id, string(i.LifecycleState))
	}
	launch, err := convert[core.InstanceConfigurationLaunchInstanceDetails](i.Instance)
	if err != nil {
		return none, err
	}
	v := s.vnicOf(i)
	launch.CreateVnicDetails = &core.InstanceConfigurationCreateVnicDetails{
		SubnetId: v.SubnetId, NsgIds: v.NsgIds, SkipSourceDestCheck: v.SkipSourceDestCheck, AssignPublicIp: ptr(v.PublicIp != nil),
	}
	if i.ComputeClusterID != "" {
		launch.ComputeClusterId = &i.ComputeClusterID
	}
	launch.SourceDetails = core.InstanceConfigurationInstanceSourceViaImageDetails{
		ImageId: i.ImageId, BootVolumeSizeInGBs: askedSize(s.bootVolumeOf(i)), BootVolumeVpusPerGB: s.bootVolumeOf(i).VpusPerGB}
	return core.CreateInstanceConfigurationDetails{
		CompartmentId: d.CompartmentId, DisplayName: d.DisplayName, FreeformTags: d.FreeformTags, DefinedTags: d.DefinedTags,
		InstanceDetails: core.ComputeInstanceDetails{LaunchDetails: &launch},
	}, nil
}

// deferredFields are what a launch by the configuration still needs.
func deferredFields(d *core.InstanceConfigurationLaunchInstanceDetails) []string {
	deferred := []string{}
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"availabilityDomain", d.AvailabilityDomain == nil},
		{"compartmentId", d.CompartmentId == nil},
		{"shape", d.Shape == nil},
		{"sourceDetails", d.SourceDetails == nil},
		{"subnetId", d.CreateVnicDetails == nil || d.CreateVnicDetails.SubnetId == nil},
	} {
		if field.missing {
			deferred = append(deferred, field.name)
		}
	}
	return deferred
}

// defaultSuffix ends the display names that OCI gives.
func (s *Server) defaultSuffix() string { return s.clock.now().Format("20060102150405") }

func checkConfiguration(d core.InstanceConfigurationInstanceDetails) error {
	compute, isCompute := d.(core.ComputeInstanceDetails)
	switch {
	case !isCompute:
		return notSimulated("instanceDetails.instanceType instance_options")
	case len(compute.SecondaryVnics) > 0:
		return notSimulated("instanceDetails.secondaryVnics")
	case len(compute.BlockVolumes) > 0:
		return notSimulated("instanceDetails.blockVolumes")
	case compute.LaunchDetails == nil:
		return missing("instanceDetails.launchDetails")
	}
	launch := compute.LaunchDetails
	const path = "instanceDetails.launchDetails"
	if err := validateMetadata(path, launch.Metadata, launch.ExtendedMetadata); err != nil {
		return err
	}
	source, _ := launch.SourceDetails.(core.InstanceConfigurationInstanceSourceViaImageDetails)
	if err := checkBootVolumeSize(path+".sourceDetails", source.BootVolumeSizeInGBs); err != nil {
		return err
	}
	return checkUserData(path, launch.Metadata)
}

func checkUserData(path string, metadata map[string]string) error {
	if _, err := base64.StdEncoding.DecodeString(metadata["user_data"]); err != nil {
		return invalid(path+".metadata.user_data", "it is not base64: %v", err)
	}
	return nil
}

func (s *Server) getConfiguration(q *request) (response, error) {
	c, err := find(q.sees, s.store.configurations, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(c.InstanceConfiguration)
}

func (s *Server) listConfigurations(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, c := range s.store.configurations.all() {
		if c.compartment() != compartment {
			continue
		}
		rows = append(rows, row{at: c.position, name: *c.DisplayName, item: core.InstanceConfigurationSummary{
			Id: c.Id, CompartmentId: c.CompartmentId, TimeCreated: c.TimeCreated, DisplayName: c.DisplayName,
			FreeformTags: c.FreeformTags, DefinedTags: c.DefinedTags}})
	}
	return page(q, rows)
}

func (s *Server) updateConfiguration(q *request) (response, error) {
	c, err := find(q.sees, s.store.configurations, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(c.InstanceConfiguration); err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdateInstanceConfigurationDetails](q)
	if err != nil {
		return response{}, err
	}
	set(&c.DisplayName, d.DisplayName)
	setTags(&c.FreeformTags, &c.DefinedTags, d.FreeformTags, d.DefinedTags)
	c.changed()
	return ok(c.InstanceConfiguration)
}

func (s *Server) deleteConfiguration(q *request) (response, error) {
	c, err := find(q.sees, s.store.configurations, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(c.InstanceConfiguration); err != nil {
		return response{}, err
	}
	for _, p := range s.store.pools.all() {
		if !p.gone() && *p.InstanceConfigurationId == *c.Id {
			return response{}, conflict("The Instance Configuration %s is associated to one or more Instance Pools.", *c.Id)
		}
	}
	s.store.configurations.remove(*c.Id)
	return response{status: http.StatusNoContent}, nil
}

func (s *Server) moveConfiguration(q *request) (response, error) {
	c, err := find(q.sees, s.store.configurations, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(c.InstanceConfiguration); err != nil {
		return response{}, err
	}
	d, err := decode[core.ChangeInstanceConfigurationCompartmentDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	c.CompartmentId = d.CompartmentId
	c.changed()
	return response{status: http.StatusNoContent, etag: etagOf(c.InstanceConfiguration)}, nil
}
