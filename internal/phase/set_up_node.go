// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

const (
	// defaultReconnect is how long a node may be away: a bare metal one takes up to ten minutes to reboot.
	defaultReconnect = 15 * time.Minute
	// lossLimit is how often a node may be lost without a step done in between. A step that makes the node go down
	// each time would never end.
	lossLimit = 3
	// statusAbandoned is how `ocihpc-runner apply` ends when its lifeline did, or the node is shut down.
	statusAbandoned = 75
	// messageLimit bounds one message of a node, in bytes.
	messageLimit = 4 << 20
)

// setUpNode is the set-up of one node: one session after the other, until one comes to the end of the steps.
type setUpNode struct {
	*work
	node   *nodeWork
	shared *shared

	steps  []job.StepResult          // of the running session
	before map[string]job.StepResult // what earlier sessions changed, by step
	begun  map[string]bool           // steps that an earlier session may have applied, without a word of their end
	last   string                    // step that is being applied
	wanted *wanted                   // what that step gets from outside
	result *job.NodeSetup
}

func newSetUpNode(w *work, n *nodeWork, shared *shared) *setUpNode {
	return &setUpNode{work: w, node: n, shared: shared, before: map[string]job.StepResult{}, begun: map[string]bool{}}
}

// run sets the node up, and takes the set-up up again when the node is lost meanwhile: it may have been rebooted.
func (s *setUpNode) run(ctx context.Context) job.NodeSetup {
	losses := 0
	for {
		progress := len(s.before)
		err := s.session(ctx)
		if s.result != nil {
			return s.merged(*s.result)
		}
		s.remember()
		if len(s.before) > progress {
			losses = 0
		}
		switch losses++; {
		case ctx.Err() != nil:
			return s.failed(interruption(ctx, "the set-up of "+s.node.Name))
		case !isLost(err) || s.node.close == nil:
			return s.failed(s.explainSession(err))
		case losses > lossLimit:
			return s.failed(&job.Failure{
				Kind: "node_lost", Message: fmt.Sprintf("the node was lost %d times%s: %v", losses, s.during(), err),
				Advice: "see the node's console and journal for why it goes down, and whether the step is the reason",
			})
		}
		s.emit(job.Event{Type: job.EventNode, Node: s.node.Name, Outcome: job.Warn, Message: fmt.Sprintf("lost%s (%v); waiting for it to come back", s.during(), err)})
		if err := s.reconnect(ctx); err != nil {
			if ctx.Err() != nil {
				return s.failed(interruption(ctx, "the set-up of "+s.node.Name))
			}
			return s.failed(&job.Failure{
				Kind: "node_lost", Message: fmt.Sprintf("the node was lost%s and did not come back: %v", s.during(), err),
				Advice: "see whether the node runs; when it does, start the set-up again: it goes on where it was",
			})
		}
	}
}

func (s *setUpNode) reconnect(ctx context.Context) error {
	limit := time.Duration(s.Job.Setup.ReconnectSeconds) * time.Second
	if limit == 0 {
		limit = defaultReconnect
	}
	_ = s.node.close() // it is lost
	return s.reach(ctx, s.node, limit, fromHead)
}

// isLost says that nobody knows how the session ended, or that the node is going down.
func isLost(err error) bool {
	var exit *remote.ExitError
	if errors.As(err, &exit) {
		return exit.Status == statusAbandoned || exit.Signal != "" || exit.Status > 128
	}
	return errors.Is(err, remote.ErrTransportLost) || errors.Is(err, remote.ErrNoExitStatus)
}

func (s *setUpNode) during() string {
	if s.last == "" {
		return ""
	}
	return " during " + s.last
}

// remember keeps what the session that was lost had done.
func (s *setUpNode) remember() {
	for _, step := range s.steps {
		if step.Outcome == job.StepChanged {
			s.before[step.Name] = step
		}
		delete(s.begun, step.Name)
	}
}

// merged gives what the sessions did together: what an earlier one put in place is changed, not unchanged.
func (s *setUpNode) merged(result job.NodeSetup) job.NodeSetup {
	for i, step := range result.Steps {
		if step.Outcome != job.StepUnchanged {
			continue
		}
		if earlier, ok := s.before[step.Name]; ok {
			result.Steps[i] = earlier
		} else if s.begun[step.Name] {
			result.Steps[i].Outcome = job.StepChanged
		}
	}
	return result
}

// failed gives what is known of a set-up without an end.
func (s *setUpNode) failed(why *job.Failure) job.NodeSetup {
	why.Node = s.node.Name
	steps := s.steps
	if steps == nil {
		steps = []job.StepResult{}
	}
	return s.merged(job.NodeSetup{Steps: steps, Failure: why})
}

// session has the node apply the set-up, and hears what it tells.
func (s *setUpNode) session(ctx context.Context) error {
	s.steps, s.last = nil, ""
	auth, err := os.ReadFile(s.Dir.RegistryAuth())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the credentials of registries: %w", err)
	}
	line, err := json.Marshal(setup.Request{Owner: s.owner(), Shape: s.Job.Shape, Setup: *s.Job.Setup, RegistryAuth: string(auth)})
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	lifeline, hold := io.Pipe()
	s.wanted = &wanted{setUpNode: s, to: hold}
	defer s.wanted.end()
	defer cancel()
	go func() {
		if _, err := hold.Write(append(line, '\n')); err == nil {
			beat(ctx, hold)
		}
	}()
	var said strings.Builder
	err = launch.Converse(ctx, s.node.at.Host, s.node.at.Runner, []string{"apply"}, lifeline, hold,
		&messageStream{handle: func(m setup.Message) { s.hear(ctx, m) }}, &said)
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	if err == nil && s.result == nil {
		err = errors.New("the node said nothing of a result")
	}
	return err
}

func (s *setUpNode) owner() setup.Owner {
	owner := setup.Owner{Key: s.Job.Key(), User: s.Job.SSH.User, From: s.nodes[0].Name}
	if len(s.nodes) == 1 { // nobody logs in
		if self, err := user.Current(); err == nil {
			owner.User = self.Username
		}
	}
	return owner
}

func (s *setUpNode) hear(ctx context.Context, m setup.Message) {
	switch {
	case m.Result != nil:
		s.result = m.Result
	case m.Step != nil:
		s.wanted.done(m)
		s.steps, s.last = append(s.steps, *m.Step), ""
		told := *m.Step
		if earlier, ok := s.before[told.Name]; ok && told.Outcome == job.StepUnchanged {
			told = earlier
		}
		s.emit(job.Event{Type: job.EventStep, Node: s.node.Name, Step: &told, Done: m.Done, Total: m.Total})
	case m.Applying != "":
		s.last = m.Applying
		s.begun[m.Applying] = true
	case m.Asks:
		s.wanted.ask(ctx, m)
	case m.Waiting != "":
		s.emit(job.Event{Type: job.EventNode, Node: s.node.Name, Outcome: job.Warn, Message: "waiting: " + m.Waiting})
	}
}

// explainSession says why a session did not come to a result, and what to do.
func (s *setUpNode) explainSession(err error) *job.Failure {
	failure := &job.Failure{
		Kind: "session_failed", Message: fmt.Sprintf("the set-up could not be run: %v", err),
		Advice: "log in to the node and run: sudo " + s.node.at.Runner + " version",
	}
	if strings.Contains(err.Error(), "sudo") {
		failure.Kind, failure.Message = "needs_root", fmt.Sprintf("the set-up needs root, and %s may not become root without a password: %v", s.Job.SSH.User, err)
		failure.Advice = fmt.Sprintf("let %s run sudo without a password on the node (NOPASSWD in /etc/sudoers.d), or log in as root", s.Job.SSH.User)
	}
	return failure
}

// beat tells the node that we are still there.
func beat(ctx context.Context, to io.Writer) {
	ticker := time.NewTicker(setup.Beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if _, err := io.WriteString(to, "\n"); err != nil {
				return
			}
		}
	}
}

// messageStream takes the NDJSON messages of a node apart as they arrive.
type messageStream struct {
	handle  func(setup.Message)
	partial []byte
}

func (s *messageStream) Write(p []byte) (int, error) {
	s.partial = append(s.partial, p...)
	for {
		line, rest, complete := strings.Cut(string(s.partial), "\n")
		if !complete {
			break
		}
		var m setup.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return 0, fmt.Errorf("message %.200q: %w", line, err)
		}
		s.handle(m)
		s.partial = []byte(rest)
	}
	if len(s.partial) > messageLimit {
		return 0, fmt.Errorf("a message is longer than %d bytes", messageLimit)
	}
	return len(p), nil
}
