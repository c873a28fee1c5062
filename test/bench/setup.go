// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// setUpRun is one run of the ten steps on all hosts.
type setUpRun struct {
	seconds, processor float64 // processor time of head node and hosts together
	reach              float64 // of the seconds: until all hosts were reached and have the runner
}

// setUps measures the same set-up of many hosts by our runner and by Ansible, in turns, from one head node.
func (o options) setUps(ctx context.Context) error {
	counts, err := counts(o.hosts)
	if err != nil {
		return fmt.Errorf("-hosts: %w", err)
	}
	most, err := strconv.Atoi(o.ansibleMost)
	if err != nil {
		return fmt.Errorf("-ansible-most: %q is no number of hosts", o.ansibleMost)
	}
	nodes, err := acctest.StartNodes(ctx, o.runner)
	if errors.Is(err, lab.ErrUnsupported) {
		fmt.Println("\nThe set-up of hosts is left out:", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = nodes.Close() }() //nolint:contextcheck // it is closed whatever became of the context
	if _, err := nodes.Exec(ctx, nodes.Head(), "which", "ansible-playbook"); err != nil {
		fmt.Println("\nansible-playbook is not installed: the set-up is measured by ocihpc-runner alone.")
		most = 0
	}
	t := newTable("Ten set-up steps on lab hosts that share this machine with the head node: s, and processor s of all of them.\n"+
		fmt.Sprintf("Medians of %d set-ups (Ansible: %d), each of two runs: the first changes everything, the second nothing;\n", o.runs, o.ansibleRuns)+
		"ours uploads the runner in the first (reach: connect and upload).",
		"hosts", "ours: first", "reach", "cpu", "second", "cpu", "Ansible: first", "cpu", "second", "cpu", "s ratio: first", "second", "cpu ratio: first", "second")
	slices.Sort(counts)
	for _, count := range counts {
		theirs := o.ansibleRuns
		if count > most {
			theirs = 0
		}
		cells, err := setUpRow(ctx, nodes, count, o.runs, theirs)
		if err != nil {
			return errors.Join(fmt.Errorf("set up %d hosts: %w", count, err), t.Flush())
		}
		t.row(cells...)
	}
	return t.Flush()
}

// setUpRow measures set-ups of some hosts, by ours and by theirs in turns as long as both have runs left.
func setUpRow(ctx context.Context, nodes *acctest.Nodes, count, ourRuns, theirRuns int) ([]string, error) {
	if err := nodes.Grow(ctx, count); err != nil {
		return nil, err
	}
	sides := []struct {
		runs int
		run  func(ctx context.Context, nodes *acctest.Nodes, changes bool) (setUpRun, error)
	}{{ourRuns, byRunner}, {theirRuns, byAnsible}}
	var setUps [2][]setUp // by side
	for turn := range max(ourRuns, theirRuns) {
		if err := forget(ctx, nodes); err != nil {
			return nil, err
		}
		for i, side := range sides {
			if turn >= side.runs {
				continue
			}
			s, err := twice(func(changes bool) (setUpRun, error) { return side.run(ctx, nodes, changes) })
			if err != nil {
				return nil, err
			}
			setUps[i] = append(setUps[i], s)
		}
	}
	return setUpCells(count, setUps[0], setUps[1]), nil
}

func setUpCells(count int, ours, theirs []setUp) []string {
	figure := func(f float64) string { return fmt.Sprintf("%.1f", f) }
	our := medianSetUp(ours)
	cells := []string{
		strconv.Itoa(count), figure(our[0].seconds), figure(our[0].reach), figure(our[0].processor),
		figure(our[1].seconds), figure(our[1].processor),
	}
	if len(theirs) == 0 {
		return append(cells, slices.Repeat([]string{"-"}, 8)...)
	}
	their := medianSetUp(theirs)
	for _, run := range their {
		cells = append(cells, figure(run.seconds), figure(run.processor))
	}
	for i := range their {
		cells = append(cells, figure(their[i].seconds/our[i].seconds))
	}
	for i := range their {
		cells = append(cells, figure(their[i].processor/our[i].processor))
	}
	return cells
}

// setUp is a set-up where it changes everything, and again where it must change nothing.
type setUp [2]setUpRun

func twice(run func(changes bool) (setUpRun, error)) (s setUp, err error) {
	for i := range s {
		if s[i], err = run(i == 0); err != nil {
			return s, err
		}
	}
	return s, nil
}

// medianSetUp is the median of each figure on its own.
func medianSetUp(samples []setUp) (m setUp) {
	for i := range m {
		m[i] = setUpRun{
			seconds:   middle(samples, func(s setUp) float64 { return s[i].seconds }),
			processor: middle(samples, func(s setUp) float64 { return s[i].processor }),
			reach:     middle(samples, func(s setUp) float64 { return s[i].reach }),
		}
	}
	return m
}

// Directories on the hosts that hold what the steps make.
const (
	runnerSteps  = "/var/lib/bench-runner"
	ansibleSteps = "/var/lib/bench-ansible"
	runnerJob    = "/root/bench-job"
)

// forget takes away what an earlier set-up left: the steps' files, the runner, the job.
func forget(ctx context.Context, nodes *acctest.Nodes) error {
	var group errgroup.Group
	group.SetLimit(8)
	for _, n := range nodes.Nodes {
		group.Go(func() error {
			_, err := nodes.Exec(ctx, n.ID, "rm", "-rf", runnerSteps, ansibleSteps, runnerJob, "/home/opc/.ocihpc", "/home/opc/.ansible")
			return err
		})
	}
	return group.Wait()
}

// steps are three commands, one script of the shell, three files with content, two directories and a link.
func steps(dir string) job.Setup {
	command := func(name, creates string, argv ...string) job.Step {
		return job.Step{Name: name, Command: &job.CommandStep{Argv: argv, Creates: creates}}
	}
	file := func(name string) job.Step {
		return job.Step{Name: name, File: &job.FileStep{Path: dir + "/" + name, Content: content(name), Mode: "0644"}}
	}
	return job.Setup{Steps: []job.Step{
		command("command-1", dir, "mkdir", dir),
		command("command-2", dir+"/release", "cp", "/etc/os-release", dir+"/release"),
		command("command-3", dir+"/mark", "touch", dir+"/mark"),
		command("shell", dir+"/kernel", "sh", "-c", "uname -r >"+dir+"/kernel"),
		file("copy-1"), file("copy-2"), file("copy-3"),
		{Name: "file-1", Directory: &job.DirectoryStep{Path: dir + "/scratch", Mode: "1777"}},
		{Name: "file-2", Directory: &job.DirectoryStep{Path: dir + "/private", Mode: "0700"}},
		{Name: "file-3", Link: &job.LinkStep{Path: dir + "/link", Target: dir + "/scratch"}},
	}}
}

// content is some lines of a configuration file.
func content(name string) string { return strings.Repeat("# "+name+"\n* - memlock unlimited\n", 20) }

// byRunner measures ocihpc-runner setup, from its start on the head node to its end.
func byRunner(ctx context.Context, nodes *acctest.Nodes, changes bool) (setUpRun, error) {
	text, err := json.Marshal(steps(runnerSteps))
	if err != nil {
		return setUpRun{}, err
	}
	if err := nodes.Put(ctx, nodes.Head(), "/root/steps.json", 0o600, text); err != nil {
		return setUpRun{}, err
	}
	var result job.Result
	run, err := measured(nodes, func() (err error) {
		result, err = nodes.SetUp(ctx, "/root/steps.json", runnerJob)
		return err
	})
	if err != nil {
		return run, err
	}
	want := job.StepUnchanged
	if changes {
		want = job.StepChanged
	}
	for _, n := range result.Nodes {
		if n.Setup == nil || slices.ContainsFunc(n.Setup.Steps, func(s job.StepResult) bool { return s.Outcome != want }) {
			return run, fmt.Errorf("%s is not %s by the runner: %s (%+v)", n.Name, want, n.Setup.Summary(), result.Failure)
		}
	}
	run.reach, err = reaching(ctx, nodes)
	return run, err
}

// reaching reads from a job's events how long it took to reach all nodes.
func reaching(ctx context.Context, nodes *acctest.Nodes) (float64, error) {
	events, err := nodes.Exec(ctx, nodes.Head(), "cat", job.Dir(runnerJob).Events())
	if err != nil {
		return 0, err
	}
	var began time.Time
	for decoder := json.NewDecoder(bytes.NewReader(events)); ; {
		var e job.Event
		if err := decoder.Decode(&e); err != nil {
			return 0, fmt.Errorf("find the end of the phase %s: %w", job.PhaseConnect, err)
		}
		switch {
		case e.Type == job.EventStarted:
			began = e.Time
		case e.Type == job.EventPhaseFinished && e.Phase == job.PhaseConnect:
			return e.Time.Sub(began).Seconds(), nil
		}
	}
}

// measured gives the wall-clock and processor time that a run takes.
func measured(nodes *acctest.Nodes, run func() error) (setUpRun, error) {
	before, err := processorOf(nodes.Info.PID)
	if err != nil {
		return setUpRun{}, err
	}
	begun := time.Now()
	if err := run(); err != nil {
		return setUpRun{}, err
	}
	took := time.Since(begun).Seconds()
	after, err := processorOf(nodes.Info.PID)
	return setUpRun{seconds: took, processor: after - before}, err
}

// userTicks is how many of its ticks the kernel counts to a second in /proc, on every Linux that Go runs on.
const userTicks = 100

// processorOf gives the processor seconds of a process and all below it, those that have ended included.
func processorOf(root int) (float64, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	children, ticks := map[int][]int{}, map[int]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat") // #nosec G304 -- the kernel's
		if err != nil {
			continue // it has ended meanwhile
		}
		// proc_pid_stat(5): after the name come state, ppid, … and as 14th to 17th utime, stime, cutime, cstime.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 15 {
			return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
		}
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], pid)
		for _, field := range fields[11:15] {
			n, _ := strconv.Atoi(field)
			ticks[pid] += n
		}
	}
	total := 0
	for pids := []int{root}; len(pids) > 0; pids = pids[1:] {
		total += ticks[pids[0]]
		pids = append(pids, children[pids[0]]...)
	}
	return float64(total) / userTicks, nil
}
