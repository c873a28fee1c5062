// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// Source addresses of the providers.
const (
	oursSource     = "ocihpc/ocihpc"
	officialSource = "oracle/oci"
)

// startCluster makes a region in which a cluster network of so many nodes runs.
func startCluster(ctx context.Context, nodes int) (*acctest.Region, *oci.Clusters, oci.Cluster, error) {
	region, err := acctest.NewRegion(func(c *ocisim.Config) { c.TimeScale = 1e6 })
	if err != nil {
		return nil, nil, oci.Cluster{}, err
	}
	clients, err := oci.NewClients(region.Config())
	if err != nil {
		return region, nil, oci.Cluster{}, err
	}
	clusters := oci.NewClusters(clients)
	clusters.Waiter = oci.Waiter{First: 50 * time.Millisecond, Max: time.Second, Faults: 4}
	operation, _, err := clusters.Create(ctx, oci.Spec{
		CompartmentID: acctest.CompartmentID, DisplayName: "bench", Interconnect: oci.ClusterNetwork, Size: nodes,
		Placement: oci.Placement{AvailabilityDomain: acctest.AvailabilityDomain, SubnetID: acctest.SubnetID},
		Launch:    oci.Launch{Shape: acctest.Shape, ImageID: acctest.ImageID},
	})
	if err != nil {
		return region, clusters, oci.Cluster{}, err
	}
	c, err := operation.Wait(ctx, nil)
	return region, clusters, c, err
}

// clusterHCL is the cluster of startCluster as a user writes it.
func clusterHCL(nodes int) string {
	return fmt.Sprintf(`
resource "ocihpc_gpu_cluster" "this" {
  compartment_id      = %q
  availability_domain = %q
  subnet_id           = %q
  display_name        = "bench"
  shape               = %q
  image_id            = %q
  size                = %d
}
`, acctest.CompartmentID, acctest.AvailabilityDomain, acctest.SubnetID, acctest.Shape, acctest.ImageID, nodes)
}

// officialClusterHCL is the same by the official provider.
func officialClusterHCL(nodes int) string {
	return fmt.Sprintf(`
resource "oci_core_instance_configuration" "this" {
  compartment_id = %[1]q
  display_name   = "bench"
  instance_details {
    instance_type = "compute"
    launch_details {
      compartment_id      = %[1]q
      availability_domain = %[2]q
      shape               = %[4]q
      create_vnic_details { subnet_id = %[3]q }
      source_details {
        source_type = "image"
        image_id    = %[5]q
      }
    }
  }
}
resource "oci_core_cluster_network" "this" {
  compartment_id = %[1]q
  display_name   = "bench"
  instance_pools {
    instance_configuration_id = oci_core_instance_configuration.this.id
    size                      = %[6]d
  }
  placement_configuration {
    availability_domain = %[2]q
    primary_subnet_id   = %[3]q
  }
}
`, acctest.CompartmentID, acctest.AvailabilityDomain, acctest.SubnetID, acctest.Shape, acctest.ImageID, nodes)
}

// officialNodesHCL is how users of the official provider get the addresses of a cluster network's nodes.
func officialNodesHCL(clusterID string) string {
	return fmt.Sprintf(`
data "oci_core_cluster_network" "this" {
  cluster_network_id = %[2]q
}
data "oci_core_cluster_network_instances" "this" {
  compartment_id     = %[1]q
  cluster_network_id = %[2]q
}
data "oci_core_instance" "this" {
  for_each    = toset(data.oci_core_cluster_network_instances.this.instances[*].id)
  instance_id = each.value
}
output "addresses" {
  value = [for i in data.oci_core_instance.this : i.private_ip]
}
`, acctest.CompartmentID, clusterID)
}

// officialProviderHCL configures the official provider for a region.
func officialProviderHCL(region *acctest.Region) string {
	return strings.Replace(region.ProviderHCL(), `provider "ocihpc" {`+"\n"+fmt.Sprintf("  endpoint     = %q\n", region.Endpoint), `provider "oci" {`+"\n", 1)
}

// officialEnvironment sends the official provider's clients to a region.
func officialEnvironment(region *acctest.Region) string {
	var overrides []string
	for _, client := range []string{"oci_core.ComputeManagementClient", "oci_core.ComputeClient", "oci_core.VirtualNetworkClient", "oci_core.BlockstorageClient", "oci_identity.IdentityClient"} {
		overrides = append(overrides, client+"="+region.Endpoint)
	}
	return "CLIENT_HOST_OVERRIDES=" + strings.Join(overrides, ";")
}
