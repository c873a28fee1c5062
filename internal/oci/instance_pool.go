// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// instancePools holds nodes together by plain instance pools, without an RDMA network.
type instancePools struct{ *Clients }

func (g instancePools) create(ctx context.Context, spec Spec, configurationID string) (Cluster, error) {
	response, err := change(ctx, g.Clients, g.ComputeManagement.CreateInstancePool, core.CreateInstancePoolRequest{
		CreateInstancePoolDetails: core.CreateInstancePoolDetails{
			CompartmentId:           &spec.CompartmentID,
			DisplayName:             &spec.DisplayName,
			InstanceConfigurationId: &configurationID,
			Size:                    &spec.Size,
			FreeformTags:            spec.tagged(),
			DefinedTags:             spec.DefinedTags,
			PlacementConfigurations: []core.CreateInstancePoolPlacementConfigurationDetails{{
				AvailabilityDomain: &spec.Placement.AvailabilityDomain,
				PrimaryVnicSubnets: &core.InstancePoolPlacementPrimarySubnet{SubnetId: &spec.Placement.SubnetID},
			}},
		},
		OpcRetryToken: &spec.Token,
	})
	if err != nil {
		return Cluster{}, err
	}
	return clusterOfPool(response.InstancePool)
}

func (g instancePools) get(ctx context.Context, id string) (Cluster, error) {
	response, err := read(ctx, g.Clients, g.ComputeManagement.GetInstancePool, core.GetInstancePoolRequest{InstancePoolId: &id})
	if err != nil {
		return Cluster{}, err
	}
	return clusterOfPool(response.InstancePool)
}

func (g instancePools) find(ctx context.Context, spec Spec) (*Cluster, error) {
	for item, err := range g.instancePools(ctx, spec.CompartmentID, spec.DisplayName) {
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

func (g instancePools) update(ctx context.Context, c Cluster) error {
	_, err := change(ctx, g.Clients, g.ComputeManagement.UpdateInstancePool, core.UpdateInstancePoolRequest{
		InstancePoolId: &c.ID,
		UpdateInstancePoolDetails: core.UpdateInstancePoolDetails{
			DisplayName:             &c.DisplayName,
			Size:                    &c.Size,
			InstanceConfigurationId: &c.ConfigurationID,
			FreeformTags:            c.tagged(),
			DefinedTags:             c.DefinedTags,
		},
	})
	return err
}

func (g instancePools) release(ctx context.Context, c Cluster, nodeID string, replace bool, token string) error {
	return releaseFromPool(ctx, g.Clients, c.PoolID, nodeID, replace, token)
}

// releaseFromPool detaches a node from a pool on its own or of a cluster network. Without a replacement
// the pool becomes smaller by one.
func releaseFromPool(ctx context.Context, clients *Clients, poolID, nodeID string, replace bool, token string) error {
	_, err := change(ctx, clients, clients.ComputeManagement.DetachInstancePoolInstance, core.DetachInstancePoolInstanceRequest{
		InstancePoolId: &poolID,
		DetachInstancePoolInstanceDetails: core.DetachInstancePoolInstanceDetails{
			InstanceId: &nodeID, IsDecrementSize: common.Bool(!replace), IsAutoTerminate: common.Bool(true),
		},
		OpcRetryToken: &token,
	})
	return err
}

func (g instancePools) terminate(ctx context.Context, id string) error {
	_, err := change(ctx, g.Clients, g.ComputeManagement.TerminateInstancePool, core.TerminateInstancePoolRequest{InstancePoolId: &id})
	return err
}

func (g instancePools) instances(ctx context.Context, c Cluster, page *string) ([]core.InstanceSummary, *string, error) {
	response, err := read(ctx, g.Clients, g.ComputeManagement.ListInstancePoolInstances, core.ListInstancePoolInstancesRequest{
		CompartmentId: &c.CompartmentID, InstancePoolId: &c.ID, Limit: common.Int(pageSize), Page: page,
	})
	return response.Items, response.OpcNextPage, err
}

func clusterOfPool(pool core.InstancePool) (Cluster, error) {
	if len(pool.PlacementConfigurations) == 0 {
		return Cluster{}, fmt.Errorf("instance pool %s has no placement: %w", value(pool.Id), errIncompleteAnswer)
	}
	placement := pool.PlacementConfigurations[0]
	c := Cluster{
		ID:              value(pool.Id),
		PoolID:          value(pool.Id),
		ConfigurationID: value(pool.InstanceConfigurationId),
		State:           string(pool.LifecycleState),
		CurrentSize:     currentSize(pool),
		TimeCreated:     value(pool.TimeCreated).Time,
		Spec: Spec{
			CompartmentID: value(pool.CompartmentId),
			DisplayName:   value(pool.DisplayName),
			Interconnect:  NoInterconnect,
			Size:          value(pool.Size),
			Placement: Placement{
				AvailabilityDomain: value(placement.AvailabilityDomain),
				SubnetID:           subnetOf(placement.PrimaryVnicSubnets, placement.PrimarySubnetId),
			},
			DefinedTags: pool.DefinedTags,
		},
	}
	c.untagged(pool.FreeformTags)
	return c, nil
}

// ofNoNetwork refuses the pool of a cluster network: it is changed by way of that.
func (s *Clusters) ofNoNetwork(ctx context.Context, pool Cluster) error {
	for n, err := range s.clusterNetworks(ctx, pool.CompartmentID, "") {
		if kind := KindOf(err); kind == NotFound || kind == Forbidden {
			return nil // This user may not see cluster networks.
		}
		if err != nil {
			return fmt.Errorf("look for the cluster network of pool %s: %w", pool.ID, err)
		}
		if slices.ContainsFunc(n.InstancePools, func(p core.InstancePoolSummary) bool { return value(p.Id) == pool.ID }) {
			return fmt.Errorf("the instance pool %s belongs to the cluster network %q: use its OCID, %s, instead", pool.ID, value(n.DisplayName), value(n.Id))
		}
	}
	return nil
}
