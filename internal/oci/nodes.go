// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// Node is one host of a cluster.
type Node struct {
	ID          string
	DisplayName string
	// Hostname is the label under which the VCN's DNS knows the node.
	Hostname    string
	PrivateIP   string // empty while the node has none
	FaultDomain string
	State       string // the instance's life cycle state, such as RUNNING
	TimeCreated time.Time
	// ConfigurationID is what the node was launched from.
	ConfigurationID string
	// Stale says that the node was launched otherwise than the cluster's nodes are now, tags aside.
	Stale bool
}

// Nodes gives the nodes of a cluster with their addresses, oldest first. The number of API calls grows
// with the pages of three lists, not with the nodes.
func (s *Clusters) Nodes(ctx context.Context, c Cluster) ([]Node, error) {
	nodes, err := s.members(ctx, c)
	if err != nil || len(nodes) == 0 {
		return nodes, err
	}
	vnics, err := s.vnics(ctx, c)
	if err != nil {
		return nil, err
	}
	addresses, err := s.addresses(ctx, c.Placement.SubnetID)
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		if err := s.address(ctx, &nodes[i], vnics[nodes[i].ID], addresses); err != nil {
			return nil, err
		}
	}
	return nodes, s.markStale(ctx, c, nodes)
}

// members gives the nodes without addresses; nodes that are on their way out are none any more.
func (s *Clusters) members(ctx context.Context, c Cluster) ([]Node, error) {
	var nodes []Node
	for item, err := range pages(func(page *string) ([]core.InstanceSummary, *string, error) {
		return s.group(c.Interconnect).instances(ctx, c, page)
	}) {
		if err != nil {
			return nil, fmt.Errorf("list the instances of %s: %w", c.ID, err)
		}
		node := Node{
			ID:              value(item.Id),
			DisplayName:     value(item.DisplayName),
			FaultDomain:     value(item.FaultDomain),
			State:           strings.ToUpper(value(item.State)), // "Running" in these lists
			TimeCreated:     value(item.TimeCreated).Time,
			ConfigurationID: value(item.InstanceConfigurationId),
		}
		if !ending(node.State) {
			nodes = append(nodes, node)
		}
	}
	slices.SortFunc(nodes, func(a, b Node) int {
		return cmp.Or(a.TimeCreated.Compare(b.TimeCreated), cmp.Compare(a.ID, b.ID))
	})
	return nodes, nil
}

// vnics gives the VNICs in the cluster's subnet by instance.
func (s *Clusters) vnics(ctx context.Context, c Cluster) (map[string][]string, error) {
	byInstance := map[string][]string{}
	for a, err := range pages(func(page *string) ([]core.VnicAttachment, *string, error) {
		response, err := read(ctx, s.Clients, s.Compute.ListVnicAttachments, core.ListVnicAttachmentsRequest{
			CompartmentId: &c.CompartmentID, AvailabilityDomain: &c.Placement.AvailabilityDomain, Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	}) {
		if err != nil {
			return nil, fmt.Errorf("list the VNIC attachments of compartment %s: %w", c.CompartmentID, err)
		}
		attached := a.LifecycleState == core.VnicAttachmentLifecycleStateAttached && a.VnicId != nil
		if attached && value(a.SubnetId) == c.Placement.SubnetID {
			byInstance[value(a.InstanceId)] = append(byInstance[value(a.InstanceId)], *a.VnicId)
		}
	}
	return byInstance, nil
}

// addresses gives the primary private IP of each VNIC in a subnet.
func (s *Clusters) addresses(ctx context.Context, subnetID string) (map[string]core.PrivateIp, error) {
	byVnic := map[string]core.PrivateIp{}
	for ip, err := range pages(func(page *string) ([]core.PrivateIp, *string, error) {
		response, err := read(ctx, s.Clients, s.VirtualNetwork.ListPrivateIps, core.ListPrivateIpsRequest{
			SubnetId: &subnetID, Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	}) {
		if err != nil {
			return nil, fmt.Errorf("list the private IPs of subnet %s: %w", subnetID, err)
		}
		if ip.VnicId != nil && value(ip.IsPrimary) {
			byVnic[*ip.VnicId] = ip
		}
	}
	return byVnic, nil
}

// address fills in a node's address. The lists settle it unless the node has several VNICs in the subnet,
// or the list of addresses lags behind: only then the VNIC itself is asked.
func (s *Clusters) address(ctx context.Context, node *Node, vnics []string, addresses map[string]core.PrivateIp) error {
	node.Hostname = strings.ToLower(node.DisplayName) // what OCI labels a pool's instance with
	if len(vnics) == 1 {
		if ip, ok := addresses[vnics[0]]; ok {
			node.PrivateIP = value(ip.IpAddress)
			node.Hostname = cmp.Or(value(ip.HostnameLabel), node.Hostname)
			return nil
		}
	}
	for _, id := range vnics {
		response, err := read(ctx, s.Clients, s.VirtualNetwork.GetVnic, core.GetVnicRequest{VnicId: &id})
		if KindOf(err) == NotFound {
			continue // detached meanwhile
		}
		if err != nil {
			return fmt.Errorf("read the VNIC %s of %s: %w", id, node.DisplayName, err)
		}
		if value(response.IsPrimary) {
			node.PrivateIP = value(response.PrivateIp)
			node.Hostname = cmp.Or(value(response.HostnameLabel), node.Hostname)
		}
	}
	return nil
}
