// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
	"github.com/ocihpc/terraform-provider-ocihpc/provider"
)

// interconnects by name, as lines of a configuration.
var interconnects = map[string]string{
	"cluster network": `interconnect = "cluster_network"`,
	"compute cluster": `interconnect = "compute_cluster"`,
	"instance pool":   `interconnect = "none"`,
}

// existingComputeCluster is made by somebody else.
func (s *scene) existingComputeCluster() (id string) {
	s.t.Helper()
	return s.computeClusterIn(acctest.CompartmentID, acctest.AvailabilityDomain)
}

func (s *scene) computeClusterIn(compartment, domain string) (id string) {
	s.t.Helper()
	response, err := s.api.Compute.CreateComputeCluster(s.t.Context(), core.CreateComputeClusterRequest{
		CreateComputeClusterDetails: core.CreateComputeClusterDetails{CompartmentId: &compartment, AvailabilityDomain: &domain}})
	if err != nil {
		s.t.Fatal(err)
	}
	return *response.Id
}

// An import alone is enough for an empty plan, whatever was set.
func TestAccGPUCluster_import(t *testing.T) {
	tagged := ocisim.Scenario{
		TagNamespaces: map[string][]string{"Costs": {"Project"}},
		TagDefaults:   map[string]map[string]string{"Oracle-Tags": {"CreatedBy": "somebody"}},
	}
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, tagged)
			t.Parallel()
			s.want(interconnect, `freeform_tags = { team = "research" }`, `defined_tags = { "Costs.Project" = "llm" }`, `metadata = { role = "gpu" }`,
				"boot_volume_size_in_gbs = 250", "boot_volume_vpus_per_gb = 20", `platform_config = { numa_nodes_per_socket = "NPS4" }`,
				`agent_plugins = { "Compute RDMA GPU Monitoring" = true }`, fmt.Sprintf("nsg_ids = [%q]", s.securityGroup()),
				fmt.Sprintf("capacity_reservation_id = %q", s.reserve(2)))
			s.imports()
			s.end()
		})
	}
	t.Run("adopted compute cluster", func(t *testing.T) {
		s := newScene(t, ocisim.Scenario{})
		t.Parallel()
		s.want(fmt.Sprintf("compute_cluster_id = %q", s.existingComputeCluster()))
		s.imports()
		if s.text("interconnect") != "compute_cluster" {
			t.Errorf("interconnect is %s", s.text("interconnect"))
		}
		s.Destroy()
		if left := s.region.Stats(); left.ComputeClusters != 1 || left.Instances+left.InstanceConfigurations != 0 {
			t.Errorf("the adopted compute cluster alone should be left: %+v", left)
		}
	})
}

// imports creates the cluster, forgets it, and imports it.
func (s *scene) imports() {
	s.t.Helper()
	s.Apply()
	s.ExpectNoChanges()
	id, nodes := s.text("id"), s.nodes()
	s.Must("state", "rm", clusterAddress)
	s.Must("import", clusterAddress, id)
	s.ExpectNoChanges()
	if s.text("id") != id || !slices.Equal(s.nodes(), nodes) || len(nodes) != 2 {
		s.t.Errorf("imported %s with %q, not %s with %q", s.text("id"), s.nodes(), id, nodes)
	}
}

func TestAccGPUCluster_importOfSomethingElse(t *testing.T) {
	s := newScene(t, ocisim.Scenario{})
	t.Parallel()
	_, output := s.Run("import", clusterAddress, "ocid1.instance.oc1..x")
	golden(t, "import_of_instance", output)
}

// An empty text is as good as none, and stays as it was written.
func TestAccGPUCluster_emptyTexts(t *testing.T) {
	s := newScene(t, ocisim.Scenario{}, "size = 1", `user_data = ""`, `ssh_authorized_keys = ""`)
	t.Parallel()
	s.Apply()
	s.ExpectNoChanges()
}

// Only the tags that the user wrote are managed: those of others stay. New tags reach running nodes and
// nodes to come, make none stale, and change nothing else.
func TestAccGPUCluster_tags(t *testing.T) {
	defaults := ocisim.Scenario{TagDefaults: map[string]map[string]string{"Oracle-Tags": {"CreatedBy": "somebody", "CreatedOn": "${oci.datetime}"}}}
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, defaults, interconnect, "size = 1", `freeform_tags = { team = "a", stage = "test" }`)
			t.Parallel()
			s.Apply()
			s.ExpectNoChanges()
			node := s.nodes()[0]
			s.tagAsAnother(node)
			s.want(interconnect, "size = 2", `freeform_tags = { team = "b" }`)
			if output := s.Apply(); strings.Contains(output, "Warning: Running") {
				t.Errorf("tags make nodes stale:\n%s", output)
			}
			s.ExpectNoChanges()
			s.Must("apply", "-refresh-only", "-auto-approve", "-input=false")
			now := s.instance(node)
			if _, left := now.FreeformTags["stage"]; left || now.FreeformTags["team"] != "b" || len(s.stale()) != 0 || s.nodes()[0] != node {
				t.Errorf("the node has the tags %v; stale are %q", now.FreeformTags, s.stale())
			}
			if now.FreeformTags["owner"] != "somebody" || now.DefinedTags["Oracle-Tags"]["CreatedBy"] != "somebody" {
				t.Errorf("the tags of others became %v and %v", now.FreeformTags, now.DefinedTags)
			}
			later := s.instance(s.nodes()[1])
			if later.FreeformTags["team"] != "b" || !maps.Equal(plugins(later), rdmaPlugins()) || legacyEndpoints(later) {
				t.Errorf("the next node has the tags %v, the plugins %v and the options %v", later.FreeformTags, plugins(later), later.InstanceOptions)
			}
		})
	}
}

// OCI keeps the tenancy's spelling of defined tags, whatever case they are written in.
func TestAccGPUCluster_tagsInOtherCase(t *testing.T) {
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{TagNamespaces: map[string][]string{"Ops": {"CostCenter", "Rack"}}},
				interconnect, "size = 1", `defined_tags = { "ops.costcenter" = "a", "OPS.rack" = "1" }`)
			t.Parallel()
			s.Apply()
			s.ExpectNoChanges()
			s.Must("apply", "-refresh-only", "-auto-approve", "-input=false")
			s.ExpectNoChanges()
			for _, test := range []struct{ tags, want string }{
				{`{ "ops.costcenter" = "b", "OPS.rack" = "1" }`, "map[CostCenter:b Rack:1]"},
				{`{ "Ops.CostCenter" = "b" }`, "map[CostCenter:b]"},
			} {
				s.want(interconnect, "size = 1", "defined_tags = "+test.tags)
				s.Apply()
				s.ExpectNoChanges()
				if now := fmt.Sprint(s.instance(s.nodes()[0]).DefinedTags["Ops"]); now != test.want {
					t.Errorf("%s: the node has %s", test.tags, now)
				}
			}
			s.end()
		})
	}
}

// Modules hand on variables whose default is empty: that is as good as nothing, and makes no node stale.
func TestAccGPUCluster_empty(t *testing.T) {
	s := newScene(t, ocisim.Scenario{}, "size = 1", "freeform_tags = {}", "defined_tags = {}", "metadata = {}", "agent_plugins = {}", "nsg_ids = []",
		"remove_nodes = []", "replace_nodes = []", "network_block_ids = []")
	t.Parallel()
	s.Apply()
	s.ExpectNoChanges()
	node := s.nodes()[0]
	s.want("size = 1")
	if output := s.Apply(); strings.Contains(output, "Warning: Running") {
		t.Errorf("nodes became stale:\n%s", output)
	}
	s.ExpectNoChanges()
	if now := s.nodes(); now[0] != node || len(s.stale()) != 0 {
		t.Errorf("%q became %q; stale are %q", node, now, s.stale())
	}
}

// tagAsAnother adds a tag to a node behind Terraform's back.
func (s *scene) tagAsAnother(node string) {
	s.t.Helper()
	tags := s.instance(node).FreeformTags
	tags["owner"] = "somebody"
	_, err := s.api.Compute.UpdateInstance(s.t.Context(), core.UpdateInstanceRequest{
		InstanceId: &node, UpdateInstanceDetails: core.UpdateInstanceDetails{FreeformTags: tags}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// A roll replaces all nodes, one after another, and an interrupted one is carried on with.
func TestAccGPUCluster_rolling(t *testing.T) {
	otherImage := fmt.Sprintf("image_id = %q", acctest.OtherImageID)
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, interconnect)
			t.Parallel()
			s.Apply()
			before := s.nodes()
			s.want(interconnect, otherImage)
			s.Apply()
			s.ExpectNoChanges()
			if stale := s.stale(); !slices.Equal(stale, before) {
				t.Errorf("stale are %q, want %q", stale, before)
			}
			// What is stale already, is rolled by the strategy alone.
			s.want(interconnect, otherImage, `update_strategy = "rolling"`)
			s.Apply()
			s.ExpectNoChanges()
			after := s.nodes()
			if len(after) != 2 || slices.Contains(after, before[0]) || slices.Contains(after, before[1]) || len(s.stale()) != 0 {
				t.Errorf("%q became %q; stale are %q", before, after, s.stale())
			}
			for _, node := range after {
				if image := *s.instance(node).ImageId; image != acctest.OtherImageID {
					t.Errorf("%s has the image %s", node, image)
				}
			}
			s.end()
		})
	}
}

// Chosen nodes leave, with and without a replacement; the others stay, in their order. What has been done
// stays in the configuration without effect.
func TestAccGPUCluster_chosenNodes(t *testing.T) {
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, interconnect, "size = 3")
			t.Parallel()
			s.Apply()
			first := s.nodes()
			remove := fmt.Sprintf("remove_nodes = [%q]", first[1])
			s.want(interconnect, "size = 2", remove)
			s.Apply()
			s.ExpectNoChanges()
			if now := s.nodes(); !slices.Equal(now, []string{first[0], first[2]}) {
				t.Errorf("after the removal of %s from %q there are %q", first[1], first, now)
			}
			s.want(interconnect, "size = 2", remove, fmt.Sprintf("replace_nodes = [%q]", first[0]))
			s.Apply()
			s.ExpectNoChanges()
			now := s.nodes()
			if len(now) != 2 || now[0] != first[2] || slices.Contains(first, now[1]) {
				t.Errorf("after the replacement of %s there are %q", first[0], now)
			}
			// Neither list needs to go before the cluster grows again.
			s.want(interconnect, "size = 3", remove, fmt.Sprintf("replace_nodes = [%q]", first[0]))
			s.Apply()
			s.ExpectNoChanges()
			// A size that is smaller by more than the list takes others, too.
			now = s.nodes()
			s.want(interconnect, "size = 1", fmt.Sprintf("remove_nodes = [%q]", now[0]))
			s.Apply()
			s.ExpectNoChanges()
			if left := s.nodes(); len(left) != 1 || !slices.Contains(now[1:], left[0]) {
				t.Errorf("of %q there are %q", now, left)
			}
			s.end()
		})
	}
}

// Which nodes to replace may be known at apply only.
func TestAccGPUCluster_replaceUnknown(t *testing.T) {
	s := newScene(t, ocisim.Scenario{})
	t.Parallel()
	s.Apply()
	before := s.nodes()
	bad := fmt.Sprintf("resource \"terraform_data\" \"bad\" { input = %q }\n", before[0])
	s.Configure(clusterHCL(s.region, "replace_nodes = [terraform_data.bad.output]") + bad)
	s.Apply()
	s.ExpectNoChanges()
	if now := s.nodes(); len(now) != 2 || now[0] != before[1] {
		t.Errorf("%q became %q", before, now)
	}
}

// A size that an autoscaler sets can be left to it; otherwise it is drift, and set back.
func TestAccGPUCluster_autoscaled(t *testing.T) {
	s := newScene(t, ocisim.Scenario{})
	t.Parallel()
	ignoring := strings.Replace(clusterHCL(s.region), "size = 2", "size = 2\n  lifecycle { ignore_changes = [size] }", 1)
	s.Configure(ignoring)
	s.Apply()
	s.resize(4)
	s.ExpectNoChanges()
	s.Configure(strings.Replace(ignoring, `"train"`, `"renamed"`, 1))
	s.Apply()
	if nodes := s.nodes(); len(nodes) != 4 {
		t.Errorf("another change sets the size back: %d nodes", len(nodes))
	}
	s.Configure(clusterHCL(s.region, `display_name = "renamed"`))
	if plan := s.plan(); !strings.Contains(plan, "4 -> 2") {
		t.Errorf("the plan does not show the drift:\n%s", plan)
	}
}

// Refreshing costs calls by pages, not by nodes.
func TestAccGPUCluster_callsOfRefresh(t *testing.T) {
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, interconnect, "size = 1")
			t.Parallel()
			calls := func() int {
				before := s.region.Stats().Requests
				s.ExpectNoChanges()
				return s.region.Stats().Requests - before
			}
			s.Apply()
			one := calls()
			s.want(interconnect, "size = 40")
			s.Apply()
			if forty := calls(); forty != one {
				t.Errorf("a refresh of 1 node takes %d calls, of 40 nodes %d", one, forty)
			}
			s.want(interconnect, "size = 40", fmt.Sprintf("image_id = %q", acctest.OtherImageID))
			s.Apply()
			if stale := calls(); stale != one+2 { // One for the configuration, one that lists what the nodes were launched with.
				t.Errorf("a refresh of 40 stale nodes takes %d calls, of up-to-date ones %d", stale, one)
			}
		})
	}
}

// Reads that lag behind changes are no drift, and lose nothing.
func TestAccGPUCluster_staleReads(t *testing.T) {
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{StaleReads: ocisim.StaleReads{AfterCreate: 2, AfterChange: 2}}, interconnect)
			t.Parallel()
			s.Apply()
			s.want(interconnect, "size = 3")
			s.Apply()
			if nodes := s.nodes(); len(nodes) != 3 {
				t.Errorf("nodes: %q", nodes)
			}
			s.end()
		})
	}
}

func TestDefaultTimeout(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]time.Duration{
		1: time.Hour, 20: time.Hour, 40: time.Hour, 41: 90 * time.Minute, 60: 90 * time.Minute, 1000: 25 * time.Hour,
	} {
		if got := provider.DefaultTimeout(size); got != want {
			t.Errorf("%d nodes get %s, want %s", size, got, want)
		}
	}
}
