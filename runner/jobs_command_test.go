// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"os"
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
