// SPDX-License-Identifier: MPL-2.0

// Package phase works on a job, phase by phase: reach the nodes, set them up, check them, measure each alone, measure
// all together. It runs on the head node and reports what happens as events.
package phase

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// Phase is one step of a job.
type Phase interface {
	Name() job.Phase
	// Title says what the phase does, for people.
	Title() string
	// Run does it. A *Stop as the error ends the job with a reason; the context's end ends it too.
	Run(ctx context.Context) error
}

// Stop ends a job before its last phase.
type Stop struct { //nolint:errname // a decision, not a failure of the program
	Outcome job.Outcome
	Failure job.Failure
}

func (s *Stop) Error() string { return s.Failure.Message }

// Why a context of a job ended.
var (
	// ErrCancelled is the cause to cancel [Execute]'s context with when somebody asked for it.
	ErrCancelled = errors.New("the job was cancelled")

	errJobLimit = errors.New("the job's time limit was reached")
	errRunLimit = errors.New("the run's time limit was reached")
)

// Config is what the phases work with.
type Config struct {
	Job job.Job
	// Dir is the job's directory, as an absolute path.
	Dir job.Dir
	// Runner is the path of this very program.
	Runner string
	// Emit takes the events, one at a time.
	Emit func(job.Event)
	// ConnectTimeout bounds the wait for a node that cannot be reached at once.
	ConnectTimeout time.Duration
}

// parallel is how many nodes are worked on at the same time.
const parallel = 64

// work is a job in progress: what the phases find and hand on.
type work struct {
	Config
	nodes []*nodeWork // in the job's order; the first is the head node
	near  []*nodeWork // in the order of their ranks, for the search
	runs  []job.Measurement
	// summaries of the runs that can have repeats.
	summaries []job.Summary

	suspects   []job.Suspect
	conclusion string // of the search for them
	tuned      *job.Tuned

	key  ssh.Signer     // for the nodes but the head; nil on one node alone
	self remote.Runners // this very program

	containers heldContainers
	slurm      slurmNames
	batching   sync.Mutex
	batches    []*launch.Follower // of all runs

	emitting sync.Mutex
	phase    job.Phase
}

// nodeWork is one node of the job in progress.
type nodeWork struct {
	job.Node
	at          launch.Node  // empty when the node could not be reached
	tests       string       // folder for nccl-tests that are built
	inside      *launch.Node // of the container that ranks run in; nil when they run on the node itself
	close       func() error // ends the connection; nil without one
	unreachable *job.Failure
	found       job.NodeResult
}

// Execute works on the job to its end and gives the result, whatever happens. Its last event is the result.
func Execute(ctx context.Context, c Config) job.Result {
	w := newWork(c)
	started := time.Now().UTC()
	w.emit(job.Event{Type: job.EventStarted, Total: len(w.nodes), Message: c.Job.Key()})

	limit := time.Duration(c.Job.TimeoutSeconds) * time.Second
	limited, cancel := context.WithTimeoutCause(ctx, limit, errJobLimit)
	defer cancel()
	stop := w.runAll(limited)
	_ = w.run(context.WithoutCancel(ctx), finishing{w}) // it has nothing to fail by

	result := w.result(stop)
	result.StartedAt, result.FinishedAt = started, time.Now().UTC()
	w.emit(job.Event{Type: job.EventResult, Outcome: result.Outcome, Result: &result})
	return result
}

// runAll runs the phases until one ends the job.
func (w *work) runAll(ctx context.Context) *Stop {
	for _, p := range w.phases() {
		err := w.run(ctx, p)
		var stop *Stop
		switch {
		case ctx.Err() != nil:
			failure := interruption(ctx, string(p.Name()))
			return &Stop{Outcome: job.CouldNotRun, Failure: *failure}
		case errors.As(err, &stop):
			return stop
		case err != nil:
			return &Stop{Outcome: job.CouldNotRun, Failure: job.Failure{Kind: "internal", Message: fmt.Sprintf("%s: %v", p.Title(), err)}}
		}
	}
	return nil
}

// phases gives those that the job asks for, but the last.
func (w *work) phases() []Phase {
	phases := []Phase{connect{w}}
	if w.Job.Setup != nil {
		phases = append(phases, setUp{w})
		if w.Job.Benchmark == nil && w.Job.Checks.None() {
			return phases
		}
	}
	phases = append(phases, check{w})
	if w.prepares() {
		phases = append(phases, prepare{w})
	}
	switch w.pattern() {
	case job.PatternAuto:
		phases = append(phases, eachNode{w}, allNodes{w})
		if len(w.nodes) > 1 {
			phases = append(phases, localise{w})
		}
	case job.PatternPerNode:
		phases = append(phases, eachNode{w})
	case job.PatternAll:
		phases = append(phases, allNodes{w})
	default:
		phases = append(phases, localise{w})
	}
	if b := w.Job.Benchmark; b != nil && b.Tuning != nil {
		phases = append(phases, tune{w})
	}
	return phases
}

// pattern of the benchmark.
func (w *work) pattern() job.Pattern {
	switch b := w.Job.Benchmark; {
	case b != nil && b.Slurm.Chooses():
		return job.PatternAll // others name nodes
	case b == nil || b.Pattern == "":
		return job.PatternAuto
	}
	return w.Job.Benchmark.Pattern
}

// remark is the error of a phase that did not do all it could, for a reason that does not end the job.
type remark struct {
	outcome job.Outcome
	message string
}

func (r remark) Error() string { return r.message }

func skipped(reason string) error { return remark{message: "skipped: " + reason} }

// run runs one phase between its events.
func (w *work) run(ctx context.Context, p Phase) error {
	w.phase = p.Name()
	w.emit(job.Event{Type: job.EventPhaseStarted, Message: p.Title(), Total: len(w.nodes)})
	before, summarised := len(w.runs), len(w.summaries)
	err := p.Run(ctx)
	done := job.Event{Type: job.EventPhaseFinished, Outcome: job.Pass}
	for _, m := range w.runs[before:] {
		if worst := job.Worse(done.Outcome, m.Outcome); worst != done.Outcome {
			done.Outcome, done.Message = worst, m.Failure.Message
		}
	}
	for _, s := range w.summaries[summarised:] {
		if worst := job.Worse(done.Outcome, s.Outcome); worst != done.Outcome {
			done.Outcome, done.Message = worst, s.Failure.Message
		}
	}
	var stop *Stop
	var said remark
	switch {
	case ctx.Err() != nil:
		done.Outcome, done.Message = job.CouldNotRun, context.Cause(ctx).Error()
	case errors.As(err, &said):
		done.Outcome, done.Message, err = said.outcome, said.message, nil
	case errors.As(err, &stop):
		done.Outcome, done.Message = stop.Outcome, stop.Failure.Message
	case err != nil:
		done.Outcome, done.Message = job.CouldNotRun, err.Error()
	}
	w.emit(done)
	return err
}

// emit completes an event and hands it over.
func (w *work) emit(e job.Event) {
	w.emitting.Lock()
	defer w.emitting.Unlock()
	e.Time = time.Now().UTC()
	if e.Type != job.EventStarted && e.Type != job.EventResult {
		e.Phase = w.phase
	}
	w.Emit(e)
}

// interruption says why the context ended while something was done.
func interruption(ctx context.Context, during string) *job.Failure {
	cause := context.Cause(ctx)
	failure := &job.Failure{Kind: "cancelled", Message: fmt.Sprintf("%s during %s", cause, during), Advice: "start the job again"}
	if !errors.Is(cause, ErrCancelled) {
		failure.Kind = "timeout"
		failure.Advice = "look at the log of the run for where it stopped; raise the time limit if it was only slow"
	}
	return failure
}
