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
	if kind.Source != "" && kind.Source != string(core.CreateInstanceConfigurationBaseSourceNone) {
		return response{}, notSimulated("An instance configuration with source " + kind.Source)
	}
	d, err := decode[core.CreateInstanceConfigurationDetails](q)
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
		DisplayName: d.DisplayName, InstanceDetails: d.InstanceDetails, DeferredFields: []string{},
	}}
	if c.DisplayName == nil {
		c.DisplayName = ptr("instanceconfig" + s.defaultSuffix())
	}
	c.FreeformTags, c.DefinedTags = s.tagged(d.FreeformTags, d.DefinedTags)
	s.store.configurations.add(*c.Id, c)
	resp, err := ok(c.InstanceConfiguration)
	resp.created = *c.Id
	return resp, err
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
