// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// A cluster that ended outside of Terraform is made again in place, which prevent_destroy does not forbid.
func TestAccGPUCluster_goneIsMadeAgainInPlace(t *testing.T) {
	s := newScene(t, ocisim.Scenario{})
	t.Parallel()
	s.Apply()
	before := s.State(clusterAddress).Values["id"]
	endNetworks(s.t, s.region)
	if plan := s.plan(); !strings.Contains(plan, "will be updated in-place") {
		t.Errorf("the plan:\n%s", plan)
	}
	s.Configure(strings.Replace(clusterHCL(s.region), "size", "lifecycle {\n    prevent_destroy = true\n  }\n  size", 1))
	s.Apply()
	if after := s.State(clusterAddress).Values["id"]; after == before || after == nil {
		t.Errorf("after %v comes %v", before, after)
	}
	s.ExpectNoChanges()
	if n := s.region.Stats().InstanceConfigurations; n != 1 {
		t.Errorf("%d instance configurations instead of 1", n)
	}
	s.want()
	s.Destroy()
	if err := nothingLeft(s.region); err != nil {
		t.Error(err)
	}
}

// A destroy that comes upon the rest of one that was killed takes it away.
func TestAccGPUCluster_destroyTakesWhatIsLeft(t *testing.T) {
	s := newScene(t, ocisim.Scenario{})
	t.Parallel()
	s.Apply()
	endNetworks(s.t, s.region)
	if n := s.region.Stats().InstanceConfigurations; n != 1 {
		t.Fatalf("%d instance configurations instead of 1: nothing is tested", n)
	}
	s.Destroy()
	if err := nothingLeft(s.region); err != nil {
		t.Error(err)
	}
}

// endNetworks terminates every cluster network, as somebody would in the console: configurations stay.
func endNetworks(t *testing.T, region *acctest.Region) {
	t.Helper()
	clients, err := oci.NewClients(region.Config())
	if err != nil {
		t.Fatal(err)
	}
	compartment := acctest.CompartmentID
	networks, err := clients.ComputeManagement.ListClusterNetworks(t.Context(), core.ListClusterNetworksRequest{CompartmentId: &compartment})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks.Items {
		if _, err := clients.ComputeManagement.TerminateClusterNetwork(t.Context(), core.TerminateClusterNetworkRequest{ClusterNetworkId: n.Id}); err != nil {
			t.Fatal(err)
		}
	}
	acctest.Eventually(t, "the cluster networks are terminated", func() bool { return region.Stats().ClusterNetworks == 0 })
}
