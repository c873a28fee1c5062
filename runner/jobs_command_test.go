// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
)

// Jobs in every condition are listed, and cleaned away by age; the one that runs stays.
func TestJobsAndClean(t *testing.T) {
	t.Parallel()
	c := newSetupCluster(t, 1)
	jobs := filepath.Join(c.home, job.Root, "jobs")
	in := func(name string) { c.dir = job.Dir(filepath.Join(jobs, name)) }

	in("passed")
	c.job.Setup.Steps = []job.Step{c.shell("one", "true")}
	if _, status := c.run(); status != 0 {
		t.Fatal("the first job does not pass")
	}
	in("failed")
	c.job.Setup.Steps = []job.Step{c.shell("two", "exit 3")}
	if _, status := c.run(); status != 1 {
		t.Fatal("the second job does not fail")
	}
	c.job.Setup.Steps = []job.Step{c.shell("three", "touch begun; sleep 1000")}
	in("died")
	c.start()
	c.until("the step runs", func() bool { return exists(c.on(0, "begun")) })
	holder, err := jobdir.Holder(c.dir)
	if err != nil || holder == 0 || syscall.Kill(holder, syscall.SIGKILL) != nil {
		t.Fatalf("holder %d, %v", holder, err)
	}
	c.nothingLeft()
	in("running")
	c.job.Setup.Steps[0] = c.shell("four", "touch begun-4; sleep 1000")
	c.start()
	c.until("the step runs", func() bool { return exists(c.on(0, "begun-4")) })
	in("waiting")
	c.job.Setup.DryRun = true
	c.putJob()
	c.write(filepath.Join(jobs, "broken", "job.json"), "{", 0o600)

	want := map[string][2]string{
		"passed": {"finished", "pass"}, "failed": {"finished", "fail"}, "died": {"died", ""}, "running": {"running", ""},
		"waiting": {"not_started", ""}, "broken": {"unreadable", ""},
	}
	var entries []jobdir.Entry
	out, status := c.call("jobs", "--output", "json")
	if status != 0 || json.Unmarshal([]byte(out), &entries) != nil || len(entries) != len(want) {
		t.Fatalf("status %d: %s", status, out)
	}
	for _, e := range entries {
		if got := [2]string{string(e.Condition), string(e.Outcome)}; got != want[e.Key] {
			t.Errorf("%s: %v (%s)", e.Key, got, e.Reason)
		}
	}
	table, _ := c.call("jobs")
	if !strings.Contains(table, "dry_run") || !strings.Contains(table, "gpu-1: Run sh") {
		t.Errorf("table:\n%s", table)
	}

	old := filepath.Join(c.home, job.Root, "bin", "ocihpc-runner-0123456789abcdef")
	c.write(old, "", 0o700)
	past := time.Now().Add(-1000 * time.Hour)
	for _, file := range []string{old, filepath.Join(jobs, "failed", "exit"), filepath.Join(jobs, "failed", "events.ndjson"), filepath.Join(jobs, "failed", "job.json")} {
		if err := os.Chtimes(file, past, past); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		args []string
		left int
	}{
		{[]string{"clean", "--dry-run"}, 6}, {[]string{"clean"}, 5}, {[]string{"clean", "--older-than", "0s"}, 1},
	} {
		out, status := c.call(test.args...)
		left, _ := os.ReadDir(jobs)
		if status != 0 || len(left) != test.left {
			t.Errorf("%v: status %d, %d left: %s", test.args, status, len(left), out)
		}
		if exists(old) != (test.left == 6) {
			t.Errorf("%v: the old runner is there: %v", test.args, exists(old))
		}
	}
	if !exists(filepath.Join(jobs, "running", "job.json")) {
		t.Error("the running job is gone")
	}
	in("running")
	if _, status := c.call("cancel", string(c.dir)); status != 0 {
		t.Error("cancel")
	}
	in("waiting") // cancelled at the end, like the others that were started
}

// Runners that nobody has used for long go from all nodes; the one that cleans is used.
func TestCleanNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	old := ".ocihpc/bin/ocihpc-runner-0123456789abcdef"
	var files []string
	for _, home := range []string{c.home, c.hosts[0].Home, c.hosts[1].Home} {
		file := filepath.Join(home, old)
		c.write(file, "old", 0o700)
		long := time.Now().Add(-60 * 24 * time.Hour)
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	c.job.Nodes = append(c.job.Nodes, job.Node{Name: "gone", Address: "127.255.255.254", HostKey: c.job.Nodes[1].HostKey})
	c.putJob()
	for _, dry := range []bool{true, false} {
		cmd := exec.CommandContext(t.Context(), runnerPath, "clean", "--nodes", c.dir.Job(), "--key", c.dir.Key(), "--connect-timeout", "1s", "--output", "json", fmt.Sprintf("--dry-run=%t", dry))
		cmd.Env = c.env
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		var found cleaned
		if decoded := json.Unmarshal(out, &found); decoded != nil || len(found.Others) != 3 {
			t.Fatalf("%v, %v: %s%s", err, decoded, out, &said)
		}
		for i, node := range append([]cleaned{found}, found.Others[:2]...) {
			if len(node.Runners) != 1 || !strings.HasSuffix(node.Runners[0], old) || node.Error != "" || node.Node != c.job.Nodes[i].Name {
				t.Errorf("dry run %t: %+v", dry, node)
			}
			if exists(files[i]) != dry {
				t.Errorf("dry run %t: %s is there: %t", dry, files[i], exists(files[i]))
			}
		}
		if gone := found.Others[2]; gone.Error == "" || err == nil {
			t.Errorf("a node that is not there: %+v, %v", gone, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(c.hosts[0].Home, ".ocihpc/bin/*")); err != nil || len(left) != 1 {
		t.Errorf("left on a node: %v, %v", left, err)
	}
}
