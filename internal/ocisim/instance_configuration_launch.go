// SPDX-License-Identifier: MPL-2.0

package ocisim

import "github.com/oracle/oci-go-sdk/v65/core"

// launchConfiguration launches a single instance by an instance configuration. The request's own launch
// details come first, so that it can fill in what the configuration leaves open.
func (s *Server) launchConfiguration(q *request) (response, error) {
	c, err := find(q.sees, s.store.configurations, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	d, err := launchBy(q, c)
	if err != nil {
		return response{}, err
	}
	d.InstanceConfigurationId = c.Id
	if id := q.Header.Get("Opc-Compute-Cluster-Id"); id != "" {
		d.ComputeClusterId = &id
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	return s.launchSingle(q, d)
}

// launchBy lays the request's launch details over those of a configuration.
func launchBy(q *request, c *configuration) (core.LaunchInstanceDetails, error) {
	launch, err := convert[map[string]any](c.launchDetails())
	if err != nil {
		return core.LaunchInstanceDetails{}, err
	}
	asked, err := launchOverrides(q)
	if err != nil {
		return core.LaunchInstanceDetails{}, err
	}
	overlay(launch, asked)
	if launch["compartmentId"] == nil {
		launch["compartmentId"] = *c.CompartmentId
	}
	d, err := convert[core.LaunchInstanceDetails](launch)
	if err != nil {
		return d, err
	}
	return d, validate(d)
}

// launchOverrides are the launch details of the request, which may be absent.
func launchOverrides(q *request) (map[string]any, error) {
	if len(q.body) == 0 || string(q.body) == "null" {
		return nil, nil
	}
	asked, err := decode[core.ComputeInstanceDetails](q)
	if err != nil {
		return nil, err
	}
	if asked.LaunchDetails == nil {
		asked.LaunchDetails = &core.InstanceConfigurationLaunchInstanceDetails{}
	}
	if err := checkConfiguration(asked); err != nil {
		return nil, err
	}
	body, err := decode[struct {
		InstanceType  string         `json:"instanceType"`
		LaunchDetails map[string]any `json:"launchDetails"`
	}](q)
	if body.InstanceType != "compute" {
		return nil, notSimulated("instanceType " + body.InstanceType)
	}
	return body.LaunchDetails, err
}

// overlay writes one JSON object over another, member by member.
func overlay(under, over map[string]any) {
	for name, v := range over {
		nested, isObject := v.(map[string]any)
		base, wasObject := under[name].(map[string]any)
		switch {
		case v == nil:
		case isObject && wasObject:
			overlay(base, nested)
		default:
			under[name] = v
		}
	}
}
