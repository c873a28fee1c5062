// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// connect reaches every node but the head node, where it runs, and puts the runner there. A node that
// cannot be reached does not keep the others from being checked.
type connect struct{ *work }

func (connect) Name() job.Phase { return job.PhaseConnect }
func (connect) Title() string   { return "Reach the nodes" }

func (p connect) Run(ctx context.Context) error {
	head := p.nodes[0]
	head.at = launch.Node{Host: launch.Local{Name: head.Name}, Runner: p.Runner}
	if len(p.nodes) == 1 {
		return nil
	}
	var err error
	if p.key, err = p.signer(); err != nil {
		return err
	}
	if p.self, err = p.thisRunner(); err != nil {
		return err
	}
	giving, stop := context.WithCancel(ctx)
	runner := p.spreadRunner(giving)
	var done atomic.Int64
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, n := range p.nodes[1:] {
		group.Go(func() error {
			receiver := &receiver{spread: runner}
			err := p.reach(ctx, n, p.ConnectTimeout, receiver.next)
			receiver.end(n, "", err)
			event := job.Event{Type: job.EventNode, Node: n.Name, Done: int(done.Add(1)) + 1, Total: len(p.nodes), Outcome: job.Pass, Message: "reached"}
			if from := receiver.from(); from != "" {
				event.Message += "; the runner came from " + from
			}
			if err != nil {
				n.unreachable = p.explain(n, err)
				event.Outcome, event.Message = job.CouldNotRun, n.unreachable.Message
			}
			p.emit(event)
			return nil
		})
	}
	_ = group.Wait() // every failure is with its node
	stop()
	runner.wait()
	if stop := p.unreachable(); stop != nil {
		return remark{stop.Outcome, "not all nodes were reached"}
	}
	return nil
}

// spreadRunner has this very program go to the nodes.
func (p connect) spreadRunner(ctx context.Context) *spread {
	var limits job.Setup
	if p.Job.Setup != nil {
		limits = *p.Job.Setup
	}
	uploads := cmp.Or(limits.MaxUploads, defaultUploads)
	return newSpread(ctx, len(p.nodes), uploads, cmp.Or(limits.MaxTransfers, defaultTransfers), make(chan struct{}, uploads), []string{"give", "runner"}, nil)
}

func (p connect) signer() (ssh.Signer, error) {
	text, err := os.ReadFile(p.Dir.Key())
	if err != nil {
		return nil, &Stop{job.CouldNotRun, job.Failure{
			Kind: "key_missing", Message: fmt.Sprintf("the key for the other nodes could not be read: %v", err),
			Advice: "put a private key that logs in to all nodes into the job directory as id_ed25519",
		}}
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, &Stop{job.CouldNotRun, job.Failure{
			Kind: "key_missing", Message: fmt.Sprintf("%s holds no usable private key: %v", p.Dir.Key(), err),
			Advice: "use a key without a passphrase",
		}}
	}
	return signer, nil
}

// thisRunner gives this very program, for nodes of this machine's architecture.
func (p connect) thisRunner() (remote.Runners, error) {
	binary, err := os.ReadFile(p.Runner)
	if err != nil {
		return nil, fmt.Errorf("read the runner: %w", err)
	}
	sum := sha256.Sum256(binary)
	return func(goarch string) ([]byte, string, error) {
		if goarch != runtime.GOARCH {
			return nil, "", fmt.Errorf("the node is %s, the head node %s: all nodes must have one architecture", goarch, runtime.GOARCH)
		}
		return binary, hex.EncodeToString(sum[:]), nil
	}, nil
}

// reach connects to a node, as soon as it answers within the limit, and puts the runner there. A node that is lost
// meanwhile, because it reboots, is reached again.
func (w *work) reach(ctx context.Context, n *nodeWork, limit time.Duration, from remote.Source) error {
	dialing, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not reached within %s", limit))
	defer cancel()
	for losses := 0; ; {
		client, err := remote.DialRetry(dialing, remote.Target{
			Name: n.Name, Address: n.Address, Port: w.Job.SSH.Port, User: w.Job.SSH.User,
			Signers: []ssh.Signer{w.key}, HostKey: n.HostKey,
		}, nil)
		if err != nil {
			return err
		}
		n.close = client.Close
		runner, err := remote.EnsureRunnerFrom(ctx, client, w.self, from)
		if err == nil {
			n.at = launch.Node{Host: client, Runner: runner}
			return nil
		}
		if !isLost(err) {
			return err
		}
		_ = client.Close() // it is lost
		n.close = nil
		if losses++; losses > lossLimit || dialing.Err() != nil {
			return err
		}
	}
}

// explain gives the reason why a node is not part of the job.
func (w *work) explain(n *nodeWork, err error) *job.Failure {
	failure := &job.Failure{
		Kind: "unreachable", Node: n.Name, Message: fmt.Sprintf("%s (%s) could not be reached: %v", n.Name, n.Address, err),
		Advice: fmt.Sprintf("see whether the node runs, and whether security lists and host firewalls let TCP port %d through between the nodes", w.Job.SSH.Port),
	}
	var changed *remote.HostKeyError
	switch {
	case errors.As(err, &changed):
		failure.Kind = "host_key_changed"
		failure.Advice = "another machine answers at this address, or the node was installed anew; see to it which, before its new key is trusted"
	case errors.Is(err, remote.ErrAuth):
		failure.Kind = "login_refused"
		failure.Advice = fmt.Sprintf("see that the job's key is in ~%s/.ssh/authorized_keys on the node", w.Job.SSH.User)
	case n.close != nil:
		failure.Kind = "runner_not_installed"
		failure.Message = fmt.Sprintf("the runner could not be put on %s: %v", n.Name, err)
		failure.Advice = "see that the login user's home has space and lets programs run"
	}
	return failure
}

// unreachable gives the reason to stop because of nodes that could not be reached; nil when all were.
func (w *work) unreachable() *Stop {
	var names []string
	var first *job.Failure
	for _, n := range w.nodes {
		if n.unreachable != nil {
			names = append(names, n.Name)
			if first == nil {
				first = n.unreachable
			}
		}
	}
	if first == nil {
		return nil
	}
	failure := *first
	if len(names) > 1 {
		failure.Node = ""
		failure.Message = fmt.Sprintf("%d of %d nodes could not be used (%s); the first one: %s", len(names), len(w.nodes), strings.Join(names, ", "), first.Message)
	}
	return &Stop{job.CouldNotRun, failure}
}
