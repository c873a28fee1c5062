// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// Kinds of failures of a batch job. A run that is over its time limit has the same kind as one without Slurm.
const (
	KindSlurmMissing   = "slurm_missing"
	KindSlurmRejected  = "slurm_rejected"
	KindSlurmPending   = "slurm_pending_too_long"
	KindSlurmNodeFail  = "slurm_node_fail"
	KindSlurmMemory    = "slurm_out_of_memory"
	KindSlurmCancelled = "slurm_cancelled"
	KindSlurmLost      = "slurm_lost"
)

// BatchError says that a batch job did not come to an end of its own.
type BatchError struct{ Failure job.Failure }

func (e *BatchError) Error() string { return e.Failure.Message }

func batchError(kind, advice, format string, args ...any) error {
	return &BatchError{job.Failure{Kind: kind, Message: fmt.Sprintf(format, args...), Advice: advice}}
}

// How often Slurm is asked: at once after a change, then more and more seldom.
const (
	soonest     = time.Second
	latest      = 15 * time.Second
	readEvery   = time.Second
	outputLimit = 30 * time.Second // that what a batch job wrote last may take to this node: a shared file system has caches
	cancelLimit = 30 * time.Second
	downLimit   = 10 * time.Minute // that the controller may be away
)

// Follower follows a batch job.
type Follower struct {
	Batch Batch
	// Record is a file of this node's that remembers the batch job, so that it is found again by who comes after this process.
	Record string
	// Read reads a file from a byte on, on the node that the batch job's script runs on, by Slurm's name; a file that is not
	// there is empty.
	Read func(ctx context.Context, host, path string, from int64) ([]byte, error)
	// Remove removes files there, as far as it can.
	Remove func(ctx context.Context, host string, paths ...string)
	// Tell is told of what happens, for people.
	Tell func(message string)
	// Running is called when the batch job has started, before its output comes.
	Running func()

	named  bool // Batch.Name is that of the batch job, not that of the run alone
	id     string
	known  batchState
	read   int64
	events string // last that was told
}

// record is what is remembered.
type record struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
}

// Run submits the batch job, or finds the one that was submitted before, and copies its output until it is over. An exit status
// other than 0 is a *remote.ExitError; a batch job that Slurm refused or ended is a *BatchError. When the context ends, the
// batch job is cancelled. One that came to its end is remembered until [Follower.Forget]: whoever runs it again before that
// has its output once more.
func (f *Follower) Run(ctx context.Context, to io.Writer) error {
	if err := f.find(ctx); err != nil {
		return err
	}
	if f.id == "" {
		if err := f.submit(ctx); err != nil {
			return err
		}
	}
	err := f.follow(ctx, to)
	if ctx.Err() != nil {
		why := f.interrupted(ctx)
		err = errors.Join(why, f.cancel(ctx))
		_ = f.copy(context.WithoutCancel(ctx), to) // what it printed before helps to see why
	}
	var exit *remote.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.Forget(ctx)
	}
	return err
}

// Forget removes what remembers the batch job, and what it wrote: the next run submits a new one.
func (f *Follower) Forget(ctx context.Context) {
	_ = os.Remove(f.Record) // it is written anew
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelLimit)
	defer stop()
	f.Remove(ctx, f.known.host, f.Batch.Output(), f.Batch.Exit())
}

// find looks for a batch job that an earlier process has submitted.
func (f *Follower) find(ctx context.Context) error {
	text, err := os.ReadFile(f.Record)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || !strings.HasPrefix(r.Name, f.Batch.Name+".") {
		return nil //nolint:nilerr // what is not ours is written anew
	}
	f.Batch.Name, f.id, f.named = r.Name, r.ID, true
	if f.id == "" { // it ended between the submission and the answer, if it came to that
		if f.id, err = f.idByName(ctx); err != nil {
			return err
		}
	}
	if f.id != "" {
		f.Tell("batch job " + f.id + " was submitted before, and is taken up again")
	}
	return nil
}

// idByName finds a batch job by its name, which no other has.
func (f *Follower) idByName(ctx context.Context) (string, error) {
	text, err := askSlurm(ctx, "squeue", "--me", "--noheader", "--states=all", "--name="+f.Batch.Name, "--format=%A")
	if err != nil {
		return "", f.explain(err)
	}
	id, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return id, nil
}

// submit gives the batch job to Slurm. Its name is unique and on disk before that, so that it is found even if this process
// ends before it hears the answer.
func (f *Follower) submit(ctx context.Context) error {
	if !f.named {
		f.Batch.Name += "." + strconv.FormatInt(time.Now().UnixNano(), 36)
		f.named = true
	}
	script, err := f.Batch.Script()
	if err != nil {
		return batchError(KindSlurmRejected, "use another job directory, or slurm.shared_dir", "%v", err)
	}
	file := strings.TrimSuffix(f.Record, ".json") + ".sh"
	if err := errors.Join(os.WriteFile(file, []byte(script), 0o600), f.remember()); err != nil {
		return fmt.Errorf("write the batch job: %w", err)
	}
	began := time.Now()
	for wait := soonest; ; wait = min(2*wait, latest) {
		text, err := askSlurm(ctx, "sbatch", "--parsable", file)
		if err == nil {
			f.id, _, _ = strings.Cut(strings.TrimSpace(text), ";") // a cluster may follow
			break
		}
		if !isDown(err) || time.Since(began) > downLimit {
			_ = os.Remove(f.Record) // there is none
			return f.explain(err)
		}
		f.tell("Slurm's controller does not answer; it is asked again")
		if err := pause(ctx, wait); err != nil {
			return err
		}
		if f.id, err = f.idByName(ctx); err == nil && f.id != "" { // it was only the answer that was lost
			break
		}
	}
	f.Tell(fmt.Sprintf("submitted batch job %s (%s)", f.id, f.Batch.Name))
	if err := f.remember(); err != nil {
		return fmt.Errorf("remember the batch job: %w", err)
	}
	return nil
}

func (f *Follower) remember() error {
	text, err := json.Marshal(record{f.Batch.Name, f.id})
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.Record+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(f.Record+".new", f.Record)
}

// explain puts a failure of Slurm's programs into words.
func (f *Follower) explain(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, exec.ErrNotFound):
		return batchError(KindSlurmMissing, "submit from a node that has Slurm's programs (sbatch, scontrol), or choose another launcher", "the head node has no Slurm: %v", err)
	case isDown(err):
		return batchError(KindSlurmLost, "see whether slurmctld runs: scontrol ping", "Slurm's controller does not answer: %v", err)
	}
	return batchError(KindSlurmRejected, "see partition, account, limits and node names in slurm, and whether sinfo shows the nodes", "Slurm did not take the batch job: %v", err)
}

// follow waits for the end of the batch job.
func (f *Follower) follow(ctx context.Context, to io.Writer) error {
	began, answered, wait := time.Now(), time.Now(), soonest
	running := false
	for {
		state, err := stateOf(ctx, f.id)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errForgotten):
			return f.end(ctx, to, batchState{state: "forgotten", host: f.known.host, status: -1})
		case err != nil && time.Since(answered) > downLimit:
			return f.explain(err)
		case err != nil:
			f.tell("Slurm's controller does not answer; the batch job goes on")
		default:
			answered = time.Now()
			if state.state != f.known.state || state.reason != f.known.reason {
				wait = soonest
			}
			f.known = state
			f.tell(f.describe())
		}
		limit := time.Duration(f.Batch.Settings.QueueSeconds) * time.Second
		switch {
		case state.over() && err == nil:
			return f.end(ctx, to, state)
		case !running && err == nil && !state.waiting():
			running = true
			f.Running()
		case limit > 0 && f.known.waiting() && time.Since(began) > limit:
			return errors.Join(f.waitedTooLong(limit.String()), f.cancel(ctx))
		}
		for asked := time.Now(); time.Since(asked) < wait; {
			if running {
				if err := f.copy(ctx, to); err != nil {
					f.tell(fmt.Sprintf("the output cannot be read at the moment: %v", err))
				}
				if f.hasEnded(ctx) {
					break
				}
			}
			if err := pause(ctx, readEvery); err != nil {
				return err
			}
		}
		wait = min(wait*3/2, latest)
	}
}

// hasEnded looks for the exit status, which is there before Slurm is asked again.
func (f *Follower) hasEnded(ctx context.Context) bool {
	text, err := f.Read(ctx, f.known.host, f.Batch.Exit(), 0)
	return err == nil && len(text) > 0
}

func (f *Follower) tell(message string) {
	if message != f.events {
		f.events = message
		f.Tell(message)
	}
}

func (f *Follower) describe() string {
	text := "batch job " + f.id + " is " + f.known.state
	if f.known.reason != "" {
		text += " (" + f.known.reason + ")"
	}
	if f.known.nodes != "" {
		text += " on " + f.known.nodes
	}
	return text
}

// copy passes on what the batch job has printed since the last time.
func (f *Follower) copy(ctx context.Context, to io.Writer) error {
	for {
		text, err := f.Read(ctx, f.known.host, f.Batch.Output(), f.read)
		if err != nil || len(text) == 0 {
			return err
		}
		f.read += int64(len(text))
		if _, err := to.Write(text); err != nil {
			return err
		}
	}
}

// end passes on the last of the output, and says how the batch job ended.
func (f *Follower) end(ctx context.Context, to io.Writer, s batchState) error {
	status, err := f.exitStatus(ctx, s)
	copyErr := f.copy(ctx, to)
	switch base, _, _ := strings.Cut(s.state, "+"); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case status >= 0 && base != "TIMEOUT" && base != "OUT_OF_MEMORY" && base != "NODE_FAIL":
		if copyErr != nil {
			return batchError(KindSlurmLost, "see whether the node is there, and the file "+f.Batch.Output(), "the output of batch job %s could not be read: %v", f.id, copyErr)
		}
		if status > 0 {
			return &remote.ExitError{Name: "batch job " + f.id, Status: status}
		}
		return nil
	case base == "TIMEOUT":
		return batchError("timeout", "look at the log of the run for where it stopped; raise the time limit if it was only slow", "batch job %s reached Slurm's time limit", f.id)
	case base == "OUT_OF_MEMORY":
		return batchError(KindSlurmMemory, "ask for fewer or smaller sizes, or see what else uses memory on the nodes", "batch job %s ran out of memory on %s", f.id, f.known.nodes)
	case base == "NODE_FAIL" || base == "BOOT_FAIL":
		return batchError(KindSlurmNodeFail, "see sinfo --list-reasons, and the console of the node that is down", "a node of batch job %s (%s) failed: %s %s", f.id, f.known.nodes, s.state, s.reason)
	case base == "CANCELLED" || base == "PREEMPTED" || base == "REVOKED" || base == "DEADLINE":
		return batchError(KindSlurmCancelled, "ask who did it, then apply again; a reservation keeps others away", "batch job %s was ended by Slurm or an administrator: %s %s", f.id, s.state, s.reason)
	}
	return batchError(KindSlurmLost, "see scontrol show job "+f.id+", slurmd's log on the nodes, and whether they can write "+f.Batch.Dir,
		"batch job %s is %s %s and left no exit status (%v)", f.id, s.state, s.reason, errors.Join(err, copyErr))
}

// exitStatus is what the script left, which may take its time to this node, or else what Slurm says; -1 when neither is known.
func (f *Follower) exitStatus(ctx context.Context, s batchState) (int, error) {
	limit := outputLimit
	if s.state != "COMPLETED" && s.state != "FAILED" && s.state != "COMPLETING" && s.state != "forgotten" {
		limit = readEvery // the script had no time to write it
	}
	var text []byte
	var err error
	for began := time.Now(); time.Since(began) < limit; {
		if text, err = f.Read(ctx, f.known.host, f.Batch.Exit(), 0); err == nil && bytes.HasSuffix(text, []byte("\n")) {
			status, err := strconv.Atoi(strings.TrimSpace(string(text)))
			return status, err
		}
		if s.status > 0 { // the script itself did not come to its end
			break
		}
		if pause(ctx, readEvery/2) != nil {
			break
		}
	}
	if s.state == "FAILED" || s.state == "COMPLETED" {
		return s.status, err
	}
	return -1, err
}

// waitedTooLong says why the batch job did not start.
func (f *Follower) waitedTooLong(limit string) error {
	reason := f.known.reason
	if reason == "" {
		reason = "it gives no reason"
	}
	return batchError(KindSlurmPending, "see squeue --start and sinfo; take a reservation, another partition or other nodes, or wait longer (slurm.queue_seconds, timeouts)",
		"batch job %s waited in vain for its start (%s); Slurm's reason: %s", f.id, limit, reason)
}

// interrupted says what the end of the context means.
func (f *Follower) interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if f.known.waiting() && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return f.waitedTooLong("the time limit of the job")
	}
	return cause
}

// cancel ends the batch job, and waits until Slurm has ended it.
func (f *Follower) cancel(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelLimit)
	defer stop()
	f.Tell("cancelling batch job " + f.id)
	for {
		_, err := askSlurm(ctx, "scancel", f.id)
		if err == nil || !isDown(err) || pause(ctx, soonest) != nil {
			break
		}
	}
	for {
		state, err := stateOf(ctx, f.id)
		if err == nil { // it may have started since, and written on a node that nobody knows of yet
			f.known = state
		}
		if errors.Is(err, errForgotten) || err == nil && state.over() {
			return nil
		}
		if pause(ctx, soonest/2) != nil {
			return fmt.Errorf("batch job %s has not ended: see squeue --jobs=%s, and scancel it", f.id, f.id)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
