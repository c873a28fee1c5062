// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Options of a [Run].
type Options struct {
	// DryRun checks every step and applies none.
	DryRun bool
	// Waiting, where set, is called with what a step that is applied waits for.
	Waiting func(what string)
	// Apply, where set, stands in for the steps' own. What it says is told in the step's result.
	Apply func(ctx context.Context, step Step, output io.Writer) (said string, err error)
	// Done, where set, is called with what came of each step.
	Done func(ctx context.Context, step Step, result job.StepResult)
}

type waitingKey struct{}

// tellWaiting tells whoever runs the steps what this one waits for.
func tellWaiting(ctx context.Context, what string) {
	if tell, ok := ctx.Value(waitingKey{}).(func(string)); ok && tell != nil {
		tell(what)
	}
}

// Run sees to it that every step is in place: it checks, applies, and checks again. After a step that failed the
// others are not run. The results are in the order of the steps, one each.
func Run(ctx context.Context, steps []Step, o Options) []job.StepResult {
	ctx = context.WithValue(ctx, waitingKey{}, o.Waiting)
	results := make([]job.StepResult, 0, len(steps))
	failed, changes := "", 0
	for _, step := range steps {
		r := job.StepResult{Name: step.Name(), Title: step.Title(), Outcome: job.StepNotRun}
		if failed == "" || o.DryRun {
			r = o.run(ctx, step, changes > 0)
		} else {
			r.Message = failed + " failed before"
		}
		if r.Outcome == job.StepFailed {
			failed = step.Name()
		}
		if r.Outcome == job.StepWouldChange {
			changes++
		}
		results = append(results, r)
		if o.Done != nil {
			o.Done(ctx, step, r)
		}
	}
	return results
}

// run does one step. pending says that a dry run has left out a change before it.
func (o Options) run(ctx context.Context, step Step, pending bool) job.StepResult {
	started := time.Now()
	r := job.StepResult{Name: step.Name(), Title: step.Title()}
	var output tail
	err := o.do(ctx, step, &r, &output)
	awaitOwnEnd(ctx, err)
	r.Seconds = time.Since(started).Seconds()
	switch {
	case err == nil:
		return r
	case ctx.Err() != nil:
		r.Outcome, r.Message = job.StepFailed, context.Cause(ctx).Error()
		r.Advice = "start the set-up again: it takes up this step"
	case o.DryRun && pending:
		r.Outcome, r.Message = job.StepWouldChange, fmt.Sprintf("cannot be told before the steps above are done (%v)", err)
		return r
	default:
		r.Outcome, r.Message, r.Advice = job.StepFailed, err.Error(), AdviceOf(err)
	}
	r.Output = output.String()
	return r
}

// awaitOwnEnd gives the context a moment to end when a program was ended by a signal: at a shutdown of the node
// everything gets one, the programs as well as this process.
func awaitOwnEnd(ctx context.Context, err error) {
	var program *ProgramError
	if errors.As(err, &program) && program.Signaled {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (o Options) do(ctx context.Context, step Step, r *job.StepResult, output *tail) error {
	before, err := step.Check(ctx)
	if err != nil {
		return err
	}
	r.Message = before.Detail
	if before.Done {
		r.Outcome = job.StepUnchanged
		return nil
	}
	if o.DryRun {
		r.Outcome = job.StepWouldChange
		return nil
	}
	apply := o.Apply
	if apply == nil {
		apply = func(ctx context.Context, step Step, output io.Writer) (string, error) {
			return "", step.Apply(ctx, output)
		}
	}
	said, err := apply(ctx, step, output)
	if err != nil {
		return err
	}
	if said != "" {
		r.Message = said
	}
	after, err := step.Check(ctx)
	if err != nil {
		return fmt.Errorf("check what was done: %w", err)
	}
	if !after.Done {
		return Advise(errors.New("it was done, but is still not in place: "+after.Detail),
			"something on the node undoes it, or the step does not do what its check looks for")
	}
	r.Outcome = job.StepChanged
	return nil
}

// tailBytes is how much of a step's output is kept.
const tailBytes = 4 << 10

// tail keeps the end of what is written to it.
type tail struct {
	kept []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept, t.cut = t.kept[over:], true
	}
	return len(p), nil
}

func (t *tail) String() string {
	if t.cut {
		return "… " + string(t.kept)
	}
	return string(t.kept)
}
