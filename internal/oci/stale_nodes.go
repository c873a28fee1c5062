// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// markStale finds the nodes that were launched otherwise than the cluster's nodes are now. New tags bring
// a new configuration, too: where that differs from a node's, the digest of the launch decides.
func (s *Clusters) markStale(ctx context.Context, c Cluster, nodes []Node) error {
	former := func(n Node) bool { return n.ConfigurationID != c.ConfigurationID }
	if c.ConfigurationID == "" || !slices.ContainsFunc(nodes, former) {
		return nil // Without a configuration there is nothing to differ from.
	}
	digest := ""
	details, err := s.detailsOf(ctx, c.ConfigurationID)
	if err != nil {
		return err
	}
	if details != nil {
		digest = details.FreeformTags[LaunchTag]
	}
	instances, err := s.inCompartment(ctx, c)
	if err != nil {
		return err
	}
	for i, n := range nodes {
		nodes[i].Stale = former(n) && (digest == "" || instances[n.ID].FreeformTags[LaunchTag] != digest)
	}
	return nil
}

// stale gives the nodes that are.
func stale(nodes []Node) []Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return !n.Stale })
}

// detailsOf gives the launch details of a configuration; nil where somebody deleted it, or made it from
// options that have no one launch.
func (s *Clusters) detailsOf(ctx context.Context, configurationID string) (*core.InstanceConfigurationLaunchInstanceDetails, error) {
	instance, err := s.instanceOf(ctx, configurationID)
	return instance.LaunchDetails, err
}

// instanceOf gives all that a configuration says of an instance, volumes and further VNICs included; nothing where
// somebody deleted it, or made it from options.
func (s *Clusters) instanceOf(ctx context.Context, configurationID string) (core.ComputeInstanceDetails, error) {
	configuration, err := s.configuration(ctx, configurationID)
	if configuration == nil {
		return core.ComputeInstanceDetails{}, err
	}
	instance, _ := configuration.InstanceDetails.(core.ComputeInstanceDetails)
	return instance, nil
}

// inCompartment gives the instances of a cluster's compartment and availability domain by OCID, with their
// tags. OCI cannot list them by pool.
func (s *Clusters) inCompartment(ctx context.Context, c Cluster) (map[string]core.Instance, error) {
	all := map[string]core.Instance{}
	request := core.ListInstancesRequest{CompartmentId: &c.CompartmentID, AvailabilityDomain: &c.Placement.AvailabilityDomain}
	for item, err := range s.instances(ctx, request) {
		if err != nil {
			return nil, fmt.Errorf("list the instances of compartment %s: %w", c.CompartmentID, err)
		}
		all[value(item.Id)] = item
	}
	return all, nil
}
