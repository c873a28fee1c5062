// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Request is the first line that a node hears: what to set up, and for whom. Everything after it says that somebody is
// still there (an empty line, at least every [Beat]), lets the node download ([Grant]), or is a [Gift]; the end of it, or
// silence for [Silence], ends the set-up.
type Request struct {
	Owner Owner     `json:"owner"`
	Shape string    `json:"shape,omitempty"` // OCI's name; empty is unknown
	Setup job.Setup `json:"setup"`
	// RegistryAuth are credentials of registries, in the form of ~/.docker/config.json; empty is none. They are never
	// told to anybody, and are on the node as [Request.AuthFile] while it is set up.
	RegistryAuth string `json:"registry_auth,omitempty"`
}

// AuthFile is where the credentials of registries are during the set-up, for root alone and in memory; empty without any.
func (r Request) AuthFile() string {
	if r.RegistryAuth == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(LockPath), "registry-auth.json")
}

// What keeps a set-up alive.
const (
	Beat    = 15 * time.Second
	Silence = 60 * time.Second
	Grant   = "go"
)

// Message is one line of what a node tells. The last one has the result.
type Message struct {
	// Waiting says what the node waits for.
	Waiting string `json:"waiting,omitempty"`
	// Applying names the step that is about to change the node.
	Applying string `json:"applying,omitempty"`
	// Asks for leave to download: the step is applied once a line with [Grant] has come, and the leave ends with it.
	// Instead, a [Gift] may answer one who asks for a Content; when that was of no use, the node asks again and says how it Failed.
	Asks    bool   `json:"asks,omitempty"`
	Content string `json:"content,omitempty"`
	Failed  string `json:"failed,omitempty"`
	// Step is what came of one; it is number Done of Total.
	Step  *job.StepResult `json:"step,omitempty"`
	Done  int             `json:"done,omitempty"`
	Total int             `json:"total,omitempty"`
	// Holds is what the node can give to others from this step on.
	Holds *Holding `json:"holds,omitempty"`

	Result *job.NodeSetup `json:"result,omitempty"`
}

// Holding is the content of a [Shared] step that is in place, and its identity.
type Holding struct {
	Content  string `json:"content"`
	Identity string `json:"identity"`
}

// Plan is what is to be done on a node.
type Plan struct {
	Steps []Step
	// Describe, where set, completes the result of steps that are all in place by what is there now.
	Describe func(context.Context, *job.NodeSetup) error
}

// ErrAbandoned says that nobody is there any more for whom the node is set up.
var ErrAbandoned = errors.New("the connection to whoever asked for the set-up is lost")

// Planner makes the plan of a request.
type Planner func(context.Context, Request) (Plan, error)

// Serve sets up this node as a session asks for: in is the request and the lifeline, out takes the messages. The error
// is about the session itself; what came of the set-up is in the last message. ErrAbandoned is given without one.
func Serve(ctx context.Context, in io.Reader, out io.Writer, planner Planner) error {
	input := bufio.NewReader(in)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	var request Request
	if err := job.DecodeStrict(line, &request); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if err := request.Setup.Validate(); err != nil {
		return fmt.Errorf("invalid request: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &server{request: request, out: json.NewEncoder(out), cancel: cancel, granted: make(chan *Gift, 1)}
	go s.listen(input)
	result := s.work(ctx, planner)
	if errors.Is(context.Cause(ctx), ErrAbandoned) {
		return ErrAbandoned
	}
	s.tell(Message{Result: &result})
	return s.writeErr
}

type server struct {
	request Request
	granted chan *Gift // nil is leave to download
	cancel  context.CancelCauseFunc

	lock     sync.Mutex
	out      *json.Encoder
	writeErr error
}

// tell sends a message. Where none can be sent any more, the set-up ends.
func (s *server) tell(m Message) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.writeErr == nil {
		if s.writeErr = s.out.Encode(m); s.writeErr != nil {
			s.cancel(ErrAbandoned)
		}
	}
}

// listen hears grants and signs of life until there are none any more.
func (s *server) listen(input *bufio.Reader) {
	silent := time.AfterFunc(Silence, func() { s.cancel(ErrAbandoned) })
	defer silent.Stop()
	for {
		line, err := input.ReadString('\n')
		if err != nil {
			s.cancel(ErrAbandoned)
			return
		}
		silent.Reset(Silence)
		gift, answers := answerOf(line)
		if answers {
			select {
			case s.granted <- gift:
			default: // nothing waits for it
			}
		}
	}
}

// answerOf reads a line as an answer to who asked; nil is leave to download.
func answerOf(line string) (*Gift, bool) {
	if line == Grant+"\n" {
		return nil, true
	}
	var gift Gift
	err := json.Unmarshal([]byte(line), &gift)
	return &gift, err == nil
}

func (s *server) work(ctx context.Context, planner Planner) job.NodeSetup {
	result := job.NodeSetup{Steps: []job.StepResult{}}
	fail := func(kind string, err error) job.NodeSetup {
		result.Failure = &job.Failure{Kind: kind, Message: err.Error(), Advice: AdviceOf(err)}
		return result
	}
	limit := time.Duration(s.request.Setup.LockWaitSeconds) * time.Second
	if limit == 0 {
		limit = 10 * time.Minute
	}
	release, err := Lock(ctx, LockPath, s.request.Owner, limit, func(l *LockedError) { s.tell(Message{Waiting: l.Error()}) })
	var locked *LockedError
	if errors.As(err, &locked) {
		return fail("locked", Advise(locked, "wait for its end, or end it on its head node: ocihpc-runner cancel ~/.ocihpc/jobs/"+locked.Owner.Key))
	}
	if err != nil {
		return fail("internal", err)
	}
	defer release()
	if path := s.request.AuthFile(); path != "" {
		defer os.Remove(path) //nolint:errcheck // it lies in memory, and the next set-up replaces it
		if err := (Place{Path: path, Mode: 0o600}).Replace(func(w io.Writer) error {
			_, err := io.WriteString(w, s.request.RegistryAuth)
			return err
		}); err != nil {
			return fail("internal", fmt.Errorf("put the credentials of registries there: %w", err))
		}
	}
	plan, err := planner(ctx, s.request)
	if err != nil {
		return fail("plan_failed", err)
	}
	result.Steps = Run(ctx, plan.Steps, s.options(len(plan.Steps)))
	for _, step := range result.Steps {
		if step.Outcome == job.StepFailed {
			result.Failure = &job.Failure{Kind: job.KindStepFailed, Message: step.Title + ": " + step.Message, Advice: step.Advice}
			return result
		}
	}
	if plan.Describe != nil && !s.request.Setup.DryRun {
		if err := plan.Describe(ctx, &result); err != nil {
			return fail("describe_failed", err)
		}
	}
	return result
}

func (s *server) options(total int) Options {
	done := 0
	return Options{
		DryRun:  s.request.Setup.DryRun,
		Waiting: func(what string) { s.tell(Message{Waiting: what}) },
		Apply:   s.apply,
		Done: func(ctx context.Context, step Step, r job.StepResult) {
			done++
			m := Message{Step: &r, Done: done, Total: total}
			if shared, ok := step.(Shared); ok && shared.Content() != "" && (r.Outcome == job.StepChanged || r.Outcome == job.StepUnchanged) {
				if identity, err := shared.Identity(ctx); err == nil { // who does not know what it has gives it to nobody
					m.Holds = &Holding{Content: shared.Content(), Identity: identity}
				}
			}
			s.tell(m)
		},
	}
}

// apply applies a step, where it downloads not before it may, and where another node has the content from there.
func (s *server) apply(ctx context.Context, step Step, output io.Writer) (string, error) {
	s.tell(Message{Applying: step.Name()})
	if shared, ok := step.(Shared); ok && shared.Content() != "" {
		return s.receive(ctx, shared, output)
	}
	if d, ok := step.(Downloader); ok && d.Downloads() {
		if _, err := s.ask(ctx, Message{Asks: true}); err != nil {
			return "", err
		}
	}
	return "", step.Apply(ctx, output)
}

// receive gets the content from another node, or else from where it comes from.
func (s *server) receive(ctx context.Context, step Shared, output io.Writer) (string, error) {
	said := ""
	gift, err := s.ask(ctx, Message{Asks: true, Content: step.Content()})
	if err == nil && gift != nil {
		failed := step.Receive(ctx, *gift, output)
		switch {
		case failed == nil:
			return "it came from " + gift.From, nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		}
		said = fmt.Sprintf("%s could not give it (%v)", gift.From, failed)
		_, _ = fmt.Fprintln(output, said) // only a log
		_, err = s.ask(ctx, Message{Asks: true, Content: step.Content(), Failed: failed.Error()})
	}
	if err != nil {
		return "", err
	}
	return said, step.Apply(ctx, output)
}

// ask waits for leave to download, or a gift.
func (s *server) ask(ctx context.Context, question Message) (*Gift, error) {
	s.tell(question)
	select {
	case gift := <-s.granted:
		return gift, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
