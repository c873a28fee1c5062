// SPDX-License-Identifier: MPL-2.0

package jobdir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// followEvery is how often the events are looked at.
const followEvery = 100 * time.Millisecond

// Attach writes the job's events from a byte on, as whole lines of NDJSON, and follows them until the job is
// over. For a job whose runner died it ends with a result event that says so.
func Attach(ctx context.Context, dir job.Dir, from int64, to io.Writer) error {
	j, err := ReadJob(dir.Job())
	if err != nil {
		return err
	}
	f := follower{path: dir.Events(), at: from, to: to}
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		// In this order: what was written before the end is read after it is known.
		_, over, err := finished(dir)
		if err != nil {
			return err
		}
		holder := 0
		if !over {
			if holder, err = Holder(dir); err != nil {
				return err
			}
			if holder == 0 { // it may have ended in between
				if _, over, err = finished(dir); err != nil {
					return err
				}
			}
		}
		if err := f.copyLines(); err != nil {
			return err
		}
		switch {
		case over:
			return nil
		case holder == 0 && !f.found:
			return fmt.Errorf("the job in %s has not been started", dir)
		case holder == 0:
			return writeEvent(to, died(dir, j))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("follow the job: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// follower copies the whole lines of a growing file.
type follower struct {
	path  string
	at    int64
	to    io.Writer
	found bool // the file is there
}

func (f *follower) copyLines() error {
	file, err := os.Open(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // not yet
	}
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	f.found = true
	text, err := io.ReadAll(io.NewSectionReader(file, f.at, 1<<62))
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if len(text) == 0 {
		return nil
	}
	if _, err := f.to.Write(text); err != nil {
		return fmt.Errorf("pass on events: %w", err)
	}
	f.at += int64(len(text))
	return nil
}

// died is the last event of a job whose runner ended without a word.
func died(dir job.Dir, j job.Job) job.Event {
	now := time.Now().UTC()
	result := job.Result{
		Version: job.Version, Key: j.Key(), Outcome: job.CouldNotRun, StartedAt: now, FinishedAt: now,
		Nodes: []job.NodeResult{}, Runs: []job.Measurement{},
		Failure: &job.Failure{
			Kind: "runner_died", Node: j.Nodes[0].Name,
			Message: "the runner ended without a result: it was killed, or the head node went down",
			Advice:  "start the job again; " + dir.Log() + " on the head node may say more",
		},
	}
	for _, n := range j.Nodes {
		result.Nodes = append(result.Nodes, job.NodeResult{Name: n.Name, Address: n.Address, Checks: []job.Check{}})
	}
	return job.Event{Time: now, Type: job.EventResult, Outcome: job.CouldNotRun, Result: &result}
}

func writeEvent(to io.Writer, e job.Event) error {
	if err := json.NewEncoder(to).Encode(e); err != nil {
		return fmt.Errorf("pass on events: %w", err)
	}
	return nil
}
