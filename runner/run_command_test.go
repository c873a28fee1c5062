// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote/sshdtest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/report"
)

func TestRunMeasuresAllNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	result, status := c.run()
	if status != 0 || result.Outcome != job.Pass {
		t.Fatalf("status %d, %s: %+v\n%s", status, result.Outcome, result.Failure, c.read(c.dir.RunLog("all_nodes")))
	}
	all := result.Overall()
	if all == nil || len(all.Report.Ranks) != 6 || len(all.Report.Hosts()) != 3 || len(all.Report.Rows) != 4 || *all.Report.Wrong() != 0 {
		t.Fatalf("the run over all nodes: %+v", all)
	}
	for _, n := range c.job.Nodes {
		alone := result.Alone(n.Name)
		if alone == nil || alone.Outcome != job.Pass || len(alone.Report.Ranks) != gpusPerNode {
			t.Fatalf("%s alone: %+v", n.Name, alone)
		}
	}
	if all.Environment["NCCL_DEBUG"] != "WARN" || !strings.Contains(strings.Join(all.Command, " "), "-x NCCL_DEBUG") {
		t.Errorf("environment %v, command %v", all.Environment, all.Command)
	}
	for _, m := range result.Runs {
		log := c.read(filepath.Join(string(c.dir), m.LogFile))
		if sum := sha256.Sum256([]byte(log)); hex.EncodeToString(sum[:]) != m.LogSHA256 || !strings.Contains(log, "Avg bus bandwidth") {
			t.Errorf("log %s does not have the digest %s:\n%s", m.LogFile, m.LogSHA256, log)
		}
	}
	if c.read(c.dir.Exit()) != "0\n" {
		t.Errorf("exit: %q", c.read(c.dir.Exit()))
	}
	if _, err := os.Stat(c.dir.Key()); !os.IsNotExist(err) {
		t.Errorf("the key is still there: %v", err)
	}
	c.checkEvents(result)
	c.nothingLeft()
}

// checkEvents looks at the stream of a job that came to its end.
func (c *cluster) checkEvents(result job.Result) {
	c.t.Helper()
	events := c.attach()
	last := events[len(events)-1]
	if events[0].Type != job.EventStarted || last.Type != job.EventResult || last.Result.Key != result.Key {
		c.t.Errorf("the stream starts with %s and ends with %s", events[0].Type, last.Type)
	}
	c.checkSchema()
	rows := 0
	for _, e := range events {
		if e.Type == job.EventOutput && e.Phase == job.PhaseAllNodes {
			if rows++; e.Done != rows || e.Total != 4 {
				c.t.Errorf("row %d says %d of %d", rows, e.Done, e.Total)
			}
		}
	}
	if rows != 4 {
		c.t.Errorf("%d rows were told while they appeared", rows)
	}
	stream := c.read(c.dir.Events())
	first := strings.IndexByte(stream, '\n') + 1
	if rest, _ := c.call("attach", string(c.dir), "--from", "0"); rest != stream {
		c.t.Error("attach changes the stream")
	}
	if rest, _ := c.call("attach", string(c.dir), "--from", strconv.Itoa(first)); rest != stream[first:] {
		c.t.Error("attach --from does not go on where it was told to")
	}
	var table strings.Builder
	if err := report.Table(&table, result); err != nil {
		c.t.Fatal(err)
	}
	if text, _ := c.call("attach", string(c.dir), "--output", "text"); text != table.String() {
		c.t.Errorf("attach shows\n%s\nwant\n%s", text, table.String())
	}
}

// checkSchema holds every event, and so the result, to the schema.
func (c *cluster) checkSchema() {
	c.t.Helper()
	schema := eventSchema(c.t)
	for line := range strings.Lines(c.read(c.dir.Events())) {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			c.t.Errorf("event %s: %v", line, err)
		}
	}
}

func TestRunOnOneNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	result, status := c.run()
	if status != 0 || len(result.Runs) != 1 || result.Overall().Outcome != job.Pass {
		t.Fatalf("status %d: %+v", status, result)
	}
	for _, e := range c.attach() {
		if e.Type == job.EventPhaseFinished && e.Phase == job.PhaseAllNodes && e.Message != "skipped: there is only one node" {
			t.Errorf("the phase over all nodes: %q", e.Message)
		}
	}
}

func TestRunWithoutBenchmark(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.job.Benchmark = nil
	result, status := c.run()
	if status != 0 || result.Outcome != job.Pass || len(result.Runs) != 0 || result.Nodes[1].Facts.Hostname != "gpu-2" {
		t.Fatalf("status %d: %+v", status, result)
	}
}

func TestRunTooSlow(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	impossible := 1e9
	c.job.Benchmark.ExpectPerNode.MinBusbwGBPerS = &impossible
	result, status := c.run()
	if status != 1 || result.Outcome != job.Fail || result.Failure.Kind != "too_slow" || result.Failure.Node != "gpu-1" {
		t.Fatalf("status %d, %+v", status, result.Failure)
	}
}

// A node that cannot be used keeps the measurement from being made, but not the others from being looked at.
func TestRunWithANodeThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spoil func(c *cluster)
		kind  string
	}{
		"host key changed": {func(c *cluster) {
			c.job.Nodes[1].HostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGRlZmluaXRlbHkgbm90IHRoZSBob3N0J3Mga2V5ISEh"
		}, "host_key_changed"},
		"login refused": {func(c *cluster) {
			c.write(c.hosts[0].AuthorizedKeys(), "", 0o600)
		}, "login_refused"},
		"no sshd": {func(c *cluster) { c.hosts[0].Stop() }, "unreachable"},
		"runner cannot be installed": {func(c *cluster) {
			c.write(filepath.Join(c.hosts[0].Home, ".ocihpc"), "a file in the way", 0o600)
		}, "runner_not_installed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 3)
			test.spoil(c)
			result, status := c.run("--connect-timeout", "10s")
			if status != 2 || result.Failure == nil || result.Failure.Kind != test.kind || result.Failure.Node != "gpu-2" || len(result.Runs) != 0 {
				t.Fatalf("status %d, %+v", status, result.Failure)
			}
			for i, n := range result.Nodes {
				if (n.Facts == nil) != (i == 1) {
					t.Errorf("facts of %s: %+v", n.Name, n.Facts)
				}
			}
			c.nothingLeft()
		})
	}
}

// A connection that breaks ends the run over all nodes, and everything on the far side of it.
func TestRunWithALostConnection(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.hangTogether()
	proxy := sshdtest.NewProxy(t, c.hosts[0])
	c.job.Nodes[1].Address = proxy.Address
	c.start()
	c.untilTogether()
	proxy.Cut()
	events := c.attach()
	result := events[len(events)-1].Result
	if result.Outcome != job.CouldNotRun || result.Failure.Kind != nccl.KindConnectionLost || result.Failure.Node != "gpu-2" {
		t.Errorf("%s: %+v\n%s", result.Outcome, result.Failure, c.read(c.dir.RunLog("all_nodes")))
	}
	c.nothingLeft()
}

func eventSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	id := ""
	for _, schema := range [][]byte{job.ResultSchema, job.EventSchema} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		id = doc.(map[string]any)["$id"].(string)
		if err := compiler.AddResource(id, doc); err != nil {
			t.Fatal(err)
		}
	}
	compiled, err := compiler.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}
