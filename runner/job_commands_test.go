// SPDX-License-Identifier: MPL-2.0

package main

import (
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
)

func TestCancelEndsEverything(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.hangTogether()
	if state := c.start(); state != jobdir.Started {
		t.Fatalf("state %s", state)
	}
	c.untilTogether()
	if state := c.startAgain(); state != jobdir.Running {
		t.Errorf("a second start says %s", state)
	}
	if _, status := c.call("cancel", string(c.dir)); status != 0 {
		t.Fatalf("cancel: status %d", status)
	}
	c.nothingLeft()
	events := c.attach()
	result := events[len(events)-1].Result
	if result.Outcome != job.CouldNotRun || result.Failure.Kind != "cancelled" {
		t.Errorf("%s: %+v", result.Outcome, result.Failure)
	}
	if alone := result.Alone("gpu-2"); alone == nil || alone.Outcome != job.Pass {
		t.Errorf("what was measured before is lost: %+v", alone)
	}
	if c.read(c.dir.Exit()) != "2\n" {
		t.Errorf("exit: %q", c.read(c.dir.Exit()))
	}
}

func TestTimeLimitEndsARun(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.hangTogether()
	c.job.Benchmark.TimeoutSeconds = 15
	result, status := c.run()
	if status != 2 || result.Failure == nil || result.Failure.Kind != "timeout" {
		t.Fatalf("status %d, %+v", status, result.Failure)
	}
	if all := result.Overall(); all == nil || all.ExitStatus != -1 || all.Seconds < 15 || all.Report != nil {
		t.Errorf("the run: %+v", all)
	}
	c.nothingLeft()
}

func TestKilledRunner(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.hangTogether()
	c.start()
	c.untilTogether()
	holder, err := jobdir.Holder(c.dir)
	if err != nil || holder == 0 {
		t.Fatalf("holder %d, %v", holder, err)
	}
	if err := syscall.Kill(holder, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	events := c.attach()
	last := events[len(events)-1]
	if last.Type != job.EventResult || last.Result.Outcome != job.CouldNotRun || last.Result.Failure.Kind != "runner_died" {
		t.Errorf("the last event: %+v", last)
	}
	c.nothingLeft() // nobody was there to end the ranks but their supervisors

	if state := c.startAgain(); state != jobdir.Started {
		t.Errorf("a dead job is %s, not started anew", state)
	}
}

func TestStartIsIdempotent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.putJob()
	states := make([]jobdir.State, 6)
	var starts sync.WaitGroup
	for i := range states {
		starts.Go(func() {
			out, _ := c.command("start", string(c.dir)).Output()
			for _, state := range []jobdir.State{jobdir.Started, jobdir.Running, jobdir.Finished} {
				if strings.Contains(string(out), string(state)) {
					states[i] = state
				}
			}
		})
	}
	starts.Wait()
	count := map[jobdir.State]int{}
	for _, state := range states {
		count[state]++
	}
	if count[jobdir.Started] != 1 || count[jobdir.Running]+count[jobdir.Finished] != len(states)-1 {
		t.Fatalf("states: %v\n%s", states, c.read(c.dir.Log()))
	}
	events := c.attach()
	if result := events[len(events)-1].Result; result.Outcome != job.Pass {
		t.Fatalf("%s: %+v", result.Outcome, result.Failure)
	}
	if state := c.startAgain(); state != jobdir.Finished {
		t.Errorf("a job that passed is %s", state)
	}
}

func TestStartRunsAFailedJobAnew(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.job.Checks.Mounts = []string{"/not/mounted"}
	if result, status := c.run(); status != 1 || result.Outcome != job.Fail || result.Failure.Kind != "check_failed" {
		t.Fatalf("status %d, %s: %+v", status, result.Outcome, result.Failure)
	}
	if state := c.startAgain(); state != jobdir.Started {
		t.Errorf("a job that failed is %s", state)
	}
	c.attach()
}

func TestUsage(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.job.Nodes[0].Address = "-oProxyCommand=x"
	c.putJob()
	for _, args := range [][]string{
		{"run"}, {"run", c.dir.Job(), "--dir", string(c.dir)}, {"run", "/no/such.json"}, {"run", "--nonsense"}, {"bogus"}, {"attach"}, {"attach", string(c.dir), "--from", "-1"},
		{"check", "--output", "xml"}, {"check", "--request", "{\"surprise\":1}"}, {"rsh", "host", "true"}, {"version", "--output", "yaml"},
	} {
		if _, status := c.call(args...); status != jobdir.StatusUsage {
			t.Errorf("%v: status %d", args, status)
		}
	}
	if _, status := c.call("start", string(c.dir)); status != jobdir.StatusCouldNotRun {
		t.Errorf("start of an invalid job: status %d", status)
	}
}
