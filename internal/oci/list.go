// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"iter"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// pageSize is OCI's largest.
const pageSize = 1000

// pages gives the items of a list one by one; a page is fetched when it is needed. An error is the last
// that comes.
func pages[T any](fetch func(page *string) (items []T, next *string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var page *string
		for {
			items, next, err := fetch(page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if page = next; page == nil {
				return
			}
		}
	}
}

// collect gives all items of a list.
func collect[T any](list iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// clusterNetworks of a compartment; an empty name is any.
func (c *Clients) clusterNetworks(ctx context.Context, compartmentID, displayName string) iter.Seq2[core.ClusterNetworkSummary, error] {
	return pages(func(page *string) ([]core.ClusterNetworkSummary, *string, error) {
		response, err := read(ctx, c, c.ComputeManagement.ListClusterNetworks, core.ListClusterNetworksRequest{
			CompartmentId: &compartmentID, DisplayName: orNil(displayName), Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	})
}

// instancePools of a compartment by name.
func (c *Clients) instancePools(ctx context.Context, compartmentID, displayName string) iter.Seq2[core.InstancePoolSummary, error] {
	return pages(func(page *string) ([]core.InstancePoolSummary, *string, error) {
		response, err := read(ctx, c, c.ComputeManagement.ListInstancePools, core.ListInstancePoolsRequest{
			CompartmentId: &compartmentID, DisplayName: &displayName, Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	})
}

// computeClusters of a compartment.
func (c *Clients) computeClusters(ctx context.Context, compartmentID string) iter.Seq2[core.ComputeClusterSummary, error] {
	return pages(func(page *string) ([]core.ComputeClusterSummary, *string, error) {
		response, err := read(ctx, c, c.Compute.ListComputeClusters, core.ListComputeClustersRequest{
			CompartmentId: &compartmentID, Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	})
}

// instances that a request asks for, page by page.
func (c *Clients) instances(ctx context.Context, request core.ListInstancesRequest) iter.Seq2[core.Instance, error] {
	request.Limit = common.Int(pageSize)
	return pages(func(page *string) ([]core.Instance, *string, error) {
		request.Page = page
		response, err := read(ctx, c, c.Compute.ListInstances, request)
		return response.Items, response.OpcNextPage, err
	})
}

// orNil gives nil for an empty string: a parameter that is not sent.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
