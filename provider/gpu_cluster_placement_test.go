// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// placed gives where OCI was asked to put a cluster.
func (s *scene) placed() (island string, blocks []string, constraint string) {
	s.t.Helper()
	id := s.text("id")
	if s.text("interconnect") == "cluster_network" {
		network, err := s.api.ComputeManagement.GetClusterNetwork(s.t.Context(), core.GetClusterNetworkRequest{ClusterNetworkId: &id})
		if err != nil {
			s.t.Fatal(err)
		}
		return *network.HpcIslandId, network.NetworkBlockIds, string(network.PlacementConfiguration.PlacementConstraint)
	}
	cluster, err := s.api.Compute.GetComputeCluster(s.t.Context(), core.GetComputeClusterRequest{ComputeClusterId: &id})
	if err != nil {
		s.t.Fatal(err)
	}
	details, ok := cluster.PlacementConstraintDetails.(core.ComputeClusterPlacementConstraintDetails)
	if !ok || details.HpcIslandId == nil {
		s.t.Fatalf("OCI has %v", cluster.ComputeCluster)
	}
	return *details.HpcIslandId, details.TargetNetworkBlockIds, string(details.LogicalPlacementConstraint)
}

// Where a cluster is placed is asked for as the user writes it. Left out later, it stays; to have it
// elsewhere, another is made.
func TestAccGPUCluster_placement(t *testing.T) {
	const island, block = "ocid1.hpcisland.oc1.us-lab-1.first", "ocid1.computenetworkblock.oc1.us-lab-1.third"
	for _, interconnect := range []string{"cluster_network", "compute_cluster"} {
		t.Run(interconnect, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, fmt.Sprintf("interconnect = %q", interconnect), fmt.Sprintf("hpc_island_id = %q", island),
				fmt.Sprintf("network_block_ids = [%q]", block), `placement_constraint = "SINGLE_BLOCK"`)
			t.Parallel()
			s.Apply()
			if in, blocks, constraint := s.placed(); in != island || !slices.Equal(blocks, []string{block}) || constraint != "SINGLE_BLOCK" {
				t.Errorf("OCI has %s, %q, %s", in, blocks, constraint)
			}
			s.ExpectNoChanges()
			s.want()
			s.ExpectNoChanges()
			s.end()
		})
	}
}

// What cannot change on a cluster that exists replaces it, and nothing else does.
func TestAccGPUCluster_replaced(t *testing.T) {
	const otherDomain, otherCompartment, otherSubnet = "Lab1:US-LAB-1-AD-2", "ocid1.compartment.oc1..other", "ocid1.subnet.oc1.us-lab-1.other"
	s := newSceneIn(t, acctest.StartRegion(t, func(c *ocisim.Config) {
		c.AvailabilityDomains = append(c.AvailabilityDomains, otherDomain)
		c.Subnets = append(c.Subnets, ocisim.Subnet{ID: otherSubnet, CIDR: netip.MustParsePrefix("10.0.64.0/18"), DNSLabel: "other"})
		c.Users[0].Compartments = []string{acctest.CompartmentID, otherCompartment}
	}), "size = 1")
	t.Parallel()
	s.Apply()
	island := `hpc_island_id = "ocid1.hpcisland.oc1..x"`
	for name, lines := range map[string][]string{
		"compartment_id":       {fmt.Sprintf("compartment_id = %q", otherCompartment)},
		"availability_domain":  {fmt.Sprintf("availability_domain = %q", otherDomain)},
		"subnet_id":            {fmt.Sprintf("subnet_id = %q", otherSubnet)},
		"shape":                {`shape = "BM.GPU.A100-v2.8"`},
		"interconnect":         {`interconnect = "none"`},
		"compute_cluster_id":   {fmt.Sprintf("compute_cluster_id = %q", s.existingComputeCluster()), `interconnect = "compute_cluster"`},
		"placement_constraint": {`placement_constraint = "SINGLE_TIER"`},
		"hpc_island_id":        {island},
		"network_block_ids":    {island, `network_block_ids = ["ocid1.computenetworkblock.oc1..x"]`},
	} {
		s.want(append(lines, "size = 1")...)
		plan := s.plan()
		if !regexp.MustCompile(`(?m)`+name+` .* # forces replacement$`).MatchString(plan) || !strings.Contains(plan, "must be replaced") {
			t.Errorf("another %s does not replace the cluster:\n%s", name, plan)
		}
	}
	s.want("size = 1", `display_name = "renamed"`, `user_data = ""`, `freeform_tags = { team = "a" }`)
	if plan := s.plan(); !strings.Contains(plan, "0 to add, 1 to change, 0 to destroy") {
		t.Errorf("the plan is\n%s", plan)
	}
}

// A compute cluster into which the nodes cannot be launched is refused before there is a node.
func TestAccGPUCluster_adoptionRefused(t *testing.T) {
	const otherDomain, otherCompartment = "Lab1:US-LAB-1-AD-2", "ocid1.compartment.oc1..other"
	for name, prepare := range map[string]func(*scene) (id string){
		"of_other_compartment": func(s *scene) string { return s.computeClusterIn(otherCompartment, acctest.AvailabilityDomain) },
		"of_other_domain":      func(s *scene) string { return s.computeClusterIn(acctest.CompartmentID, otherDomain) },
		"of_deleted": func(s *scene) string {
			id := s.existingComputeCluster()
			if _, err := s.api.Compute.DeleteComputeCluster(s.t.Context(), core.DeleteComputeClusterRequest{ComputeClusterId: &id}); err != nil {
				s.t.Fatal(err)
			}
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSceneIn(t, acctest.StartRegion(t, func(c *ocisim.Config) {
				c.AvailabilityDomains = append(c.AvailabilityDomains, otherDomain)
				c.Users[0].Compartments = []string{acctest.CompartmentID, otherCompartment}
			}))
			t.Parallel()
			s.want(fmt.Sprintf("compute_cluster_id = %q", prepare(s)))
			golden(t, "adoption_"+name, s.try())
			if stats := s.region.Stats(); stats.Instances+stats.InstanceConfigurations != 0 || s.State(clusterAddress) != nil {
				t.Errorf("left over: %+v", stats)
			}
		})
	}
}

// How the compute cluster was placed is no setting of a cluster in it: the provider would refuse a configuration with
// what it has imported itself.
func TestAccGPUCluster_importFromComputeCluster(t *testing.T) {
	s := newScene(t, ocisim.Scenario{})
	t.Parallel()
	host := clusterHCL(s.region, "size = 1", `interconnect = "compute_cluster"`, `placement_constraint = "SINGLE_BLOCK"`)
	_, guest, _ := strings.Cut(clusterHCL(s.region, "size = 1", "compute_cluster_id = "+clusterAddress+".id", `display_name = "guest"`), "resource ")
	s.Configure(host + "resource " + strings.Replace(guest, `"this"`, `"guest"`, 1))
	s.Apply()
	s.ExpectNoChanges()
	const guestAddress = "ocihpc_gpu_cluster.guest"
	recorded := s.State(guestAddress)
	s.Must("state", "rm", guestAddress)
	id, _ := recorded.Values["id"].(string)
	s.Must("import", "-input=false", guestAddress, id)
	s.ExpectNoChanges()
	if now := s.State(guestAddress); !slices.Equal(nodesOf(now), nodesOf(recorded)) || now.Values["placement_constraint"] != nil {
		t.Errorf("imported %v, was %v", now.Values, recorded.Values)
	}
}

// Clusters that share a compute cluster leave each other alone.
func TestAccGPUCluster_sharedComputeCluster(t *testing.T) {
	s := newScene(t, ocisim.Scenario{})
	t.Parallel()
	adopted := fmt.Sprintf("compute_cluster_id = %q", s.existingComputeCluster())
	one := clusterHCL(s.region, adopted, "size = 1")
	_, both, _ := strings.Cut(clusterHCL(s.region, adopted, `display_name = "other"`), "resource ")
	s.Configure(one + "resource " + strings.Replace(both, `"this"`, `"other"`, 1))
	s.Apply()
	s.ExpectNoChanges()
	if nodes := s.nodes(); len(nodes) != 1 || s.region.Stats().Instances != 3 {
		t.Errorf("the nodes are %q; there are %+v", nodes, s.region.Stats())
	}
	s.Configure(one)
	s.Apply()
	s.ExpectNoChanges()
	if stats := s.region.Stats(); stats.Instances != 1 || stats.InstanceConfigurations != 1 || stats.ComputeClusters != 1 {
		t.Errorf("there are %+v", stats)
	}
}

// What is known at apply only may turn out to be none.
func TestAccGPUCluster_unknownAtPlan(t *testing.T) {
	const later = "resource \"terraform_data\" \"later\" {}\n"
	t.Run("compute cluster", func(t *testing.T) {
		for name, interconnect := range map[string]string{"some": "compute_cluster", "none": "cluster_network"} {
			t.Run(name, func(t *testing.T) {
				s := newScene(t, ocisim.Scenario{}, "size = 1")
				t.Parallel()
				some := fmt.Sprintf("%q", s.existingComputeCluster())
				s.Configure(clusterHCL(s.region, "size = 1", "compute_cluster_id = "+atApply(name == "some", some)) + later)
				s.Apply()
				s.ExpectNoChanges()
				if became := s.text("interconnect"); became != interconnect {
					t.Errorf("the interconnect is %s", became)
				}
			})
		}
	})
	t.Run("image beside an OCID", func(t *testing.T) {
		s := newScene(t, ocisim.Scenario{})
		t.Parallel()
		s.Configure(clusterHCL(s.region, "size = 1", "image = "+atApply(false, `{ operating_system = "Oracle Linux" }`)) + later)
		s.Apply()
		s.ExpectNoChanges()
	})
	t.Run("two interconnects", func(t *testing.T) {
		s := newScene(t, ocisim.Scenario{})
		t.Parallel()
		some := atApply(true, `"ocid1.computecluster.oc1..x"`)
		s.Configure(clusterHCL(s.region, interconnects["cluster network"], "compute_cluster_id = "+some) + later)
		golden(t, "two_interconnects_at_apply", s.try())
		if stats := s.region.Stats(); stats.ClusterNetworks+stats.InstanceConfigurations != 0 {
			t.Errorf("left over: %+v", stats)
		}
	})
	t.Run("strategy", func(t *testing.T) {
		for name, rolls := range map[string]bool{"rolling": true, "none": false} {
			t.Run(name, func(t *testing.T) {
				s := newScene(t, ocisim.Scenario{}, "size = 1")
				t.Parallel()
				s.Apply()
				node := s.nodes()[0]
				otherImage := fmt.Sprintf("image_id = %q", acctest.OtherImageID)
				s.want("size = 1", otherImage)
				s.Apply()
				s.Configure(clusterHCL(s.region, "size = 1", otherImage, "update_strategy = "+atApply(rolls, `"rolling"`)) + later)
				s.Apply()
				s.ExpectNoChanges()
				if replaced := s.nodes()[0] != node; replaced != rolls {
					t.Errorf("%s became %q; stale are %q", node, s.nodes(), s.stale())
				}
			})
		}
	})
}

// atApply is an expression that is known at apply only, as a value or as none.
func atApply(some bool, value string) string {
	if some {
		return `terraform_data.later.id == "" ? null : ` + value
	}
	return `terraform_data.later.id == "" ? ` + value + " : null"
}
