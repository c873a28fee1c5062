// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
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

// noPlan expects that a configuration leaves nothing to do.
func noPlan(hcl string) resource.TestStep {
	return resource.TestStep{Config: hcl, PlanOnly: true}
}

func valueOf(name string, check knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(clusterAddress, tfjsonpath.New(name), check)
}

func action(a plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(clusterAddress, a)}}
}

// check runs the steps, and expects that nothing is left in the region after the destruction.
func check(t *testing.T, region *acctest.Region, steps ...resource.TestStep) {
	t.Helper()
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps:                    steps,
		CheckDestroy:             func(*terraform.State) error { return nothingLeft(region) },
	})
}

func nothingLeft(region *acctest.Region) error {
	if s := region.Stats(); s.InstanceConfigurations+s.ClusterNetworks+s.InstancePools+s.Instances != 0 {
		return fmt.Errorf("left over: %+v", s)
	}
	return nil
}

func TestAccGPUCluster_createAndImport(t *testing.T) {
	for name, interconnect := range map[string]string{"cluster network": `null`, "instance pool": `"none"`} {
		t.Run(name, func(t *testing.T) {
			region := acctest.StartRegion(t, nil)
			hcl := clusterHCL(region, "interconnect = "+interconnect, `freeform_tags = { team = "research" }`,
				`metadata = { role = "gpu" }`, "boot_volume_size_in_gbs = 250", "boot_volume_vpus_per_gb = 20")
			check(t, region,
				resource.TestStep{
					Config:           hcl,
					ConfigPlanChecks: action(plancheck.ResourceActionCreate),
					ConfigStateChecks: []statecheck.StateCheck{
						valueOf("state", knownvalue.StringExact("RUNNING")),
						valueOf("current_size", knownvalue.Int64Exact(2)),
						valueOf("time_created", knownvalue.StringRegexp(regexp.MustCompile(`^20\d\d-.*Z$`))),
						valueOf("nodes", knownvalue.ListPartial(map[int]knownvalue.Check{0: knownvalue.ObjectExact(map[string]knownvalue.Check{
							"id":           knownvalue.StringRegexp(regexp.MustCompile(`^ocid1\.instance\.`)),
							"display_name": knownvalue.StringRegexp(regexp.MustCompile(`^inst-.{5}-train$`)),
							"hostname":     knownvalue.StringRegexp(regexp.MustCompile(`^inst-.{5}-train$`)),
							"private_ip":   knownvalue.StringRegexp(regexp.MustCompile(`^10\.0\.`)),
							"fault_domain": knownvalue.StringRegexp(regexp.MustCompile(`^FAULT-DOMAIN-`)),
							"state":        knownvalue.StringExact("RUNNING"),
							"time_created": knownvalue.StringRegexp(regexp.MustCompile(`^20\d\d-.*Z$`)),
						})})),
						valueOf("nodes", knownvalue.ListSizeExact(2)),
					},
				},
				noPlan(hcl),
				resource.TestStep{ResourceName: clusterAddress, ImportState: true, ImportStateVerify: true},
			)
		})
	}
}

// An import alone is enough for an empty plan.
func TestAccGPUCluster_importIsComplete(t *testing.T) {
	region := acctest.StartRegion(t, nil)
	tf := acctest.NewTerraform(t, clusterHCL(region, `freeform_tags = { team = "research" }`, "size = 1"))
	t.Parallel()
	tf.Apply()
	id, _ := tf.State(clusterAddress).Values["id"].(string)
	tf.Must("state", "rm", clusterAddress)
	tf.Must("import", "-no-color", clusterAddress, id)
	tf.ExpectNoChanges()
	tf.Destroy()
	if err := nothingLeft(region); err != nil {
		t.Error(err)
	}
	if status, output := tf.Run("import", "-no-color", clusterAddress, "ocid1.instance.oc1..x"); status == 0 || !strings.Contains(output, "the OCID neither of a cluster network") {
		t.Errorf("import of an instance: exit status %d\n%s", status, output)
	}
}

func TestAccGPUCluster_resize(t *testing.T) {
	region := acctest.StartRegion(t, nil)
	same := statecheck.CompareValue(compare.ValuesSame())
	var steps []resource.TestStep
	for _, size := range []int{2, 5, 1} {
		hcl := clusterHCL(region, fmt.Sprintf("size = %d", size))
		step := resource.TestStep{
			Config: hcl,
			ConfigStateChecks: []statecheck.StateCheck{
				same.AddStateValue(clusterAddress, tfjsonpath.New("id")),
				valueOf("current_size", knownvalue.Int64Exact(int64(size))),
				valueOf("nodes", knownvalue.ListSizeExact(size)),
			},
		}
		if len(steps) > 0 {
			step.ConfigPlanChecks = action(plancheck.ResourceActionUpdate)
		}
		steps = append(steps, step, noPlan(hcl))
	}
	check(t, region, steps...)
}

// Another image, other tags, another name: no host is lost, no 409, and one configuration remains.
func TestAccGPUCluster_relaunch(t *testing.T) {
	region := acctest.StartRegion(t, nil)
	same := statecheck.CompareValue(compare.ValuesSame())
	first := clusterHCL(region, `freeform_tags = { team = "research" }`)
	second := clusterHCL(region, fmt.Sprintf("image_id = %q", acctest.OtherImageID), `freeform_tags = { stage = "prod" }`, `display_name = "renamed"`)
	check(t, region,
		resource.TestStep{Config: first, ConfigStateChecks: []statecheck.StateCheck{
			same.AddStateValue(clusterAddress, tfjsonpath.New("nodes")),
		}},
		resource.TestStep{
			Config: second,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(clusterAddress, plancheck.ResourceActionUpdate),
				plancheck.ExpectUnknownValue(clusterAddress, tfjsonpath.New("instance_configuration_id")),
				plancheck.ExpectKnownValue(clusterAddress, tfjsonpath.New("nodes"), knownvalue.ListSizeExact(2)),
			}},
			Check: func(*terraform.State) error {
				if n := region.Stats().InstanceConfigurations; n != 1 {
					return fmt.Errorf("%d instance configurations", n)
				}
				return nil
			},
		},
		noPlan(second),
	)
}

func TestAccGPUCluster_deletedOutside(t *testing.T) {
	region := acctest.StartRegion(t, nil)
	hcl := clusterHCL(region)
	different := statecheck.CompareValue(compare.ValuesDiffer())
	check(t, region,
		resource.TestStep{Config: hcl, ConfigStateChecks: []statecheck.StateCheck{different.AddStateValue(clusterAddress, tfjsonpath.New("id"))}},
		resource.TestStep{
			PreConfig:         func() { deleteAll(t, region) },
			Config:            hcl,
			ConfigPlanChecks:  action(plancheck.ResourceActionCreate),
			ConfigStateChecks: []statecheck.StateCheck{different.AddStateValue(clusterAddress, tfjsonpath.New("id"))},
		},
		noPlan(hcl),
	)
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

func TestAccGPUCluster_noCapacity(t *testing.T) {
	for name, test := range map[string]struct{ interconnect, text string }{
		"cluster network": {"cluster_network", `(?s)CreateClusterNetworkReservation.*Insufficient\s+capacity\s+for\s+cluster\s+network`},
		"instance pool":   {"none", `(?s)LaunchInstancesInPool.*Out\s+of\s+host\s+capacity`},
	} {
		t.Run(name, func(t *testing.T) {
			region := acctest.StartRegion(t, func(c *ocisim.Config) {
				c.Capacity = map[string]int{acctest.Shape: 1}
				c.Shortage = ocisim.ShortageTerminates
			})
			hcl := clusterHCL(region, fmt.Sprintf("interconnect = %q", test.interconnect))
			check(t, region,
				resource.TestStep{Config: hcl, ExpectError: regexp.MustCompile(test.text)},
				// Nothing is left, so that the next attempt is a plain create.
				resource.TestStep{
					PreConfig: func() {
						if err := nothingLeft(region); err != nil {
							t.Error(err)
						}
						region.SetCapacity(acctest.Shape, 2)
					},
					Config:           hcl,
					ConfigPlanChecks: action(plancheck.ResourceActionCreate),
				},
				noPlan(hcl),
			)
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
	apply := tf.Start("apply", "-auto-approve", "-no-color", "-input=false")
	acctest.Eventually(t, "a cluster network is there", func() bool { return region.Stats().ClusterNetworks == 1 })
	apply.Interrupt()
	status, output := apply.Wait()
	if status == 0 || !strings.Contains(output, "is not complete yet") {
		t.Errorf("exit status %d\n%s", status, output)
	}
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
	apply := tf.Start("apply", "-auto-approve", "-no-color", "-input=false")
	acctest.Eventually(t, "nodes are being launched", func() bool { return region.Stats().Instances > 1 })
	apply.Interrupt()
	if status, output := apply.Wait(); status == 0 || !strings.Contains(output, "The apply was interrupted") {
		t.Errorf("exit status %d\n%s", status, output)
	}
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
	impatient := clusterHCL(region, `timeouts = { create = "1s" }`)
	tf := acctest.NewTerraform(t, impatient)
	t.Parallel()
	if output := tf.Apply(); !strings.Contains(output, "did not become complete within 1s") {
		t.Errorf("no warning in:\n%s", output)
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

func TestAccGPUCluster_badInput(t *testing.T) {
	region := acctest.StartRegion(t, nil)
	for name, test := range map[string]struct{ line, message string }{
		"wrong OCID":        {`subnet_id = "ocid1.vcn.oc1..x"`, `subnet_id.*must\s+be\s+an\s+OCID`},
		"not base64":        {`user_data = "#cloud-config"`, `user_data.*must\s+be\s+base64`},
		"not a key":         {`ssh_authorized_keys = "my key"`, `Line\s+1\s+is\s+not\s+a\s+public\s+key`},
		"too much":          {`user_data = base64encode(join("", [for i in range(1000) : "12345678901234567890123456789012"]))`, `user_data.*OCI\s+takes\s+32000`},
		"no nodes":          {`size = 0`, `size.*at\s+least\s+1`},
		"wrong domain":      {`availability_domain = "AD-1"`, `no\s+availability\s+domain\s+"AD-1"`},
		"misspelt shape":    {`shape = "BM.GPU4-8"`, `is\s+BM\.GPU4\.8\s+meant`},
		"AMD":               {`shape = "BM.GPU.MI300X.8"`, `shape.*AMD\s+GPUs`},
		"no RDMA":           {"shape = \"BM.GPU.A10.4\"\ninterconnect = \"cluster_network\"", `has\s+no\s+RDMA`},
		"unknown shape":     {`shape = "BM.GPU.NEXT.8"`, `interconnect\s+must\s+say`},
		"island of a pool":  {"interconnect = \"none\"\nhpc_island_id = \"ocid1.hpcisland.oc1..x\"", `needs\s+interconnect`},
		"reserved metadata": {`metadata = { user_data = "x" }`, `metadata`},
		"tag without space": {`defined_tags = { key = "x" }`, `namespace\.key`},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, region, resource.TestStep{
				Config: clusterHCL(region, strings.Split(test.line, "\n")...), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)` + test.message),
			})
		})
	}
}

// What can only fail is refused by the plan, before anything is changed.
func TestAccGPUCluster_badAccess(t *testing.T) {
	region := acctest.StartRegion(t, nil)
	for name, test := range map[string]struct{ right, wrong, message string }{
		"fingerprint": {acctest.Fingerprint(), "00:11", `401\s+NotAuthenticated`},
		"key":         {"BEGIN RSA PRIVATE KEY", "BEGIN", `the\s+provider's\s+private_key:`},
		"endpoint":    {region.Endpoint, "http://203.0.113.1", `plain\s+http\s+is\s+allowed\s+to\s+this\s+machine`},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, region, resource.TestStep{
				Config:      strings.Replace(clusterHCL(region), test.right, test.wrong, 1),
				PlanOnly:    true,
				ExpectError: regexp.MustCompile(`(?s)` + test.message),
			})
		})
	}
}
