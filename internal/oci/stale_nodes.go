// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"slices"
)

// markStale finds the nodes that were launched otherwise than the cluster's nodes are now. New tags bring
// a new configuration, too: where that differs from a node's, the digest of the launch decides.
func (s *Clusters) markStale(ctx context.Context, c Cluster, nodes []Node) error {
	former := func(n Node) bool { return n.ConfigurationID != c.ConfigurationID }
	if !slices.ContainsFunc(nodes, former) {
		return nil
	}
	details, err := s.launchOf(ctx, c.ConfigurationID)
	if err != nil {
		return err
	}
	digest, err := digestOf(details)
	if err != nil {
		return err
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
