// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// clusterNetworks holds nodes together by cluster networks, each with exactly one instance pool.
type clusterNetworks struct{ *Clients }

func (g clusterNetworks) create(ctx context.Context, spec Spec, configurationID string) (Cluster, error) {
	details := core.CreateClusterNetworkDetails{
		CompartmentId: &spec.CompartmentID,
		DisplayName:   &spec.DisplayName,
		FreeformTags:  spec.tagged(),
		DefinedTags:   spec.DefinedTags,
		InstancePools: []core.CreateClusterNetworkInstancePoolDetails{{
			InstanceConfigurationId: &configurationID,
			Size:                    &spec.Size,
			DisplayName:             &spec.DisplayName,
			FreeformTags:            spec.tagged(),
			DefinedTags:             spec.DefinedTags,
		}},
		PlacementConfiguration: &core.ClusterNetworkPlacementConfigurationDetails{
			AvailabilityDomain:  &spec.Placement.AvailabilityDomain,
			PlacementConstraint: core.ClusterNetworkPlacementConfigurationDetailsPlacementConstraintEnum(spec.Placement.Constraint),
			PrimaryVnicSubnets:  &core.InstancePoolPlacementPrimarySubnet{SubnetId: &spec.Placement.SubnetID},
		},
	}
	if spec.Placement.HPCIslandID != "" {
		details.ClusterConfiguration = &core.ClusterConfigurationDetails{
			HpcIslandId:     &spec.Placement.HPCIslandID,
			NetworkBlockIds: spec.Placement.NetworkBlockIDs,
		}
	}
	response, err := change(ctx, g.Clients, g.ComputeManagement.CreateClusterNetwork, core.CreateClusterNetworkRequest{
		CreateClusterNetworkDetails: details,
		OpcRetryToken:               &spec.Token,
	})
	if err != nil {
		return Cluster{}, err
	}
	return clusterOfNetwork(response.ClusterNetwork)
}

func (g clusterNetworks) get(ctx context.Context, id string) (Cluster, error) {
	response, err := read(ctx, g.Clients, g.ComputeManagement.GetClusterNetwork, core.GetClusterNetworkRequest{ClusterNetworkId: &id})
	if err != nil {
		return Cluster{}, err
	}
	return clusterOfNetwork(response.ClusterNetwork)
}

func (g clusterNetworks) find(ctx context.Context, spec Spec) (*Cluster, error) {
	for item, err := range g.clusterNetworks(ctx, spec.CompartmentID, spec.DisplayName) {
		if err != nil {
			return nil, err
		}
		if item.FreeformTags[MarkerTag] == spec.Token && string(item.LifecycleState) != terminated {
			c, err := g.get(ctx, value(item.Id))
			return &c, err
		}
	}
	return nil, nil
}

func (g clusterNetworks) update(ctx context.Context, c Cluster) error {
	_, err := change(ctx, g.Clients, g.ComputeManagement.UpdateClusterNetwork, core.UpdateClusterNetworkRequest{
		ClusterNetworkId: &c.ID,
		UpdateClusterNetworkDetails: core.UpdateClusterNetworkDetails{
			DisplayName:  &c.DisplayName,
			FreeformTags: c.tagged(),
			DefinedTags:  c.DefinedTags,
			InstancePools: []core.UpdateClusterNetworkInstancePoolDetails{{
				Id:                      &c.PoolID,
				Size:                    &c.Size,
				InstanceConfigurationId: &c.ConfigurationID,
				DisplayName:             &c.DisplayName,
				FreeformTags:            c.tagged(),
				DefinedTags:             c.DefinedTags,
			}},
		},
	})
	return err
}

func (g clusterNetworks) release(ctx context.Context, c Cluster, nodeID string, replace bool, token string) error {
	return releaseFromPool(ctx, g.Clients, c.PoolID, nodeID, replace, token)
}

func (g clusterNetworks) terminate(ctx context.Context, id string) error {
	_, err := change(ctx, g.Clients, g.ComputeManagement.TerminateClusterNetwork, core.TerminateClusterNetworkRequest{ClusterNetworkId: &id})
	return err
}

func (g clusterNetworks) instances(ctx context.Context, c Cluster, page *string) ([]core.InstanceSummary, *string, error) {
	response, err := read(ctx, g.Clients, g.ComputeManagement.ListClusterNetworkInstances, core.ListClusterNetworkInstancesRequest{
		CompartmentId: &c.CompartmentID, ClusterNetworkId: &c.ID, Limit: common.Int(pageSize), Page: page,
	})
	return response.Items, response.OpcNextPage, err
}

// clusterOfNetwork takes a network without its pool, which OCI's contract allows, for one that has none yet, or
// no more.
func clusterOfNetwork(n core.ClusterNetwork) (Cluster, error) {
	var pool core.InstancePool
	switch pools := n.InstancePools; {
	case len(pools) == 1:
		pool = pools[0]
	case len(pools) > 1, string(n.LifecycleState) != provisioning && !ending(string(n.LifecycleState)):
		return Cluster{}, fmt.Errorf("cluster network %s has %d instance pools: %w", value(n.Id), len(pools), errIncompleteAnswer)
	}
	placement := value(n.PlacementConfiguration)
	c := Cluster{
		ID:              value(n.Id),
		PoolID:          value(pool.Id),
		ConfigurationID: value(pool.InstanceConfigurationId),
		State:           string(n.LifecycleState),
		CurrentSize:     currentSize(pool),
		TimeCreated:     value(n.TimeCreated).Time,
		Spec: Spec{
			CompartmentID: value(n.CompartmentId),
			DisplayName:   value(n.DisplayName),
			Interconnect:  ClusterNetwork,
			Size:          value(pool.Size),
			Placement: Placement{
				AvailabilityDomain: value(placement.AvailabilityDomain),
				SubnetID:           subnetOf(placement.PrimaryVnicSubnets, placement.PrimarySubnetId),
				Constraint:         string(placement.PlacementConstraint),
				HPCIslandID:        value(n.HpcIslandId),
				NetworkBlockIDs:    n.NetworkBlockIds,
			},
			DefinedTags: n.DefinedTags,
		},
	}
	c.untagged(n.FreeformTags)
	return c, nil
}

// errIncompleteAnswer marks an answer of OCI that lacks what its contract promises.
var errIncompleteAnswer = errors.New("OCI's answer is not as its API promises")

// currentSize falls back to the size asked for where an answer leaves the current one out.
func currentSize(pool core.InstancePool) int {
	if pool.CurrentSize == nil {
		return value(pool.Size)
	}
	return *pool.CurrentSize
}

func subnetOf(primary *core.InstancePoolPlacementPrimarySubnet, deprecated *string) string {
	if primary != nil {
		return value(primary.SubnetId)
	}
	return value(deprecated)
}

// value of a pointer; the zero value where there is none.
func value[T any](p *T) T {
	if p == nil {
		var none T
		return none
	}
	return *p
}
