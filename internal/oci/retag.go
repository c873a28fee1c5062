// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// retagNodes gives the running nodes of a cluster the tags that the user wants, in place. Nodes that come
// of the present configuration, but from elsewhere, learn how they were launched: otherwise the next
// configuration, with nothing but other tags, would make them stale.
func (s *Clusters) retagNodes(ctx context.Context, c Cluster, nodes []Node, change Change) error {
	instances, err := s.inCompartment(ctx, c)
	if err != nil {
		return err
	}
	return each(nodes, func(n Node) error {
		instance, ok := instances[n.ID]
		if !ok {
			return nil // gone meanwhile
		}
		has := Tags{Freeform: instance.FreeformTags, Defined: instance.DefinedTags}
		tags := change.Managed.apply(has, change.Want.tags())
		if n.ConfigurationID == c.ConfigurationID && tags.Freeform[LaunchTag] == "" {
			tags.Freeform[LaunchTag] = c.LaunchDigest()
		}
		return s.tagInstance(ctx, n.ID, has, tags)
	})
}

// tagInstance changes the tags of an instance in place. One that is gone, or just going, needs none.
func (s *Clusters) tagInstance(ctx context.Context, id string, has, tags Tags) error {
	if has.equal(tags) {
		return nil
	}
	details := core.UpdateInstanceDetails{FreeformTags: tags.Freeform}
	if !has.Defined.equal(tags.Defined) {
		details.DefinedTags = tags.Defined // To repeat tags that others have set may not be allowed to this user.
	}
	_, err := change(ctx, s.Clients, s.Compute.UpdateInstance, core.UpdateInstanceRequest{InstanceId: &id, UpdateInstanceDetails: details})
	if err != nil && KindOf(err) != NotFound {
		return fmt.Errorf("change the tags of the node %s: %w", id, err)
	}
	return nil
}

// retagConfiguration makes a configuration that differs from the cluster's in its tags only, because those
// of the nodes to come cannot be changed in place. One that was made elsewhere without launch details
// stays as it is.
func (s *Clusters) retagConfiguration(ctx context.Context, c Cluster, change Change) (string, error) {
	instance, err := s.instanceOf(ctx, c.ConfigurationID)
	details := instance.LaunchDetails
	if err != nil || details == nil {
		return c.ConfigurationID, err
	}
	want := change.Want
	want.Token = c.Token
	tags := change.Managed.apply(Tags{Freeform: details.FreeformTags, Defined: details.DefinedTags}, want.tags())
	if tags.Freeform[LaunchTag] == "" {
		tags.Freeform[LaunchTag] = c.LaunchDigest()
	}
	details.FreeformTags, details.DefinedTags = tags.Freeform, tags.Defined
	return s.storeConfiguration(ctx, want, instance)
}
