// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote/sshdtest"
)

// newSetupCluster makes a cluster with a set-up of its own. A node's $NODE is a directory that is its alone.
func newSetupCluster(t *testing.T, nodes int, steps ...job.Step) *cluster {
	t.Helper()
	c := newCluster(t, nodes)
	c.job.Benchmark = nil
	c.job.Setup = &job.Setup{Steps: steps, ReconnectSeconds: 30}
	return c
}

// shell is a step that runs a script on a node until there is a file of this name in the node's own directory.
func (c *cluster) shell(name, script string) job.Step {
	own := fmt.Sprintf(`d=%s/nodes/$(uname -n); mkdir -p $d; cd $d; `, c.home)
	return job.Step{Name: name, Command: &job.CommandStep{
		Argv: []string{"sh", "-ec", own + script + "; touch " + name}, Unless: []string{"sh", "-c", own + "test -e " + name},
	}}
}

func (c *cluster) on(node int, name string) string {
	host, err := os.Hostname()
	if err != nil {
		c.t.Fatal(err)
	}
	if node > 0 {
		host = c.job.Nodes[node].Name
	}
	return filepath.Join(c.home, "nodes", host, name)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func ends(n job.NodeResult) string {
	var words []string
	for _, s := range n.Setup.Steps {
		words = append(words, string(s.Outcome))
	}
	return strings.Join(words, " ")
}

func TestSetUpNodes(t *testing.T) {
	t.Parallel()
	c := newSetupCluster(t, 3)
	c.job.Setup.Steps = []job.Step{c.shell("one", "true"), c.shell("two", "true")}
	c.job.Setup.DryRun = true
	for _, want := range []struct {
		dry  bool
		ends string
	}{{true, "would_change would_change"}, {false, "changed changed"}, {false, "unchanged unchanged"}} {
		c.job.Setup.DryRun = want.dry
		c.giveKey()
		result, status := c.run()
		if status != 0 || result.Outcome != job.Pass {
			t.Fatalf("status %d: %+v", status, result.Failure)
		}
		for _, n := range result.Nodes {
			if got := ends(n); got != want.ends || n.Facts != nil {
				t.Errorf("%s: %s, facts %v", n.Name, got, n.Facts)
			}
		}
		steps := 0
		for _, e := range c.attach() {
			if e.Type == job.EventStep {
				steps++
				if e.Phase != job.PhaseSetUp || e.Node == "" || e.Step == nil || e.Done < 1 || e.Total != 2 {
					t.Errorf("event %+v", e)
				}
			}
		}
		if steps != 6 {
			t.Errorf("%d steps were told", steps)
		}
	}
	c.nothingLeft()
}

// What a set-up needs may come from cloud-init, which goes on when a node can be logged in to already.
func TestSetUpWaitsForCloudInit(t *testing.T) {
	t.Parallel()
	c := newSetupCluster(t, 1)
	booted := filepath.Join(c.home, "booted")
	c.write(filepath.Join(c.home, "bin", "cloud-init"), "#!/bin/sh\nif [ -e "+booted+" ]; then echo status: done; else echo status: running; touch "+booted+"; fi\n", 0o755)
	c.env = append(c.env, "PATH="+filepath.Join(c.home, "bin")+":/usr/bin:/bin")
	c.job.Setup.Steps = []job.Step{c.shell("user", "test -e "+booted)}
	c.job.Checks.CloudInitWaitSeconds = 60
	if result, status := c.run(); status != 0 || ends(result.Nodes[0]) != "changed" {
		t.Errorf("status %d: %+v, %+v", status, result.Failure, result.Nodes[0].Setup)
	}
}

// A node whose step fails does not keep the others from being set up.
func TestSetUpWithANodeThatFails(t *testing.T) {
	t.Parallel()
	c := newSetupCluster(t, 3)
	c.job.Setup.Steps = []job.Step{
		c.shell("one", "true"), c.shell("two", `test $(uname -n) != gpu-2 || { echo the reason >&2; exit 7; }`), c.shell("three", "true"),
	}
	result, status := c.run()
	if status != 1 || result.Outcome != job.Fail || result.Failure.Kind != job.KindStepFailed || result.Failure.Node != "gpu-2" ||
		!strings.Contains(result.Failure.Message, "exit status 7: the reason") {
		t.Fatalf("status %d: %+v", status, result.Failure)
	}
	for i, want := range []string{"changed changed changed", "changed failed not_run", "changed changed changed"} {
		if got := ends(result.Nodes[i]); got != want {
			t.Errorf("%s: %s", result.Nodes[i].Name, got)
		}
	}
	if failed := result.Nodes[1].Setup; failed.Steps[1].Output != "the reason\n" || failed.Failure == nil || result.Nodes[0].Setup.Failure != nil {
		t.Errorf("%+v", failed)
	}
}

// A connection that breaks during a step ends what runs there; the step is taken up again, and the result is of all.
func TestSetUpWithALostConnection(t *testing.T) {
	t.Parallel()
	c := newSetupCluster(t, 2)
	c.job.Setup.Steps = []job.Step{
		c.shell("one", "true"),
		c.shell("two", `if [ $(uname -n) = gpu-2 ] && [ ! -e begun ]; then touch begun; setsid sleep 1000 & sleep 1000; fi`),
		c.shell("three", "true"),
	}
	proxy := sshdtest.NewProxy(t, c.hosts[0])
	c.job.Nodes[1].Address = proxy.Address
	c.start()
	c.until("the step runs, and the one before it was told", func() bool {
		return exists(c.on(1, "begun")) && strings.Contains(c.read(c.dir.Events()), `"node":"gpu-2","step":{"name":"one"`)
	})
	proxy.Cut()
	events := c.attach()
	result := events[len(events)-1].Result
	if result.Outcome != job.Pass || ends(result.Nodes[1]) != "changed changed changed" {
		t.Fatalf("%+v: %+v", result.Failure, result.Nodes[1].Setup)
	}
	lost := false
	for _, e := range events {
		lost = lost || e.Node == "gpu-2" && e.Outcome == job.Warn && strings.HasPrefix(e.Message, "lost")
	}
	if !lost {
		t.Error("nobody said that the node was lost")
	}
	c.nothingLeft()
}

// A node that stays away has a result of its own, which says how far it came.
func TestSetUpWithANodeThatStaysAway(t *testing.T) {
	t.Parallel()
	c := newSetupCluster(t, 3)
	c.job.Setup.ReconnectSeconds = 2
	c.job.Setup.Steps = []job.Step{c.shell("one", "true"), c.shell("two", `if [ $(uname -n) = gpu-2 ]; then touch begun; sleep 1000; fi`)}
	proxy := sshdtest.NewProxy(t, c.hosts[0])
	c.job.Nodes[1].Address = proxy.Address
	c.start()
	c.until("the step runs", func() bool { return exists(c.on(1, "begun")) })
	c.hosts[0].Stop()
	proxy.Cut()
	events := c.attach()
	result := events[len(events)-1].Result
	if result.Outcome != job.CouldNotRun || result.Failure.Kind != "node_lost" || result.Failure.Node != "gpu-2" {
		t.Fatalf("%s: %+v", result.Outcome, result.Failure)
	}
	if ends(result.Nodes[0]) != "changed changed" || ends(result.Nodes[2]) != "changed changed" || result.Nodes[1].Setup.Failure.Advice == "" {
		t.Errorf("%+v", result.Nodes)
	}
}

// A job whose runner was killed is taken up by the next start; what was done stays.
func TestSetUpGoesOnAfterAKilledRunner(t *testing.T) {
	t.Parallel()
	c := newSetupCluster(t, 1)
	c.job.Setup.Steps = []job.Step{c.shell("one", "true"), c.shell("two", "[ -e begun ] || { touch begun; sleep 1000; }")}
	c.start()
	c.until("the step runs", func() bool { return exists(c.on(0, "begun")) })
	holder, err := jobdir.Holder(c.dir)
	if err != nil || holder == 0 {
		t.Fatalf("holder %d, %v", holder, err)
	}
	if err := syscall.Kill(holder, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.nothingLeft()
	if state := c.startAgain(); state != jobdir.Started {
		t.Fatalf("state %s", state)
	}
	events := c.attach()
	if result := events[len(events)-1].Result; result.Outcome != job.Pass || ends(result.Nodes[0]) != "unchanged changed" {
		t.Errorf("%+v", result.Nodes[0].Setup)
	}
}

// Two set-ups of a node come one after the other, and the second says whom it waits for.
func TestSetUpsTakeTurns(t *testing.T) {
	t.Parallel()
	first, second := newSetupCluster(t, 2), newSetupCluster(t, 1)
	second.run0 = first.run0 // one node
	hold := first.home + "/go-on"
	first.job.Setup.Steps = []job.Step{first.shell("one", "touch begun; until [ -e "+hold+" ]; do sleep 0.05; done")}
	first.start()
	first.until("the step runs", func() bool { return exists(first.on(0, "begun")) })

	second.job.Setup.Steps = []job.Step{second.shell("one", "true")}
	second.job.Setup.LockWaitSeconds = 1
	result, status := second.run()
	if status != 2 || result.Failure.Kind != "locked" || !strings.Contains(result.Failure.Message, "another set-up (job "+first.job.Key()) || !strings.Contains(result.Failure.Advice, "cancel") {
		t.Fatalf("status %d: %+v", status, result.Failure)
	}
	second.job.Setup.LockWaitSeconds = 60
	second.start()
	second.until("it waits", func() bool { return strings.Contains(second.read(second.dir.Events()), "waiting: another set-up") })
	first.write(hold, "", 0o600)
	events := second.attach()
	if result := events[len(events)-1].Result; result.Outcome != job.Pass || ends(result.Nodes[0]) != "changed" {
		t.Errorf("%+v", result.Failure)
	}
	first.attach()
}

func TestCancelEndsASetUp(t *testing.T) {
	t.Parallel()
	c := newSetupCluster(t, 2)
	c.job.Setup.Steps = []job.Step{c.shell("one", "touch begun; setsid sleep 1000 & sleep 1000")}
	c.start()
	c.until("both nodes run the step", func() bool { return exists(c.on(0, "begun")) && exists(c.on(1, "begun")) })
	if _, status := c.call("cancel", string(c.dir)); status != 0 {
		t.Fatalf("cancel: status %d", status)
	}
	c.nothingLeft()
	events := c.attach()
	if result := events[len(events)-1].Result; result.Outcome != job.CouldNotRun || result.Failure.Kind != "cancelled" {
		t.Errorf("%s: %+v", result.Outcome, result.Failure)
	}
}

// The command puts file and flags together, for this node and for those of a job file.
func TestSetupCommand(t *testing.T) {
	t.Parallel()
	c := newSetupCluster(t, 2)
	file := filepath.Join(c.home, "setup.json")
	text, err := json.Marshal(job.Setup{Steps: []job.Step{c.shell("one", "true")}})
	if err != nil {
		t.Fatal(err)
	}
	c.write(file, string(text), 0o600)
	out, status := c.call("setup", file, "--dry-run")
	if status != 0 || !strings.Contains(out, "1 would change") {
		t.Errorf("status %d: %s", status, out)
	}
	c.job.Setup = nil
	c.putJob()
	key := filepath.Join(c.home, "key")
	c.write(key, c.read(c.dir.Key()), 0o600)
	out, status = c.call("setup", file, "--nodes", c.dir.Job(), "--key", key, "--dir", filepath.Join(c.home, "other"))
	if status != 0 || !strings.Contains(out, "1 step on 2 nodes: 2 changed") || !strings.Contains(out, "on all 2 nodes") {
		t.Errorf("status %d: %s", status, out)
	}
	if c.read(key) == "" {
		t.Error("the user's key is gone")
	}
	for _, args := range [][]string{
		{"setup"}, {"setup", "/no/such.json"}, {"setup", "--rootless-user", "opc"}, {"setup", "--engine", "lxc"},
		{"setup", "--engine", "docker", "--version", "latest"}, {"setup", file, "--nodes", "/no/such.json"},
	} {
		if out, status := c.call(args...); status != jobdir.StatusUsage {
			t.Errorf("%v: status %d, %s", args, status, out)
		}
	}
}

// Nodes get the runner from each other; where nothing gets through between them, all get it from the head node.
func TestSetUpSpreadsTheRunner(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		namespaces []string
		fromNodes  int
	}{"open": {nil, 3}, "closed": {[]string{"--net"}, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 5, tt.namespaces...)
			c.job.Benchmark = nil
			c.job.Setup = &job.Setup{Steps: []job.Step{c.shell("one", "true")}, MaxUploads: 1, MaxTransfers: 1}
			result, status := c.run()
			if status != 0 || result.Outcome != job.Pass {
				t.Fatalf("status %d: %+v", status, result.Failure)
			}
			var said []string
			fromNodes, fromHead := 0, 0
			for _, e := range c.attach() {
				if e.Phase != job.PhaseConnect || e.Type != job.EventNode {
					continue
				}
				said = append(said, e.Message)
				switch {
				case strings.Contains(e.Message, "came from the head node, because gpu-"):
				case strings.Contains(e.Message, "the runner came from gpu-"):
					fromNodes++
				default:
					fromHead++
				}
			}
			if fromNodes != tt.fromNodes || fromHead != 1 || len(said) != 4 {
				t.Errorf("%q", said)
			}
			c.nothingLeft()
		})
	}
}
