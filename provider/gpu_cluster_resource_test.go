// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

const clusterAddress = "ocihpc_gpu_cluster.this"

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqfF9W4sZ3gbmH0aLF5EDEpQaDjM8NyI2ZBcGd6mJmr test"

// clusterHCL is a cluster; more attributes are given as lines, and take the place of these.
func clusterHCL(region *acctest.Region, more ...string) string {
	lines := map[string]string{
		"display_name": `"train"`, "size": "2", "compartment_id": fmt.Sprintf("%q", acctest.CompartmentID),
		"availability_domain": fmt.Sprintf("%q", acctest.AvailabilityDomain), "subnet_id": fmt.Sprintf("%q", acctest.SubnetID),
		"shape": fmt.Sprintf("%q", acctest.Shape), "image_id": fmt.Sprintf("%q", acctest.ImageID),
		"ssh_authorized_keys": fmt.Sprintf("%q", publicKey), "user_data": `base64encode("#cloud-config\n")`,
	}
	for _, line := range more {
		name, value, _ := strings.Cut(line, "=")
		lines[strings.TrimSpace(name)] = value
	}
	var text strings.Builder
	text.WriteString(region.ProviderHCL() + "\nresource \"ocihpc_gpu_cluster\" \"this\" {\n")
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&text, "  %s = %s\n", name, lines[name])
	}
	return text.String() + "}\n"
}

func nothingLeft(region *acctest.Region) error {
	if s := region.Stats(); s.InstanceConfigurations+s.ClusterNetworks+s.ComputeClusters+s.InstancePools+s.Instances != 0 {
		return fmt.Errorf("left over: %+v", s)
	}
	return nil
}

func TestAccGPUCluster_create(t *testing.T) {
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, interconnect)
			t.Parallel()
			s.Apply()
			s.ExpectNoChanges()
			values := s.State(clusterAddress).Values
			if values["state"] != "RUNNING" || values["current_size"] != float64(2) || len(s.stale()) != 0 {
				t.Errorf("became %v", values)
			}
			matches(t, "the cluster", values, map[string]string{"time_created": `^20\d\d-.*Z$`, "instance_configuration_id": `^ocid1\.instanceconfiguration\.`})
			nodes, _ := values["nodes"].([]any)
			for _, node := range nodes {
				attributes, _ := node.(map[string]any)
				matches(t, "a node", attributes, map[string]string{
					"id": `^ocid1\.instance\.`, "display_name": `train`, "hostname": `train`, "private_ip": `^10\.0\.`,
					"fault_domain": `^FAULT-DOMAIN-`, "state": `^RUNNING$`, "time_created": `^20\d\d-.*Z$`,
				})
			}
			if len(nodes) != 2 {
				t.Errorf("%d nodes", len(nodes))
			}
			s.end()
		})
	}
}

func matches(t *testing.T, what string, values map[string]any, patterns map[string]string) {
	t.Helper()
	for name, pattern := range patterns {
		if text, _ := values[name].(string); !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("%s has the %s %q", what, name, text)
		}
	}
}

func TestAccGPUCluster_resize(t *testing.T) {
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, interconnect)
			t.Parallel()
			s.Apply()
			id, nodes := s.text("id"), s.nodes()
			for _, size := range []int{5, 1} {
				s.want(interconnect, fmt.Sprintf("size = %d", size))
				s.Apply()
				s.ExpectNoChanges()
				now := s.nodes()
				if len(now) != size || s.text("id") != id {
					t.Errorf("size %d: %s with %q", size, s.text("id"), now)
				}
				single := interconnect == interconnects["compute cluster"] // of which the newest go first
				if size > 2 && !slices.Equal(now[:2], nodes) || size == 1 && single && now[0] != nodes[0] {
					t.Errorf("%q became %q", nodes, now)
				}
			}
			s.end()
		})
	}
}

// Another image, other tags, another name: no host is lost, no 409, and one configuration remains.
func TestAccGPUCluster_relaunch(t *testing.T) {
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, interconnect, `freeform_tags = { team = "research" }`)
			t.Parallel()
			s.Apply()
			nodes := s.nodes()
			s.want(interconnect, fmt.Sprintf("image_id = %q", acctest.OtherImageID), `freeform_tags = { stage = "prod" }`, `display_name = "renamed"`)
			plan := s.plan()
			if !strings.Contains(plan, "1 to change, 0 to destroy") || !regexp.MustCompile(`instance_configuration_id += ".*-> \(known after apply\)`).MatchString(plan) {
				t.Errorf("the plan is\n%s", plan)
			}
			s.Apply()
			s.ExpectNoChanges()
			if now := s.nodes(); !slices.Equal(now, nodes) {
				t.Errorf("%q became %q", nodes, now)
			}
			if n := s.region.Stats().InstanceConfigurations; n != 1 {
				t.Errorf("%d instance configurations", n)
			}
			s.end()
		})
	}
}

func TestAccGPUCluster_deletedOutside(t *testing.T) {
	s := newScene(t, ocisim.Scenario{})
	t.Parallel()
	s.Apply()
	id := s.text("id")
	deleteAll(t, s.region)
	s.Apply()
	s.ExpectNoChanges()
	if s.text("id") == id {
		t.Error("no other cluster was made")
	}
	s.end()
}

// deleteAll deletes every cluster network behind Terraform's back.
func deleteAll(t *testing.T, region *acctest.Region) {
	t.Helper()
	clients, err := oci.NewClients(region.Config())
	if err != nil {
		t.Fatal(err)
	}
	clusters := oci.NewClusters(clients)
	compartment := acctest.CompartmentID
	networks, err := clients.ComputeManagement.ListClusterNetworks(t.Context(), core.ListClusterNetworksRequest{CompartmentId: &compartment})
	if err != nil {
		t.Fatal(err)
	}
	for _, network := range networks.Items {
		if err := clusters.Delete(t.Context(), oci.Cluster{ID: *network.Id, Spec: oci.Spec{CompartmentID: compartment}}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// Of a cluster that OCI gives up, nothing is left, so that the next attempt is a plain create.
func TestAccGPUCluster_noCapacity(t *testing.T) {
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 1}, Shortage: ocisim.ShortageTerminates}, interconnect)
			t.Parallel()
			if output := s.try(); !strings.Contains(output, "There are not enough free hosts") {
				t.Errorf("the apply says\n%s", output)
			}
			recorded := s.State(clusterAddress)
			if kept := name == "compute cluster"; (recorded != nil) != kept || kept && !recorded.Tainted { // OCI ends the others.
				t.Errorf("recorded: %+v", recorded)
			}
			if err := nothingLeft(s.region); recorded == nil && err != nil {
				t.Error(err)
			}
			s.region.SetCapacity(acctest.Shape, 2)
			s.Apply()
			s.ExpectNoChanges()
			s.end()
		})
	}
}

// Ctrl-C during the create: nothing is lost, nothing is tainted, and the next apply carries on.
func TestAccGPUCluster_interruptedCreate(t *testing.T) {
	var gate acctest.Gate
	gate.Close()
	region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Hosts = &gate })
	tf := acctest.NewTerraform(t, clusterHCL(region))
	t.Parallel()
	apply := tf.Start("apply", "-auto-approve", "-input=false")
	acctest.Eventually(t, "the cluster network was looked at", func() bool { return region.Stats().Operations["ListWorkRequests"] > 0 })
	apply.Interrupt()
	status, output := apply.Wait()
	if status == 0 {
		t.Errorf("exit status 0\n%s", output)
	}
	golden(t, "interrupted_create", output)
	recorded := tf.State(clusterAddress)
	if recorded == nil || recorded.Tainted {
		t.Fatalf("recorded: %+v\n%s", recorded, output)
	}
	carryOn(t, tf, &gate)
	now := tf.State(clusterAddress)
	nodes, _ := now.Values["nodes"].([]any)
	if now.Values["id"] != recorded.Values["id"] || now.Values["state"] != "RUNNING" || len(nodes) != 2 {
		t.Errorf("became %v", now.Values)
	}
	tf.ExpectNoChanges()
	tf.Destroy()
	if err := nothingLeft(region); err != nil {
		t.Error(err)
	}
}

// carryOn plans while the cluster is not complete, and applies that plan once it can become so.
func carryOn(t *testing.T, tf *acctest.Terraform, gate *acctest.Gate) {
	t.Helper()
	output := tf.Must("plan", "-out=next", "-no-color", "-input=false")
	gate.Open()
	if !strings.Contains(output, "0 to add, 1 to change, 0 to destroy") {
		t.Errorf("the next plan does not carry on:\n%s", output)
	}
	tf.Must("apply", "-no-color", "-input=false", "next")
}

// Ctrl-C during a change: it is recorded how far it came, and the next apply carries on.
func TestAccGPUCluster_interruptedResize(t *testing.T) {
	var gate acctest.Gate
	region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Hosts = &gate })
	tf := acctest.NewTerraform(t, clusterHCL(region, "size = 1"))
	t.Parallel()
	tf.Apply()
	first := tf.State(clusterAddress)
	gate.Close()
	tf.Configure(clusterHCL(region, "size = 3"))
	apply := tf.Start("apply", "-auto-approve", "-input=false")
	acctest.Eventually(t, "nodes are being launched", func() bool { return region.Stats().Instances > 1 })
	looks := region.Stats().Operations["ListWorkRequests"]
	acctest.Eventually(t, "the cluster network was looked at", func() bool { return region.Stats().Operations["ListWorkRequests"] > looks })
	apply.Interrupt()
	status, output := apply.Wait()
	if status == 0 {
		t.Errorf("exit status 0\n%s", output)
	}
	golden(t, "interrupted_resize", output)
	if now := tf.State(clusterAddress); now == nil || now.Tainted || now.Values["state"] == "RUNNING" {
		t.Fatalf("recorded: %+v", now)
	}
	carryOn(t, tf, &gate)
	now := tf.State(clusterAddress)
	if nodes, _ := now.Values["nodes"].([]any); now.Values["id"] != first.Values["id"] || len(nodes) != 3 {
		t.Errorf("became %v", now.Values)
	}
	tf.ExpectNoChanges()
	tf.Destroy()
	if err := nothingLeft(region); err != nil {
		t.Error(err)
	}
}

// A create that takes longer than its time-out is no failure of the cluster.
func TestAccGPUCluster_slowCreate(t *testing.T) {
	var gate acctest.Gate
	gate.Close()
	region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Hosts = &gate })
	impatient := clusterHCL(region, `timeouts = { create = "5s" }`)
	tf := acctest.NewTerraform(t, impatient, "TF_LOG_PROVIDER=INFO")
	t.Parallel()
	output := tf.Must("apply", "-auto-approve", "-input=false")
	golden(t, "timeout_create", output)
	for _, progress := range []string{`train is PROVISIONING:.* nodes=0\b`, `train is PROVISIONING:.* wanted=2\b`, `work_request_\w+="\d+ % \(ocid1\.coreservicesworkrequest\.`} {
		if !regexp.MustCompile(progress).MatchString(output) {
			t.Errorf("no %s in the log:\n%s", progress, output)
		}
	}
	recorded := tf.State(clusterAddress)
	if recorded == nil || recorded.Tainted {
		t.Fatalf("recorded: %+v", recorded)
	}
	carryOn(t, tf, &gate)
	if now := tf.State(clusterAddress); now.Values["id"] != recorded.Values["id"] || now.Values["state"] != "RUNNING" {
		t.Errorf("became %v", now.Values)
	}
	tf.ExpectNoChanges()
	tf.Destroy()
}

// What can only fail is refused by the plan, before anything is changed.
func TestAccGPUCluster_badAccess(t *testing.T) {
	for name, test := range map[string]struct{ right, wrong string }{
		"fingerprint": {acctest.Fingerprint(), "00:11"},
		"key":         {"BEGIN RSA PRIVATE KEY", "BEGIN"},
		"endpoint":    {"http://127.0.0.1", "http://203.0.113.1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{})
			t.Parallel()
			s.Configure(strings.Replace(clusterHCL(s.region), test.right, test.wrong, 1))
			golden(t, "bad_"+name, s.plan())
		})
	}
}
