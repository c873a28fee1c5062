// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

const (
	cloudInitResource   = "ocihpc_cloud_init_config.node"
	cloudInitDataSource = "data.ocihpc_cloud_init_config.node"
)

// cloudInitNode has the same attributes as a resource and as a data source.
func cloudInitNode(attributes string) string {
	return `resource "ocihpc_cloud_init_config" "node" {` + "\n" + attributes + "\n}\n" +
		`data "ocihpc_cloud_init_config" "node" {` + "\n" + attributes + "\n}\n"
}

func example(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tutorialNode is what Oracle Japan's tutorials set up on BM.GPU4.8, linear volume and all.
const tutorialNode = `
	shape    = "BM.GPU4.8"
	timezone = "Asia/Tokyo"
	firewall = { enabled = false }
	nvme     = { layout = "lvm" }
`

func TestCloudInitConfigGivesTheGoldenText(t *testing.T) {
	t.Parallel()
	golden := example(t, "../internal/cloudinit/testdata/a100_node.golden.yaml")
	encoded, sum := base64.StdEncoding.EncodeToString([]byte(golden)), sha256.Sum256([]byte(golden))
	var checks []statecheck.StateCheck
	for _, address := range []string{cloudInitResource, cloudInitDataSource} {
		for name, want := range map[string]knownvalue.Check{
			"rendered":   knownvalue.StringExact(golden),
			"base64":     knownvalue.StringExact(encoded),
			"sha256":     knownvalue.StringExact(hex.EncodeToString(sum[:])),
			"size_bytes": knownvalue.Int64Exact(int64(len(encoded))),
		} {
			checks = append(checks, statecheck.ExpectKnownValue(address, tfjsonpath.New(name), want))
		}
	}
	for _, name := range []string{"gzip_base64", "gzip_size_bytes"} {
		checks = append(checks, statecheck.CompareValuePairs(
			cloudInitResource, tfjsonpath.New(name), cloudInitDataSource, tfjsonpath.New(name), compare.ValuesSame()))
	}
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{
			{Config: cloudInitNode(tutorialNode), ConfigStateChecks: checks},
			{Config: cloudInitNode(tutorialNode), PlanOnly: true},
		},
	})
}

func TestCloudInitConfigPlanIsReadable(t *testing.T) {
	t.Parallel()
	hash := regexp.MustCompile(`^[0-9a-f]{64}$`)
	changed := statecheck.CompareValue(compare.ValuesDiffer())
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{
			{
				Config: cloudInitNode(`shape = "BM.GPU4.8"`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectKnownValue(cloudInitResource, tfjsonpath.New("sha256"), knownvalue.StringRegexp(hash)),
					plancheck.ExpectUnknownValue(cloudInitResource, tfjsonpath.New("base64")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{changed.AddStateValue(cloudInitResource, tfjsonpath.New("sha256"))},
			},
			{ // a change is a new sha256, in place
				Config: cloudInitNode(`shape    = "BM.GPU4.8"` + "\n" + `timezone = "Asia/Tokyo"`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					readablePlan{cloudInitResource, []string{"base64", "gzip_base64", "gzip_size_bytes", "rendered", "sha256", "size_bytes", "timezone"}},
					plancheck.ExpectResourceAction(cloudInitResource, plancheck.ResourceActionUpdate),
					plancheck.ExpectKnownValue(cloudInitResource, tfjsonpath.New("sha256"), knownvalue.StringRegexp(hash)),
					plancheck.ExpectUnknownValue(cloudInitResource, tfjsonpath.New("rendered")),
					plancheck.ExpectUnknownValue(cloudInitResource, tfjsonpath.New("base64")),
					plancheck.ExpectUnknownValue(cloudInitResource, tfjsonpath.New("gzip_base64")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{changed.AddStateValue(cloudInitResource, tfjsonpath.New("sha256"))},
			},
			{ // other words for the same leave what depends on it alone
				Config: cloudInitNode(`shape = "BM.GPU4.8"` + "\n" + `timezone = "Asia/Tokyo"` + "\n" + `grow_root = true`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectKnownValue(cloudInitResource, tfjsonpath.New("base64"), knownvalue.NotNull()),
				}},
			},
			{
				Config:   cloudInitNode(`shape = "BM.GPU4.8"` + "\n" + `timezone = "Asia/Tokyo"` + "\n" + `grow_root = true`),
				PlanOnly: true,
			},
		},
	})
}

// readablePlan wants changes of these attributes alone, and none of them printed with a long text.
type readablePlan struct {
	address string
	changes []string
}

func (r readablePlan) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, planned := range req.Plan.ResourceChanges {
		if planned.Address != r.address {
			continue
		}
		before, _ := planned.Change.Before.(map[string]any)
		after, _ := planned.Change.After.(map[string]any)
		sensitive, _ := planned.Change.BeforeSensitive.(map[string]any)
		var changes []string
		for name, value := range before {
			if reflect.DeepEqual(value, after[name]) {
				continue
			}
			changes = append(changes, name)
			if text, _ := value.(string); len(text) > 100 && sensitive[name] != true {
				resp.Error = fmt.Errorf("the plan shows %d bytes of %s", len(text), name)
			}
		}
		if slices.Sort(changes); !slices.Equal(changes, r.changes) {
			resp.Error = errors.Join(resp.Error, fmt.Errorf("the plan changes %q, want %q", changes, r.changes))
		}
		return
	}
	resp.Error = fmt.Errorf("the plan does not change %s", r.address)
}

// TestCloudInitConfigValuesKnownLater has every kind of attribute depend on what only an apply gives.
func TestCloudInitConfigValuesKnownLater(t *testing.T) {
	t.Parallel()
	later := `
		resource "terraform_data" "later" { input = "later" }
		locals { later = terraform_data.later.output }
	` + cloudInitNode(`
		shape       = local.later == "later" ? "BM.GPU4.8" : "generic"
		timezone    = local.later == "later" ? "Asia/Tokyo" : "UTC"
		firewall    = local.later == "later" ? { enabled = false } : null
		nvme        = { label = local.later }
		packages    = ["git", local.later]
		write_files = {
			"/etc/known" = { content = "known" }
			"/etc/later" = { content = local.later, permissions = local.later == "later" ? "0600" : "0644" }
		}
		runcmd = ["echo ${local.later}", "true"]
	`)
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{
			{
				Config: later,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectUnknownValue(cloudInitResource, tfjsonpath.New("sha256")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(cloudInitResource, tfjsonpath.New("rendered"),
						knownvalue.StringRegexp(regexp.MustCompile(`(?s)"later".*path: "/etc/later".*nvme_label=later.*'echo later'`))),
					statecheck.CompareValuePairs(cloudInitResource, tfjsonpath.New("sha256"),
						cloudInitDataSource, tfjsonpath.New("sha256"), compare.ValuesSame()),
				},
			},
			{Config: later, PlanOnly: true},
		},
	})
}

func TestCloudInitConfigExamples(t *testing.T) {
	t.Parallel()
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{{
			Config: example(t, "../examples/resources/ocihpc_cloud_init_config/resource.tf") +
				example(t, "../examples/data-sources/ocihpc_cloud_init_config/data-source.tf"),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(cloudInitResource, tfjsonpath.New("rendered"),
					knownvalue.StringRegexp(regexp.MustCompile(`nvme_mount=/scratch\n`))),
				statecheck.ExpectKnownValue(cloudInitDataSource, tfjsonpath.New("rendered"),
					knownvalue.StringRegexp(regexp.MustCompile(`- "tmux"`))),
			},
		}},
	})
}

// words make a pattern for a message that Terraform wraps and frames as it likes.
func words(message string) *regexp.Regexp {
	var parts []string
	for _, word := range strings.Fields(message) {
		parts = append(parts, regexp.QuoteMeta(word))
	}
	return regexp.MustCompile(strings.Join(parts, `[\s│]+`))
}

func TestCloudInitConfigBadInput(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		attributes string
		message    string // the attribute, as Terraform shows its line, and what is wrong
	}{
		"unknown shape":        {`shape = "BM.GPU.4.8"`, `Invalid shape`},
		"nearest shape":        {`shape = "BM.GPU.H100"`, `Did you mean "BM.GPU.H100.8"? For any other shape write "generic".`},
		"no shape":             {`timezone = "UTC"`, `The argument "shape" is required`},
		"time zone":            {`shape = "generic"` + "\n" + `timezone = "JST-9"`, `Invalid timezone`},
		"local time":           {`shape = "generic"` + "\n" + `timezone = "Local"`, `"Local" is not a time zone in the IANA form`},
		"path as time zone":    {`shape = "generic"` + "\n" + `timezone = "../etc/passwd"`, `Invalid timezone`},
		"shape without NVMe":   {`shape = "BM.GPU3.8"` + "\n" + `nvme = {}`, `BM.GPU3.8 has no local NVMe device. Leave nvme out.`},
		"layout":               {`shape = "generic"` + "\n" + `nvme = { layout = "raid5" }`, `Invalid nvme.layout`},
		"relative mount point": {`shape = "generic"` + "\n" + `nvme = { mount_point = "mnt" }`, `Invalid nvme.mount_point`},
		"system mount point":   {`shape = "generic"` + "\n" + `nvme = { mount_point = "/usr/local" }`, `"/usr/local" belongs to the system.`},
		"mount point in shell": {`shape = "generic"` + "\n" + `nvme = { mount_point = "/mnt/$(reboot)" }`, `Invalid nvme.mount_point`},
		"label":                {`shape = "generic"` + "\n" + `nvme = { label = "far too long for XFS" }`, `Invalid nvme.label`},
		"mount options":        {`shape = "generic"` + "\n" + `nvme = { mount_options = "a b" }`, `Invalid nvme.mount_options`},
		"package":              {`shape = "generic"` + "\n" + `packages = ["git", "--nogpgcheck"]`, `Invalid packages[1]`},
		"package twice":        {`shape = "generic"` + "\n" + `packages = ["git", "git"]`, `"git" is there twice.`},
		"null command":         {`shape = "generic"` + "\n" + `runcmd = ["true", null]`, `Invalid runcmd[1]`},
		"relative file":        {`shape = "generic"` + "\n" + `write_files = { "etc/x" = { content = "" } }`, `Invalid write_files["etc/x"]`},
		"file above":           {`shape = "generic"` + "\n" + `write_files = { "/etc/../x" = { content = "" } }`, `is not an absolute path`},
		"permissions":          {`shape = "generic"` + "\n" + `write_files = { "/etc/x" = { content = "", permissions = "u+x" } }`, `Invalid write_files["/etc/x"].permissions`},
		"own file": {`shape = "generic"` + "\n" + `write_files = { "/var/lib/ocihpc/status.ndjson" = { content = "" } }`,
			`is written by the set-up itself.`},
		"fstab twice": {`shape = "generic"` + "\n" + `nvme = {}` + "\n" + `write_files = { "/etc/fstab" = { content = "" } }`,
			`is edited by the set-up of nvme.`},
		"hidden file": {`shape = "generic"` + "\n" + `nvme = {}` + "\n" + `write_files = { "/mnt/localdisk/x" = { content = "" } }`,
			`would be hidden by the file system that is mounted at /mnt/localdisk later.`},
		"too large": {`shape = "generic"` + "\n" + `write_files = { "/etc/large" = { content = join("", [for i in range(1000) : sha512(i)]) } }`,
			`Biggest parts: write_files["/etc/large"] (128010 bytes)`},
	}
	for name, c := range cases {
		for _, kind := range []string{"data", "resource"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				resource.UnitTest(t, resource.TestCase{
					ProtoV6ProviderFactories: factories,
					Steps: []resource.TestStep{{
						Config:      kind + ` "ocihpc_cloud_init_config" "node" {` + "\n" + c.attributes + "\n}\n",
						PlanOnly:    true,
						ExpectError: words(c.message),
					}},
				})
			})
		}
	}
}

func TestCloudInitConfigFitsOnlyCompressed(t *testing.T) {
	t.Parallel()
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{{
			Config: cloudInitNode(`
				shape       = "generic"
				write_files = { "/etc/large" = { content = join("", [for i in range(1000) : "one line that is repeated a thousand times\\n"]) } }
			`),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(cloudInitResource, tfjsonpath.New("size_bytes"), between(32_001, 1<<40)),
				statecheck.ExpectKnownValue(cloudInitResource, tfjsonpath.New("gzip_size_bytes"), between(1, 32_000)),
			},
		}},
	})
}

// between checks a number's range.
func between(least, most int64) knownvalue.Check {
	return knownvalue.Int64Func(func(v int64) error {
		if v < least || v > most {
			return fmt.Errorf("%d is not between %d and %d", v, least, most)
		}
		return nil
	})
}

// TestCloudInitConfigReformattedPart: a part that says the same in another form is no change.
func TestCloudInitConfigReformattedPart(t *testing.T) {
	t.Parallel()
	with := func(content string) string {
		return cloudInitNode("shape = \"generic\"\nparts = [{ content = " + content + " }, { content = \"#!/bin/sh\\n\", content_type = \"text/x-shellscript\" }]")
	}
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{
			{Config: with(`"packages: [git]\nntp: {enabled: true}\n"`)},
			{Config: with(`"# the same\nntp:\n  enabled: yes\npackages:\n- 'git'\n"`), PlanOnly: true},
			{
				Config: with(`"packages: [git, tmux]\n"`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(cloudInitResource, plancheck.ResourceActionUpdate),
				}},
			},
		},
	})
}
