// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func reportOf(t *testing.T, stdin string, arguments ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetIn(strings.NewReader(stdin))
	root.SetArgs(append([]string{"report"}, arguments...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestReport(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	text, err := json.Marshal(job.Result{Version: job.Version, Outcome: job.Fail, Failure: &job.Failure{Kind: "unreachable", Message: "gpu-2 does not answer"}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(directory, "result.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"table": "gpu-2 does not answer", "html": "<!DOCTYPE html>", "markdown": "## ✕ failed", "junit": "<testsuites", "prometheus": `ocihpc_outcome{outcome="fail"} 1`,
		"csv": "scope,nodes", "json": `"outcome": "fail"`,
	} {
		if out, err := reportOf(t, "", file, "--output", name); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	for from, stdin := range map[string]string{directory: "", "-": string(text)} {
		if out, err := reportOf(t, stdin, from); err != nil || !strings.Contains(out, "gpu-2 does not answer") {
			t.Errorf("%s: %v\n%s", from, err, out)
		}
	}
	all := filepath.Join(directory, "all")
	if out, err := reportOf(t, "", file, "--dir", all); err != nil || !strings.Contains(out, "report.html, summary.md") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(all, "report.html")); err != nil {
		t.Error(err)
	}
}

func TestReportOfNoResult(t *testing.T) {
	t.Parallel()
	for want, arguments := range map[string][]string{
		"is no result of version":      {"-"},
		"no such file":                 {"/nowhere/result.json"},
		"it is one of table, html":     {"-", "--output", "xml"},
		"leave out --output":           {"-", "--output", "csv", "--dir", "x"},
		"accepts 1 arg(s), received 0": {},
	} {
		if out, err := reportOf(t, "{}", arguments...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v\n%s", arguments, err, out)
		}
	}
}
