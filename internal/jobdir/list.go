// SPDX-License-Identifier: MPL-2.0

package jobdir

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Condition of a job, as it is found.
type Condition string

// Conditions.
const (
	ConditionWaiting  Condition = "not_started"
	ConditionRunning  Condition = "running"
	ConditionFinished Condition = "finished"
	ConditionDied     Condition = "died" // its runner ended without a result; the next start takes it up again
	ConditionBroken   Condition = "unreadable"
)

// Entry is a job on this node.
type Entry struct {
	Dir       job.Dir   `json:"dir"`
	Key       string    `json:"key"`  // name of the directory
	What      []string  `json:"what"` // set_up, dry_run, check, benchmark
	Nodes     int       `json:"nodes"`
	Condition Condition `json:"condition"`
	// Outcome and Reason are of a job that is over.
	Outcome job.Outcome `json:"outcome,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	// Changed is when something last happened to it.
	Changed time.Time `json:"changed"`
}

// List gives the jobs below a directory such as ~/.ocihpc/jobs, newest first. Nothing there is an empty list; one that
// cannot be read is listed with the reason.
func List(root string) ([]Entry, error) {
	found, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return []Entry{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	entries := []Entry{}
	for _, each := range found {
		if each.IsDir() && !strings.HasPrefix(each.Name(), ".") {
			entries = append(entries, look(job.Dir(filepath.Join(root, each.Name()))))
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.Key, b.Key)) })
	return entries, nil
}

func look(dir job.Dir) Entry {
	e := Entry{Dir: dir, Key: filepath.Base(string(dir)), What: []string{}, Changed: lastChange(dir)}
	broken := func(err error) Entry {
		e.Condition, e.Reason = ConditionBroken, err.Error()
		return e
	}
	j, err := ReadJob(dir.Job())
	if err != nil {
		return broken(err)
	}
	e.What, e.Nodes = whatOf(j), len(j.Nodes)
	holder, err := Holder(dir)
	if err != nil {
		return broken(err)
	}
	_, over, err := finished(dir)
	if err != nil {
		return broken(err)
	}
	switch _, err := os.Stat(dir.Events()); {
	case holder != 0:
		e.Condition = ConditionRunning
	case over:
		e.Condition = ConditionFinished
		e.Outcome, e.Reason = resultOf(dir)
	case err == nil:
		e.Condition = ConditionDied
	default:
		e.Condition = ConditionWaiting
	}
	return e
}

func whatOf(j job.Job) []string {
	what := []string{}
	if j.Setup != nil && j.Setup.DryRun {
		what = append(what, "dry_run")
	} else if j.Setup != nil {
		what = append(what, "set_up")
	}
	if j.Setup == nil || !j.Checks.None() || j.Benchmark != nil {
		what = append(what, "check")
	}
	if j.Benchmark != nil {
		what = append(what, "benchmark")
	}
	return what
}

func resultOf(dir job.Dir) (job.Outcome, string) {
	text, err := os.ReadFile(dir.Result())
	if err != nil {
		return "", err.Error()
	}
	var result job.Result
	if err := json.Unmarshal(text, &result); err != nil {
		return "", err.Error()
	}
	if result.Failure != nil {
		return result.Outcome, result.Failure.Message
	}
	return result.Outcome, ""
}

// lastChange is when one of its files was last written.
func lastChange(dir job.Dir) time.Time {
	var last time.Time
	for _, file := range []string{dir.Job(), dir.Events(), dir.Exit()} {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	if last.IsZero() {
		if info, err := os.Stat(string(dir)); err == nil {
			last = info.ModTime()
		}
	}
	return last.UTC()
}

// Remove takes a job's directory away, unless a runner works on it: then it gives ErrRunning.
func Remove(dir job.Dir) error {
	for _, path := range []string{dir.Lock() + ".start", dir.Lock()} { // no start and no run from here on
		l, err := openLock(path)
		if err != nil {
			return err
		}
		defer l.close()
		if err := l.try(); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(string(dir)); err != nil {
		return fmt.Errorf("remove the job: %w", err)
	}
	return nil
}
