// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// cleanupLimit bounds taking the job's keys away.
const cleanupLimit = 30 * time.Second

// Outcome is what came of [Execute], as far as it got.
type Outcome struct {
	// Result is nil when the job did not come to its end.
	Result *job.Result
	// HostKeys are all keys known now, to be given as Access.HostKeys the next time.
	HostKeys map[string]string
	// Key of the job, which names its directory on the head node; empty when not all nodes were reached.
	Key string
	// Reused says that the job ran already, or had run: this call did not start it.
	Reused bool
	// CleanupErr says which nodes still hold the job's key. It expires by itself.
	CleanupErr error
}

// Execute has the cluster's head node work on a job, and follows it to its end. The job is detached there: it
// outlives a lost connection, to which Execute re-attaches for as long as the context lives, and it outlives
// the context too. Then its keys stay, so that it can go on, and the next Execute of the same job finds it;
// call [Cancel] where it must not go on. onEvent is called for one event after the other; nil is none.
//
// The outcome is worth recording even with an error.
func Execute(ctx context.Context, access Access, j job.Job, runners Runners, onEvent func(job.Event)) (Outcome, error) {
	if len(j.Nodes) == 0 {
		return Outcome{}, errors.New("the job has no nodes")
	}
	c := newCluster(access, j.Nodes)
	defer c.close()
	err := c.connect(ctx)
	outcome := Outcome{HostKeys: c.hostKeys()}
	if err != nil {
		return outcome, fmt.Errorf("connect to the nodes: %w", err)
	}
	r := &execution{cluster: c, job: c.fill(j), runners: runners, onEvent: onEvent}
	r.key = r.job.Key()
	r.dir = job.DirOf(r.key)
	outcome.Key = r.key

	err = r.execute(ctx)
	outcome.Result, outcome.Reused = r.result, r.reused
	if r.keyIsDone(ctx, err) {
		outcome.CleanupErr = r.removeKeys(ctx)
	}
	return outcome, err
}

// Cancel ends a job that [Execute] left running, and takes its keys away. Access.HostKeys are those of
// Execute's outcome.
func Cancel(ctx context.Context, access Access, j job.Job, runners Runners) error {
	if len(j.Nodes) == 0 {
		return errors.New("the job has no nodes")
	}
	c := newCluster(access, j.Nodes)
	defer c.close()
	filled := c.fill(j)
	r := &execution{cluster: c, job: filled, runners: runners, key: filled.Key()}
	r.dir = job.DirOf(r.key)
	if err := r.ensureRunner(ctx); err != nil {
		return err
	}
	err := c.on(ctx, head, func(client *Client) error {
		return client.Run(ctx, Command{Line: r.command("cancel")})
	})
	if err != nil {
		err = fmt.Errorf("cancel the job: %w", err)
	}
	return errors.Join(err, r.removeKeys(ctx))
}

// execution is one call of Execute.
type execution struct {
	cluster *cluster
	job     job.Job
	key     string
	dir     job.Dir
	runners Runners
	runner  string // its path on the head node
	onEvent func(job.Event)

	freshKey bool // the job's key was made by this call
	asked    bool // the head node was asked to start the job
	reused   bool
	result   *job.Result
}

func (r *execution) execute(ctx context.Context) error {
	if err := r.ensureRunner(ctx); err != nil {
		return err
	}
	if err := r.installKeys(ctx); err != nil {
		return fmt.Errorf("let the head node in: %w", err)
	}
	r.cluster.release()
	if err := r.start(ctx); err != nil {
		return fmt.Errorf("start the job: %w", err)
	}
	if err := r.follow(ctx); err != nil {
		return fmt.Errorf("follow the job: %w", err)
	}
	if r.result == nil {
		return fmt.Errorf("the job on %s ended without a result; its log is ~/%s there", r.job.Nodes[head].Name, r.dir.Log())
	}
	return nil
}

func (r *execution) ensureRunner(ctx context.Context) error {
	return r.cluster.on(ctx, head, func(client *Client) (err error) {
		r.runner, err = EnsureRunner(ctx, client, r.runners)
		return err
	})
}

// installKeys makes the job's key and lets it in on every node, coming from the head node.
func (r *execution) installKeys(ctx context.Context) error {
	var line string
	err := r.cluster.on(ctx, head, func(client *Client) error {
		from, err := ownAddresses(ctx, client)
		if err != nil {
			return err
		}
		var public ssh.PublicKey
		var fresh bool
		public, fresh, err = ensureKeyPair(ctx, client, r.dir)
		r.freshKey = r.freshKey || fresh
		if err != nil {
			return err
		}
		limit := time.Duration(r.job.TimeoutSeconds) * time.Second
		line = authorizedLine(public, r.key, from, time.Now().Add(limit))
		return nil
	})
	if err != nil {
		return err
	}
	return r.authorizeAll(ctx, line)
}

func (r *execution) authorizeAll(ctx context.Context, line string) error {
	return r.cluster.each(func(i int) error {
		return r.cluster.on(ctx, i, func(client *Client) error { return authorize(ctx, client, r.key, line) })
	})
}

// keyIsDone says whether nothing can need the job's key any more after this call, which ended with err.
func (r *execution) keyIsDone(ctx context.Context, err error) bool {
	switch {
	case err == nil:
		return true
	case r.asked: // the job may be running; when the caller is interrupted, it is to go on
		return ctx.Err() == nil
	default: // a key that was there before may be that of a running job
		return r.freshKey
	}
}

// removeKeys takes the job's key away, from the head node and from every node, and the credentials of registries. It has a little time of its own
// because what it undoes must not stay behind when the caller has run out of time.
func (r *execution) removeKeys(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	secrets := shellescape.QuoteCommand([]string{r.dir.Key(), r.dir.Key() + ".pub", r.dir.RegistryAuth()})
	err := r.cluster.on(ctx, head, func(client *Client) error {
		return client.Run(ctx, Command{Line: "cd && rm -f " + secrets})
	})
	if err = errors.Join(err, r.authorizeAll(ctx, "")); err != nil {
		return fmt.Errorf("remove the job's key: %w", err)
	}
	return nil
}

// command is a command line of the runner about the job.
func (r *execution) command(verb string, more ...string) string {
	return "cd && exec " + shellescape.QuoteCommand(append([]string{r.runner, verb, string(r.dir)}, more...))
}

// start has the head node work on the job, unless it does or has done so already.
func (r *execution) start(ctx context.Context) error {
	text, err := json.MarshalIndent(r.job, "", "  ")
	if err != nil {
		return err
	}
	lost := false
	return r.cluster.on(ctx, head, func(client *Client) error {
		if err := client.write(ctx, r.dir.Job(), text); err != nil {
			return err
		}
		if auth := r.cluster.access.RegistryAuth; auth != nil {
			if err := client.write(ctx, r.dir.RegistryAuth(), auth); err != nil {
				return err
			}
		}
		r.asked = true
		out, err := client.Output(ctx, r.command("start"))
		if err != nil {
			lost = true // it stays open whether this attempt started the job
			return err
		}
		var answer struct {
			State string `json:"state"`
		}
		if err := json.Unmarshal(out, &answer); err != nil {
			return fmt.Errorf("the runner's answer %.200q is no JSON: %w", out, err)
		}
		r.reused = !lost && answer.State != "started"
		return nil
	})
}

// follow reads the job's events to their end, over as many connections as it takes.
func (r *execution) follow(ctx context.Context) error {
	stream := &eventStream{handle: r.handle}
	return r.cluster.on(ctx, head, func(client *Client) error {
		stream.restart()
		return client.Run(ctx, Command{Line: r.command("attach", "--from", strconv.FormatInt(stream.consumed, 10)), Stdout: stream})
	})
}

func (r *execution) handle(e job.Event) {
	if e.Type == job.EventResult {
		r.result = e.Result
	}
	if r.onEvent != nil {
		r.onEvent(e)
	}
}
