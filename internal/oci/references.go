// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// Exists says whether OCI shows what nodes are launched with: an image, a subnet, a network security group, a
// capacity reservation or a compute cluster. Of other OCIDs it is not known that they do not. Whoever may launch
// with one of these may also read it.
func (c *Clients) Exists(ctx context.Context, ocid string) (bool, error) {
	var err error
	kind, _, _ := strings.Cut(strings.TrimPrefix(ocid, "ocid1."), ".")
	switch kind {
	case "image":
		_, err = read(ctx, c, c.Compute.GetImage, core.GetImageRequest{ImageId: &ocid})
	case "subnet":
		_, err = read(ctx, c, c.VirtualNetwork.GetSubnet, core.GetSubnetRequest{SubnetId: &ocid})
	case "networksecuritygroup":
		_, err = read(ctx, c, c.VirtualNetwork.GetNetworkSecurityGroup, core.GetNetworkSecurityGroupRequest{NetworkSecurityGroupId: &ocid})
	case "capacityreservation":
		_, err = read(ctx, c, c.Compute.GetComputeCapacityReservation, core.GetComputeCapacityReservationRequest{CapacityReservationId: &ocid})
	case "computecluster":
		_, err = read(ctx, c, c.Compute.GetComputeCluster, core.GetComputeClusterRequest{ComputeClusterId: &ocid})
	}
	if KindOf(err) == NotFound {
		return false, nil
	}
	return err == nil, err
}

// CheckPlatform refuses platform settings that the shape of a cluster does not offer.
func (c *Clients) CheckPlatform(ctx context.Context, spec Spec) error {
	_, err := c.platformConfig(ctx, spec)
	return err
}
