// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommands drives a lab without hosts through the command line.
func TestCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/lab"
	for _, step := range []struct {
		args   string
		status int
		output string // part of it
	}{
		{"status", exitNotRunning, ""},
		{"up --hosts=planets", exitError, ""},
		{"up --hosts=none --time-scale=x", exitUsage, ""},
		{"up --hosts=none --capacity=BM.GPU99=1", exitError, ""},
		{"up --hosts=none", 0, "eval \"$(ocihpc-lab env --dir " + dir + ")\""},
		{"up --hosts=none", exitRunning, ""},
		{"status", 0, "instances 0, hosts 0"},
		{"status --output=json", 0, `"unknown_requests": {}`},
		{"status --output=yaml", exitUsage, ""},
		{"env", 0, "export OCIHPC_ENDPOINT=http://127.0.0.1:"},
		{"exec bastion -- true", exitError, ""},
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
