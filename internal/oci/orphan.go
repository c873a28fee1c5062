// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// underWay is how young a configuration is that may be part of a create that is still under way. It is
// longer than clocks may differ: OCI refuses a request whose time is 5 minutes off.
const underWay = 10 * time.Minute

// sweep looks for what a killed process has left of the cluster to be created. The names of clusters that
// are made here are unique in a compartment, so a live cluster of the same name gives an [OrphanError].
// Configurations that nothing uses are deleted; while one of them may be part of another create, that gets
// [Clusters.Grace] to show its cluster.
func (s *Clusters) sweep(ctx context.Context, spec Spec) error {
	begun, patient := time.Now(), s.Waiter
	patient.Faults = 0 // Each look bears with faults by itself.
	return patient.Until(ctx, func(ctx context.Context) (bool, error) {
		used, err := s.orphans(ctx, spec)
		if err != nil {
			return false, err
		}
		left, err := s.unusedConfigurations(ctx, spec, used)
		if err != nil {
			return false, err
		}
		young := func(c core.InstanceConfigurationSummary) bool {
			return time.Since(value(c.TimeCreated).Time) < underWay
		}
		if slices.ContainsFunc(left, young) && time.Since(begun) < s.Grace {
			return false, nil
		}
		return true, s.deleteUnused(ctx, left)
	})
}

// orphans gives an [OrphanError] where there is a live cluster of the wanted name, else the tokens of the
// clusters that there are.
func (s *Clusters) orphans(ctx context.Context, spec Spec) (map[string]bool, error) {
	used := map[string]bool{} // tokens
	for _, look := range []func(context.Context, Spec, map[string]bool) (*Cluster, error){s.orphanNetwork, s.orphanPool, s.orphanComputeCluster} {
		found, err := look(ctx, spec, used)
		if kind := KindOf(err); kind == NotFound || kind == Forbidden {
			continue // Who may not see such clusters has none.
		}
		if err != nil {
			return nil, fmt.Errorf("look for a cluster of the same name: %w", err)
		}
		if found != nil {
			return nil, &OrphanError{
				ID: found.ID, Interconnect: found.Interconnect, DisplayName: spec.DisplayName,
				State: found.State, Size: found.Size, TimeCreated: found.TimeCreated,
			}
		}
	}
	return used, nil
}

// marked says that something of the wanted name was made here.
func (s Spec) marked(displayName *string, tags map[string]string) bool {
	return value(displayName) == s.DisplayName && tags[MarkerTag] != ""
}

func ending(state string) bool { return state == terminating || state == terminated }

// alive reads a cluster that a list shows; nil when it is gone, which lists may show later.
func (s *Clusters) alive(ctx context.Context, interconnect Interconnect, id *string) (*Cluster, error) {
	c, err := s.group(interconnect).get(ctx, value(id))
	if KindOf(err) == NotFound || err == nil && ending(c.State) {
		return nil, nil
	}
	return &c, err
}

func (s *Clusters) orphanNetwork(ctx context.Context, spec Spec, used map[string]bool) (*Cluster, error) {
	for n, err := range s.clusterNetworks(ctx, spec.CompartmentID, spec.DisplayName) {
		if err != nil {
			return nil, err
		}
		used[n.FreeformTags[MarkerTag]] = true
		if spec.marked(n.DisplayName, n.FreeformTags) && !ending(string(n.LifecycleState)) {
			if c, err := s.alive(ctx, ClusterNetwork, n.Id); c != nil || err != nil {
				return c, err
			}
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
			if c, err := s.alive(ctx, NoInterconnect, p.Id); c != nil || err != nil {
				return c, err
			}
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
			if c, err := s.alive(ctx, ComputeCluster, item.Id); c != nil || err != nil {
				return c, err
			}
		}
	}
	return nil, nil
}

// unusedConfigurations gives the configurations of the wanted name that nothing uses. Only nodes tell of a
// cluster in a compute cluster that it shares.
func (s *Clusters) unusedConfigurations(ctx context.Context, spec Spec, used map[string]bool) ([]core.InstanceConfigurationSummary, error) {
	all, err := s.listConfigurations(ctx, spec.CompartmentID)
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(all, func(c core.InstanceConfigurationSummary) bool {
		return !spec.marked(c.DisplayName, c.FreeformTags) || used[c.FreeformTags[MarkerTag]]
	})
	if len(left) == 0 {
		return nil, nil
	}
	live, err := s.liveTokens(ctx, spec.CompartmentID)
	if err != nil {
		return nil, err
	}
	var unused []core.InstanceConfigurationSummary
	for _, item := range left {
		token := item.FreeformTags[MarkerTag]
		if !live[token] {
			unused = append(unused, item)
		} else if err := s.orphanShare(ctx, spec, token); err != nil {
			return nil, err
		}
	}
	return unused, nil
}

// deleteUnused deletes configurations. That one is gone, or in use by now, is no error.
func (s *Clusters) deleteUnused(ctx context.Context, left []core.InstanceConfigurationSummary) error {
	for _, item := range left {
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
