// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// LaunchTag is the freeform tag on nodes and configurations that says how a node is launched, tags aside.
const LaunchTag = "ocihpc-launch"

// launchDigest gives the value of [LaunchTag] for launch details.
func launchDigest(details core.InstanceConfigurationLaunchInstanceDetails) (string, error) {
	details.FreeformTags, details.DefinedTags = nil, nil
	text, err := json.Marshal(details)
	if err != nil {
		return "", fmt.Errorf("encode the launch details: %w", err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return "", fmt.Errorf("decode the launch details: %w", err)
	}
	if text, err = json.Marshal(said(tree)); err != nil {
		return "", fmt.Errorf("encode the launch details: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// said leaves out what launch details do not say: another version of the SDK knows more of such fields.
func said(tree any) any {
	fields, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	for key, value := range fields {
		if value == nil {
			delete(fields, key)
			continue
		}
		fields[key] = said(value)
	}
	return fields
}

// launchOf gives the launch details of a configuration; nil where it has none, or is gone.
func (s *Clusters) launchOf(ctx context.Context, configurationID string) (*core.InstanceConfigurationLaunchInstanceDetails, error) {
	response, err := read(ctx, s.Clients, s.ComputeManagement.GetInstanceConfiguration,
		core.GetInstanceConfigurationRequest{InstanceConfigurationId: &configurationID})
	if KindOf(err) == NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read instance configuration %s: %w", configurationID, err)
	}
	details, ok := response.InstanceDetails.(core.ComputeInstanceDetails)
	if !ok {
		return nil, nil // Made elsewhere, from options that have no one launch.
	}
	return details.LaunchDetails, nil
}

// digestOf gives the digest of launch details that were read. Those that were made elsewhere have no tag.
func digestOf(details *core.InstanceConfigurationLaunchInstanceDetails) (string, error) {
	switch {
	case details == nil:
		return "", nil
	case details.FreeformTags[LaunchTag] != "":
		return details.FreeformTags[LaunchTag], nil
	}
	return launchDigest(*details)
}

// inCompartment gives the instances of a cluster's compartment and availability domain by OCID, with their
// tags. OCI cannot list them by pool.
func (s *Clusters) inCompartment(ctx context.Context, c Cluster) (map[string]core.Instance, error) {
	all := map[string]core.Instance{}
	request := core.ListInstancesRequest{
		CompartmentId: &c.CompartmentID, AvailabilityDomain: &c.Placement.AvailabilityDomain, Limit: common.Int(pageSize),
	}
	for {
		response, err := read(ctx, s.Clients, s.Compute.ListInstances, request)
		if err != nil {
			return nil, fmt.Errorf("list the instances of compartment %s: %w", c.CompartmentID, err)
		}
		for _, item := range response.Items {
			all[value(item.Id)] = item
		}
		if request.Page = response.OpcNextPage; request.Page == nil {
			return all, nil
		}
	}
}
