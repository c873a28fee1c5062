// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// Where a cluster network is placed is asked for as the user writes it.
func TestAccGPUCluster_placement(t *testing.T) {
	const island, block = "ocid1.hpcisland.oc1.us-lab-1.first", "ocid1.computenetworkblock.oc1.us-lab-1.third"
	s := newScene(t, ocisim.Scenario{}, fmt.Sprintf("hpc_island_id = %q", island),
		fmt.Sprintf("network_block_ids = [%q]", block), `placement_constraint = "SINGLE_BLOCK"`)
	t.Parallel()
	s.Apply()
	id := s.text("id")
	network, err := s.api.ComputeManagement.GetClusterNetwork(t.Context(), core.GetClusterNetworkRequest{ClusterNetworkId: &id})
	if err != nil {
		t.Fatal(err)
	}
	if network.HpcIslandId == nil || *network.HpcIslandId != island || !slices.Equal(network.NetworkBlockIds, []string{block}) ||
		network.PlacementConfiguration.PlacementConstraint != core.ClusterNetworkPlacementConfigurationDetailsPlacementConstraintSingleBlock {
		t.Errorf("OCI has %v", network.ClusterNetwork)
	}
	s.ExpectNoChanges()
	s.end()
}

// A node is reported to Oracle before it is given back.
func TestAccGPUCluster_reportUnhealthy(t *testing.T) {
	const space, key = "ComputeInstanceHostActions", "CustomerReportedHostStatus"
	s := newScene(t, ocisim.Scenario{TagNamespaces: map[string][]string{space: {key}}})
	t.Parallel()
	s.Apply()
	bad := s.nodes()[0]
	s.want(fmt.Sprintf("replace_nodes = [%q]", bad), "report_unhealthy = true")
	s.Apply()
	instance, err := s.api.Compute.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: &bad})
	if err != nil {
		t.Fatal(err)
	}
	if status := instance.DefinedTags[space][key]; status != "unhealthy" {
		t.Errorf("the replaced node was reported as %v", status)
	}
	if slices.Contains(s.nodes(), bad) {
		t.Errorf("%s is still there", bad)
	}
	s.ExpectNoChanges()
	s.end()
}
