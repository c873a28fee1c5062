// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
)

var update = flag.Bool("update", false, "write the table of checks into the guide anew")

const guide = "../templates/guides/health-checks.md"

// The guide shows what `check --list` shows.
func TestGuideListsChecks(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| Check | Looks at | Warns when | Fails when | What to do |\n|---|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "*", `\*`)
	for _, k := range job.CheckKinds {
		_, _ = fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", k.Name, cell.Replace(k.Looks), cell.Replace(k.Warns), cell.Replace(k.Fails), cell.Replace(k.Advice))
	}
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	const heading = "## All checks\n\n"
	before, after, found := strings.Cut(string(text), heading)
	if !found {
		t.Fatalf("%s has no heading %q", guide, heading)
	}
	if *update {
		if err := os.WriteFile(guide, []byte(before+heading+table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if after != table.String() {
		t.Errorf("%s is not what the checks are: go test ./runner -run GuideListsChecks -update", guide)
	}
}

// checkCommand runs `check` on this machine.
func checkCommand(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs(append([]string{"check"}, arguments...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestCheckCommand(t *testing.T) {
	t.Parallel()
	text, err := checkCommand(t, "--list")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range job.CheckKinds {
		if !strings.Contains(text, k.Name+" ") || !strings.Contains(text, "→ "+k.Advice) {
			t.Errorf("%s is not in the list", k.Name)
		}
	}
	var kinds []job.CheckKind
	text, err = checkCommand(t, "--list", "--output", "json")
	if err != nil || json.Unmarshal([]byte(text), &kinds) != nil || !slices.Equal(kinds, job.CheckKinds) {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := checkCommand(t, "--skip", "gpu_mood"); err == nil || !strings.Contains(err.Error(), "gpu_mood") || statusOf(err) != 64 {
		t.Error(err)
	}
	if _, err := checkCommand(t, "--list", "--output", "junit"); err == nil {
		t.Error("a list as JUnit")
	}

	// This machine has no file system on that path.
	flags := []string{"--mount", "/no/such/folder", "--skip", "cloud_init,gpu_count"}
	text, err = checkCommand(t, append(flags, "--output", "json")...)
	var report node.Report
	if statusOf(err) != 1 || job.DecodeStrict([]byte(text), &report) != nil || report.At.IsZero() {
		t.Fatalf("%v: %s", err, text)
	}
	outcomes := map[string]job.Outcome{}
	for _, c := range report.Checks {
		outcomes[c.Name] = c.Outcome
	}
	if outcomes["mounts"] != job.Fail || outcomes["free_space"] == "" || outcomes["clock"] == "" || outcomes["cloud_init"] != "" {
		t.Errorf("%v", outcomes)
	}
	text, err = checkCommand(t, append(flags, "--output", "junit")...)
	var suites struct {
		Failures int `xml:"failures,attr"`
	}
	if statusOf(err) != 1 || xml.Unmarshal([]byte(text), &suites) != nil || suites.Failures == 0 {
		t.Errorf("%v: %s", err, text)
	}
	if text, err = checkCommand(t, flags...); statusOf(err) != 1 || !strings.Contains(text, "fail: nothing is mounted on /no/such/folder") {
		t.Errorf("%v: %s", err, text)
	}
}

// Nodes connect to each other before they are measured; a node that nobody can connect to fails.
func TestNodesConnect(t *testing.T) {
	t.Parallel()
	checkOf := func(result job.Result, name string) []job.Check {
		var all []job.Check
		for _, n := range result.Nodes {
			for _, c := range n.Checks {
				if c.Name == name {
					all = append(all, c)
				}
			}
		}
		return all
	}
	c := newCluster(t, 3)
	c.job.Benchmark = nil
	result, status := c.run()
	ports := checkOf(result, "mpi_ports")
	if status != 0 || len(ports) != 3 || ports[0].Outcome != job.Pass || ports[0].Message != "connections from 2 other nodes" {
		t.Errorf("status %d, %+v", status, result)
	}
	if clocks := checkOf(result, "uniform_clock"); len(clocks) != 2 || clocks[0].Outcome != job.Pass {
		t.Errorf("%+v", clocks)
	}
	if kernels := checkOf(result, "uniform_kernel"); len(kernels) != 3 || kernels[2].Outcome != job.Pass {
		t.Errorf("%+v", kernels)
	}

	c = newCluster(t, 3, "--net") // packets to the listeners end at this machine's loopback
	c.job.Benchmark, c.job.Checks.Skip = nil, []string{"uniform_kernel"}
	result, status = c.run()
	ports = checkOf(result, "mpi_ports")
	if status != 1 || result.Failure == nil || result.Failure.Kind != "check_failed" || !strings.Contains(result.Failure.Message, "no connection from") ||
		!strings.Contains(result.Failure.Advice, "security list") || len(ports) != 3 || ports[1].Outcome != job.Fail || !strings.HasPrefix(ports[1].Message, "no connection from gpu-1") {
		t.Errorf("status %d, %+v", status, result)
	}
	if kernels := checkOf(result, "uniform_kernel"); len(kernels) != 0 {
		t.Errorf("skipped, and yet made: %+v", kernels)
	}
}
