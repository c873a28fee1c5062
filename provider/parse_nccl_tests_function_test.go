// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

// ncclLog is the path of a real log of nccl-tests.
func ncclLog(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs("../internal/nccl/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestParseNCCLTestsFunctionExample(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(example(t, "../examples/functions/parse_nccl_tests/function.tf"), "all_reduce.log", ncclLog(t, "v2.19.6.all_reduce"))
	resource.UnitTest(t, resource.TestCase{
		TerraformVersionChecks:   functionVersions,
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{{
			Config: text,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownOutputValue("busbw_gb_per_s", knownvalue.MapPartial(map[string]knownvalue.Check{"134217728": knownvalue.Float64Exact(286.72)})),
				statecheck.ExpectKnownOutputValue("why_not", knownvalue.StringExact("nothing is wrong with the run")),
			},
		}},
	})
}

func TestParseNCCLTestsFunction(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		log, status, value string
		want               knownvalue.Check
	}{
		"peak":            {"v2.19.6.all_reduce", ", 0", "local.x.reports[0].peak_busbw_gb_per_s", knownvalue.Float64Exact(286.72)},
		"iterations":      {"v2.19.6.periter", "", "local.x.reports[0].rows[1].out_of_place.iterations.cv_percent", knownvalue.Float64Exact(8.43)},
		"not checked":     {"v2.19.6.nocheck", ", 0", "local.x.reports[0].rows[0].in_place.wrong == null", knownvalue.Bool(true)},
		"ranks":           {"v2.19.6.all_reduce", ", 0", "local.x.reports[0].ranks[1].name", knownvalue.StringExact("NVIDIA H200")},
		"NCCL's network":  {"v2.19.6.info", ", 0", "local.x.nccl.network", knownvalue.StringExact("Socket")},
		"failure":         {"mpirun4.killed", ", 137", "local.x.failure.kind", knownvalue.StringExact("killed")},
		"two runs":        {"mpirun4.independent", ", 0", "length(local.x.reports)", knownvalue.Int64Exact(2)},
		"JSON":            {"v2.19.6.report.json", ", 0", "local.x.reports[0].rows[2].in_place.busbw_gb_per_s", knownvalue.Float64Exact(269.894343)},
		"no secret of it": {"v2.19.6.report.json", ", 0", `strcontains(jsonencode(local.x), "do-not-leak")`, knownvalue.Bool(false)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource.UnitTest(t, resource.TestCase{
				TerraformVersionChecks:   functionVersions,
				ProtoV6ProviderFactories: factories,
				Steps: []resource.TestStep{{
					Config: `locals { x = provider::ocihpc::parse_nccl_tests(file("` + ncclLog(t, test.log) + `")` + test.status + `) }
output "value" { value = ` + test.value + ` }`,
					ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownOutputValue("value", test.want)},
				}},
			})
		})
	}
}

func TestParseNCCLTestsFunctionTakesOneStatus(t *testing.T) {
	t.Parallel()
	resource.UnitTest(t, resource.TestCase{
		TerraformVersionChecks:   functionVersions,
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{{
			Config:      `output "value" { value = provider::ocihpc::parse_nccl_tests("", 0, 1) }`,
			ExpectError: regexp.MustCompile(`A run has one exit\s+status`),
		}},
	})
}
