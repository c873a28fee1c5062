// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"slices"
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

// A cluster that OCI does not show for a time, as to a user whose policy has changed, is not lost.
func TestAccGPUCluster_unseen(t *testing.T) {
	s := newScene(t, ocisim.Scenario{}, "size = 1")
	t.Parallel()
	s.Apply()
	id, nodes := s.text("id"), s.nodes()
	s.happen(fault("GetClusterNetwork", ocisim.EffectNotFound))
	if output := s.try(); !strings.Contains(output, "is gone") || !strings.Contains(output, "Error: Unable to clean up") {
		t.Errorf("an apply that does not see the cluster:\n%s", output)
	}
	s.happen(ocisim.Scenario{})
	s.ExpectNoChanges()
	s.Apply()
	if s.text("id") != id || !slices.Equal(s.nodes(), nodes) {
		t.Errorf("%s with %q became %s with %q", id, nodes, s.text("id"), s.nodes())
	}
	s.end()
}

// The configuration of a compute cluster can be deleted by anybody. It is made again, and no node goes.
func TestAccGPUCluster_lostConfiguration(t *testing.T) {
	for name, lines := range map[string][]string{
		"alone":     {"size = 1", `interconnect = "compute_cluster"`},
		"to grow":   {"size = 2", `interconnect = "compute_cluster"`},
		"with roll": {"size = 1", `interconnect = "compute_cluster"`, `update_strategy = "rolling"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, "size = 1", `interconnect = "compute_cluster"`)
			t.Parallel()
			s.Apply()
			node, id := s.nodes()[0], s.text("instance_configuration_id")
			if _, err := s.api.ComputeManagement.DeleteInstanceConfiguration(t.Context(), core.DeleteInstanceConfigurationRequest{InstanceConfigurationId: &id}); err != nil {
				t.Fatal(err)
			}
			s.want(lines...)
			s.Apply()
			s.ExpectNoChanges()
			if s.nodes()[0] != node || s.text("instance_configuration_id") == "" || len(s.stale()) != 0 {
				t.Errorf("the node %s became %q; stale are %q", node, s.nodes(), s.stale())
			}
			s.end()
		})
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
