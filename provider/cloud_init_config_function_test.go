// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"
)

var functionVersions = []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_8_0)}

func TestCloudInitConfigFunction(t *testing.T) {
	t.Parallel()
	const described = `
		shape    = "BM.GPU4.8"
		users    = { alice = { groups = ["docker"], sudo = true, uid = 2001 } }
		nvme     = { layout = "raid0", container_storage = true }
		limits   = { memlock = "unlimited" }
		packages = ["git", "tmux"]
		parts    = [{ content = "runcmd: [date]" }]
	`
	resource.UnitTest(t, resource.TestCase{
		TerraformVersionChecks:   functionVersions,
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{{
			Config: cloudInitNode(described) + `
				resource "terraform_data" "function" {
					input = provider::ocihpc::cloud_init_config({` + described + `}).base64
				}`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.CompareValuePairs(cloudInitDataSource, tfjsonpath.New("base64"),
					"terraform_data.function", tfjsonpath.New("output"), compare.ValuesSame()),
				statecheck.CompareValuePairs(cloudInitDataSource, tfjsonpath.New("base64"),
					cloudInitResource, tfjsonpath.New("base64"), compare.ValuesSame()),
			},
		}},
	})
}

func TestCloudInitConfigFunctionExample(t *testing.T) {
	t.Parallel()
	resource.UnitTest(t, resource.TestCase{
		TerraformVersionChecks:   functionVersions,
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{{
			Config: example(t, "../examples/functions/cloud_init_config/function.tf"),
			ConfigStateChecks: []statecheck.StateCheck{ // gzip's first bytes
				statecheck.ExpectKnownOutputValue("user_data", knownvalue.StringRegexp(regexp.MustCompile("^H4sI"))),
			},
		}},
	})
}

func TestCloudInitConfigFunctionBadInput(t *testing.T) {
	t.Parallel()
	for argument, message := range map[string]string{
		`{ timezone = "UTC" }`:                                              "shape is required",
		`{ shape = "generic", timezon = "UTC" }`:                            "the argument has no argument timezon; did you mean timezone?",
		`{ shape = "generic", nvme = { mount = "/x" } }`:                    "nvme has no argument mount",
		`{ shape = "generic", packages = "git" }`:                           "packages must be a list",
		`{ shape = "generic", users = { a = { sudo = "x" } } }`:             `users["a"].sudo must be true or false`,
		`{ shape = "BM.GPU3.8", nvme = {} }`:                                "BM.GPU3.8 has no local NVMe device.",
		`"BM.GPU4.8"`:                                                       "the argument must be an object",
		`{ shape = "generic", parts = [{ content = "a: b: c" }] }`:          "Invalid YAML: line 1, column 5: mapping values are not allowed in this context.",
		`{ shape = "generic", parts = [{ content = "a: [", kind = "x" }] }`: "parts[0] has no argument kind",
	} {
		t.Run(argument, func(t *testing.T) {
			t.Parallel()
			resource.UnitTest(t, resource.TestCase{
				TerraformVersionChecks:   functionVersions,
				ProtoV6ProviderFactories: factories,
				Steps: []resource.TestStep{{
					Config:      "output \"x\" {\n  value = provider::ocihpc::cloud_init_config(" + argument + ").sha256\n}\n",
					PlanOnly:    true,
					ExpectError: words(message),
				}},
			})
		})
	}
}
