// SPDX-License-Identifier: MPL-2.0

package jobdir

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func testJob() job.Job {
	return job.Job{Version: job.Version, Nodes: []job.Node{{Name: "gpu-1", Address: "10.0.0.1"}}, SSH: job.SSH{User: "opc", Port: 22}, TimeoutSeconds: 60}
}

func open(t *testing.T) job.Dir {
	t.Helper()
	dir, err := Create(filepath.Join(t.TempDir(), "job"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// write works on a job from its beginning to its end.
func write(t *testing.T, dir job.Dir, outcome job.Outcome, events int) {
	t.Helper()
	w, err := Begin(dir, testJob())
	if err != nil {
		t.Fatal(err)
	}
	result := job.Result{Version: job.Version, Key: testJob().Key(), Outcome: outcome, Nodes: []job.NodeResult{}, Runs: []job.Measurement{}}
	for range events {
		if err := w.Append(job.Event{Time: time.Now(), Type: job.EventNode, Message: "line\nbreak"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Append(job.Event{Type: job.EventResult, Result: &result}); err != nil {
		t.Fatal(err)
	}
	if err := w.End(result); err != nil {
		t.Fatal(err)
	}
}

func TestBeginClearsAndEndTells(t *testing.T) {
	t.Parallel()
	dir := open(t)
	for _, file := range []string{dir.Exit(), dir.Result(), dir.RunLog(job.AllNodesRun), dir.RunLog(job.NodeRun("gpu-1")), dir.RunLog("users"), dir.Key(), dir.Log()} {
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, job.Fail, 3)
	for file, want := range map[string]bool{
		dir.Exit(): true, dir.Result(): true, dir.Job(): true, dir.Events(): true, dir.Key(): true, dir.Log(): true,
		dir.RunLog(job.AllNodesRun): false, dir.RunLog(job.NodeRun("gpu-1")): false, dir.RunLog("users"): true, dir.PID(): false,
	} {
		info, err := os.Stat(file)
		if (err == nil) != want {
			t.Errorf("%s: %v", file, err)
		}
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", file, info.Mode())
		}
	}
	if status, over, err := finished(dir); status != StatusFail || !over || err != nil {
		t.Errorf("%d, %v, %v", status, over, err)
	}
	if info, err := os.Stat(string(dir)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	if holder, err := Holder(dir); holder != 0 || err != nil {
		t.Errorf("a finished job has the holder %d, %v", holder, err)
	}
}

func TestCreateRefusesADirectoryOfOthers(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o1777); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(shared); err == nil || !strings.Contains(err.Error(), "not yours alone") {
		t.Errorf("got %v", err)
	}
	if info, err := os.Stat(shared); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("its mode is now %v", info.Mode())
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	dir := open(t)
	write(t, dir, job.Pass, 5)
	var all, rest strings.Builder
	if err := Attach(t.Context(), dir, 0, &all); err != nil || strings.Count(all.String(), "\n") != 6 {
		t.Fatalf("%v: %s", err, all.String())
	}
	from := strings.IndexByte(all.String(), '\n') + 1
	if err := Attach(t.Context(), dir, int64(from), &rest); err != nil || rest.String() != all.String()[from:] {
		t.Errorf("%v: %s", err, rest.String())
	}
	rest.Reset()
	if err := Attach(t.Context(), dir, int64(all.Len()), &rest); err != nil || rest.Len() != 0 {
		t.Errorf("%v: %s", err, rest.String())
	}
}

// A runner that died in the middle of a line leaves whole events, and one more that says what happened.
func TestAttachToADeadJob(t *testing.T) {
	t.Parallel()
	dir := open(t)
	w, err := Begin(dir, testJob())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(job.Event{Type: job.EventStarted}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.events.WriteString(`{"time":"2026`); err != nil {
		t.Fatal(err)
	}
	w.lock.close() // as the kernel does
	var out strings.Builder
	if err := Attach(t.Context(), dir, 0, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last job.Event
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 2 || last.Result.Failure.Kind != "runner_died" {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestAttachAndStartRefuseABadJob(t *testing.T) {
	t.Parallel()
	dir := open(t)
	if err := Attach(t.Context(), dir, 0, &strings.Builder{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no job: %v", err)
	}
	if err := os.WriteFile(dir.Job(), []byte(`{"version":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), dir, "/bin/false"); !errors.Is(err, job.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
}

func TestStartTellsOfARunnerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := open(t)
	text, err := json.Marshal(testJob())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Job(), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Attach(t.Context(), dir, 0, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "not been started") {
		t.Errorf("attach before the start: %v", err)
	}
	if _, err := Start(t.Context(), dir, "/bin/false"); err == nil || !strings.Contains(err.Error(), "ended at once") {
		t.Errorf("got %v", err)
	}
}

// A pass is that of the job that ran, whatever job has been put into its directory since.
func TestStartDoesNotTakeAnotherJobsPass(t *testing.T) {
	t.Parallel()
	dir := open(t)
	write(t, dir, job.Pass, 0)
	if state, err := Start(t.Context(), dir, "/bin/false"); state != Finished || err != nil {
		t.Errorf("the same job: %s, %v", state, err)
	}
	other := testJob()
	other.Triggers = map[string]string{"image": "new"}
	text, err := json.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Job(), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), dir, "/bin/false"); err == nil || !strings.Contains(err.Error(), "ended at once") {
		t.Errorf("another job is not run: %v", err)
	}
}

// A pass stands for as long as the job says, and for as long as the node is what it was.
func TestStartTakesNoOutdatedPass(t *testing.T) {
	t.Parallel()
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	same := &job.Facts{Kernel: strings.TrimSpace(string(kernel)), DriverVersion: ""}
	hour := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		maxAge   int
		finished time.Time
		facts    *job.Facts
		taken    bool
	}{
		"any age":        {0, hour, same, true},
		"young enough":   {7200, hour, same, true},
		"too old":        {1800, hour, same, false},
		"another kernel": {0, hour, &job.Facts{Kernel: "4.18.0-lab"}, false},
		"no facts":       {0, hour, nil, true},
	} {
		r := job.Result{FinishedAt: c.finished, Nodes: []job.NodeResult{{Facts: c.facts}}}
		j := job.Job{MaxAgeSeconds: c.maxAge}
		if taken := !outdated(r, j) && !changedSince(r); taken != c.taken {
			t.Errorf("%s: taken is %v", name, taken)
		}
	}
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[job.Outcome]int{job.Pass: 0, job.Warn: 0, job.Fail: 1, job.CouldNotRun: 2, job.CannotTell: 2} {
		if got := StatusOf(outcome); got != want {
			t.Errorf("%s: %d", outcome, got)
		}
	}
}
