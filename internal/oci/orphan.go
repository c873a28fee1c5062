// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// OrphanError says that the cluster to be created is there already: a process was killed before it could
// record it, or another configuration has made it. Nothing was created.
type OrphanError struct {
	// ID is what imports the cluster.
	ID           string
	Interconnect Interconnect
	DisplayName  string
	State        string
	Size         int
	TimeCreated  time.Time
}

func (e *OrphanError) Error() string {
	return fmt.Sprintf("there is a %s %q in the compartment already that this provider has made, with the ID %s: it is %s, has %d nodes, and was created %s",
		e.Interconnect.noun(), e.DisplayName, e.ID, e.State, e.Size, e.TimeCreated.UTC().Format(time.RFC3339))
}

// sweep looks for what a killed process has left of the cluster to be created. The names of clusters that
// are made here are unique in a compartment, so a live cluster of the same name gives an [OrphanError].
// Configurations that nothing uses are deleted.
func (s *Clusters) sweep(ctx context.Context, spec Spec) error {
	used := map[string]bool{} // tokens
	for _, look := range []func(context.Context, Spec, map[string]bool) (*Cluster, error){s.orphanNetwork, s.orphanPool, s.orphanComputeCluster} {
		found, err := look(ctx, spec, used)
		if kind := KindOf(err); kind == NotFound || kind == Forbidden {
			continue // Who may not see such clusters has none.
		}
		if err != nil {
			return fmt.Errorf("look for a cluster of the same name: %w", err)
		}
		if found != nil {
			return &OrphanError{
				ID: found.ID, Interconnect: found.Interconnect, DisplayName: spec.DisplayName,
				State: found.State, Size: found.Size, TimeCreated: found.TimeCreated,
			}
		}
	}
	return s.sweepConfigurations(ctx, spec, used)
}

// marked says that something of the wanted name was made here.
func (s Spec) marked(displayName *string, tags map[string]string) bool {
	return value(displayName) == s.DisplayName && tags[MarkerTag] != ""
}

func ending(state string) bool { return state == terminating || state == terminated }

func (s *Clusters) orphanNetwork(ctx context.Context, spec Spec, used map[string]bool) (*Cluster, error) {
	for n, err := range s.clusterNetworks(ctx, spec.CompartmentID, spec.DisplayName) {
		if err != nil {
			return nil, err
		}
		used[n.FreeformTags[MarkerTag]] = true
		if spec.marked(n.DisplayName, n.FreeformTags) && !ending(string(n.LifecycleState)) {
			c, err := s.group(ClusterNetwork).get(ctx, value(n.Id))
			return &c, err
		}
	}
	return nil, nil
}

// orphanPool passes over the pools of the cluster networks that were met before.
func (s *Clusters) orphanPool(ctx context.Context, spec Spec, used map[string]bool) (*Cluster, error) {
	for p, err := range s.instancePools(ctx, spec.CompartmentID, spec.DisplayName) {
		if err != nil {
			return nil, err
		}
		if used[p.FreeformTags[MarkerTag]] {
			continue
		}
		if spec.marked(p.DisplayName, p.FreeformTags) && !ending(string(p.LifecycleState)) {
			c, err := s.group(NoInterconnect).get(ctx, value(p.Id))
			return &c, err
		}
	}
	return nil, nil
}

// orphanComputeCluster notes the tokens of all compute clusters: unlike a pool, one does not keep its
// configuration from being deleted, and may have been renamed since that was made.
func (s *Clusters) orphanComputeCluster(ctx context.Context, spec Spec, used map[string]bool) (*Cluster, error) {
	for item, err := range s.computeClusters(ctx, spec.CompartmentID) {
		if err != nil {
			return nil, err
		}
		if item.LifecycleState == core.ComputeClusterLifecycleStateDeleted {
			continue
		}
		used[item.FreeformTags[MarkerTag]] = true
		if spec.marked(item.DisplayName, item.FreeformTags) {
			c, err := s.group(ComputeCluster).get(ctx, value(item.Id))
			return &c, err
		}
	}
	return nil, nil
}

// sweepConfigurations deletes the configurations of the wanted name that nothing uses. Only nodes tell of
// a cluster in a compute cluster that it shares.
func (s *Clusters) sweepConfigurations(ctx context.Context, spec Spec, used map[string]bool) error {
	all, err := s.listConfigurations(ctx, spec.CompartmentID)
	if err != nil {
		return err
	}
	var left []core.InstanceConfigurationSummary
	for _, item := range all {
		if spec.marked(item.DisplayName, item.FreeformTags) && !used[item.FreeformTags[MarkerTag]] {
			left = append(left, item)
		}
	}
	if len(left) == 0 {
		return nil
	}
	live, err := s.liveTokens(ctx, spec.CompartmentID)
	if err != nil {
		return err
	}
	for _, item := range left {
		token := item.FreeformTags[MarkerTag]
		if live[token] {
			if err := s.orphanShare(ctx, spec, token); err != nil {
				return err
			}
			continue
		}
		_, err := change(ctx, s.Clients, s.ComputeManagement.DeleteInstanceConfiguration,
			core.DeleteInstanceConfigurationRequest{InstanceConfigurationId: item.Id})
		if err != nil && KindOf(err) != NotFound && KindOf(err) != Conflict {
			return fmt.Errorf("delete the left-over instance configuration %s: %w", value(item.Id), err)
		}
	}
	return nil
}

// liveTokens are those of the instances in a compartment.
func (s *Clusters) liveTokens(ctx context.Context, compartmentID string) (map[string]bool, error) {
	tokens := map[string]bool{}
	for i, err := range s.instances(ctx, core.ListInstancesRequest{CompartmentId: &compartmentID}) {
		if err != nil {
			return nil, fmt.Errorf("list the instances of compartment %s: %w", compartmentID, err)
		}
		if !ending(string(i.LifecycleState)) {
			tokens[i.FreeformTags[MarkerTag]] = true
		}
	}
	return tokens, nil
}

// orphanShare looks for a cluster in the compute cluster that the spec adopts.
func (s *Clusters) orphanShare(ctx context.Context, spec Spec, token string) error {
	if spec.Placement.ComputeClusterID == "" {
		return nil
	}
	c, err := s.group(ComputeCluster).get(ctx, spec.Placement.ComputeClusterID+"/"+token)
	if errors.Is(err, ErrGone) || err == nil && c.Size == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return &OrphanError{
		ID: c.ID, Interconnect: ComputeCluster, DisplayName: c.DisplayName, State: c.State, Size: c.Size, TimeCreated: c.TimeCreated,
	}
}
