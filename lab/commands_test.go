// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// TestCommands drives a lab without hosts through the command line.
func TestCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/lab"
	good, bad := t.TempDir()+"/good.yaml", t.TempDir()+"/bad.yaml"
	for path, text := range map[string]string{
		good: "faults:\n  - {operation: ListVcns, effect: throttle}\n", bad: "faults:\n  - {operaton: ListVcns}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		args   string
		status int
		output string // part of it
	}{
		{"status", exitNotRunning, ""},
		{"requests", exitNotRunning, ""},
		{"up --hosts=planets", exitUsage, ""},
		{"up --hosts=none --time-scale=x", exitUsage, ""},
		{"up --hosts=none --time-scale=NaN", exitUsage, ""},
		{"up --hosts=none --time-scale=-1", exitUsage, ""},
		{"up --hosts=none --capacity=BM.GPU99=1", exitError, ""},
		{"scenario " + good, exitNotRunning, ""},
		{"up --hosts=none --scenario=" + bad, exitUsage, ""},
		{"up --hosts=none --scenario=" + good, 0, "eval \"$(ocihpc-lab env --dir " + dir + ")\""},
		{"up --hosts=none", exitRunning, ""},
		{"status", 0, "instances 0, hosts 0"},
		{"status --output=json", 0, `"unknown_requests": {}`},
		{"status --output=yaml", exitUsage, ""},
		{"env", 0, "export OCIHPC_ENDPOINT=http://127.0.0.1:"},
		{"env --official", 0, "export HTTPS_PROXY=http://127.0.0.1:"},
		{"env --official=http", 0, "oci_core.ComputeManagementClient=http://127.0.0.1:"},
		{"env --official=pigeon", exitUsage, ""},
		{"scenario " + good, 0, ""},
		{"scenario " + bad, exitUsage, ""},
		{"scenario /nonexistent", exitUsage, ""},
		{"scenario", exitUsage, ""},
		{"scenario --clear " + good, exitUsage, ""},
		{"scenario --clear", 0, ""},
		{"requests", 0, "OPERATION"},
		{"requests --output=yaml", exitUsage, ""},
		{"status", 0, "faults of the scenario 0, not simulated 0"},
		{"exec bastion -- true", exitError, ""},
		{"clock", 0, "1000 times as fast"},
		{"clock advance 24h", 0, "24h"},
		{"clock advance back", exitUsage, ""},
		{"clock advance -1h", exitUsage, ""},
		{"down --keep", 0, ""},
		{"status", exitNotRunning, ""},
		{"down --keep", exitNotRunning, ""},
		{"up --hosts=linux", exitError, ""},
		{"up", 0, "The region of this state directory goes on."},
		{"clock", 0, "24h"},
		{"down --keep", 0, ""},
		{"up --hosts=none --fresh", 0, "eval"},
		{"clock", 0, "s since the region was made"},
		{"exec bastion", exitUsage, ""},
		{"down now", exitUsage, ""},
		{"down", 0, ""},
		{"down", exitNotRunning, ""},
		{"run --hosts=none -- sh -c exit\t7", 7, ""},
		{"run --hosts=none -- sh -c kill\t-KILL\t$$", 128 + 9, ""},
		{"run --hosts=none -- sh -c [\t-n\t\"$TF_VAR_subnet_id\"\t]", 0, ""},
		{"fly", exitUsage, ""},
	} {
		var args []string
		for _, word := range strings.Fields(strings.ReplaceAll(step.args, "\t", "\x00")) {
			args = append(args, strings.ReplaceAll(word, "\x00", " "))
		}
		var output bytes.Buffer
		command := newCommand()
		command.SetArgs(append([]string{"--dir", dir}, args...))
		command.SetOut(&output)
		err := command.ExecuteContext(t.Context())
		status := 0
		if err != nil {
			status = exitStatus(err)
		}
		if status != step.status || !strings.Contains(output.String(), step.output) {
			t.Errorf("%s: status %d (%v), want %d; output:\n%s", step.args, status, err, step.status, &output)
		}
	}
}

// TestRequestsTable shows what is known of a request in one row.
func TestRequestsTable(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	printRecordHead(&table)
	for _, r := range []ocisim.RequestRecord{
		{Operation: "LaunchInstance", Method: "POST", Path: "/20160918/instances", Status: 429, Code: "TooManyRequests", Fault: "throttle", Milliseconds: 12.34},
		{Method: "GET", Path: "/20160918/volumes", Status: 501, Code: "MethodNotImplemented"},
		{Operation: "GetVcn", Method: "GET", Path: "/20160918/vcns/ocid1.vcn", Fault: "hang"},
		{Operation: "ListVcns", Method: "GET", Path: "/20160918/vcns", Status: 200},
	} {
		if err := printRecord(&table, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []string{
		"12.3  429     LaunchInstance                      TooManyRequests, throttle  POST /20160918/instances\n",
		"501     (unknown)                           MethodNotImplemented       GET /20160918/volumes\n",
		"none    GetVcn                              hang                       GET /20160918/vcns/ocid1.vcn\n",
		"200     ListVcns                            -                          GET /20160918/vcns\n",
	} {
		if !strings.Contains(table.String(), row) {
			t.Errorf("no row %s in\n%s", row, table.String())
		}
	}
}

// TestStatusText shows what a user has to notice: faults, and what is not simulated.
func TestStatusText(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	printStatus(&text, lab.Info{}, lab.Status{
		Requests: 9, Refused: 1, Faults: map[string]int{"GetVcn": 2}, Unknown: map[string]int{"GET /20160918/drgs": 3}, Unprotected: "no nf_tables",
		InstanceList: []lab.InstanceStatus{{Hostname: "gpu-1", State: "RUNNING"}},
	})
	for _, line := range []string{
		"requests 9, refused for their signature 1, faults of the scenario 2, not simulated 3\n", "  fault: GetVcn (2)\n",
		"  not simulated: GET /20160918/drgs (3)\n", "have no effect on hosts: no nf_tables\n", "gpu-1 ",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("no %s in\n%s", line, text.String())
		}
	}
}
