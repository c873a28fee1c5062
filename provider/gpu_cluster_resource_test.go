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
	impatient := clusterHCL(region, `timeouts = { create = "1s" }`)
	tf := acctest.NewTerraform(t, impatient, "TF_LOG_PROVIDER=INFO")
	t.Parallel()
	output := tf.Must("apply", "-auto-approve", "-input=false")
	golden(t, "timeout_create", output)
	if !strings.Contains(output, "GPU cluster train is PROVISIONING") {
		t.Errorf("no progress in the log:\n%s", output)
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
