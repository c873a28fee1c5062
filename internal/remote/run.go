// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// stderrTail is how much of a command's stderr an error shows, in bytes.
const stderrTail = 4 << 10

// Run runs a command in a session of its own. The error tells apart: *ExitError (it ran and ended with a
// status or signal), ErrNoExitStatus (the host closed the session without saying), ErrTransportLost (nobody
// knows), and the context's own. When the context ends, the session is closed: the command's stdin ends, and it
// gets SIGTERM where sshd does that (not for root, and not the old ones).
func (c *Client) Run(ctx context.Context, cmd Command) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var lock sync.Mutex
	tail := &tail{}
	stdout := &gate{lock: &lock, to: orDiscard(cmd.Stdout), failed: cancel}
	stderr := &gate{lock: &lock, to: io.MultiWriter(tail, orDiscard(cmd.Stderr)), failed: cancel}
	defer stdout.shut()
	defer stderr.shut()

	result := make(chan error, 1)
	go func() { result <- c.session(ctx, cmd, stdout, stderr) }()
	select {
	case err := <-result:
		return c.outcome(ctx, err, tail)
	case <-ctx.Done():
		return fmt.Errorf("command on %s: %w", c.name, context.Cause(ctx))
	case <-c.lost:
	}
	select { // the end of the command may have come just before the end of the connection
	case err := <-result:
		return c.outcome(ctx, err, tail)
	case <-time.After(time.Second):
		return c.lostError()
	}
}

// Output runs a command line and gives what it wrote to stdout.
func (c *Client) Output(ctx context.Context, line string) ([]byte, error) {
	var out limited
	err := c.Run(ctx, Command{Line: line, Stdout: &out})
	return out.data, err
}

func (c *Client) session(ctx context.Context, cmd Command, stdout, stderr io.Writer) error {
	session, err := c.ssh.NewSession()
	if err != nil {
		return c.stillThere(fmt.Errorf("open a session: %w", err))
	}
	defer session.Close() //nolint:errcheck // closed already when the command has ended
	stop := context.AfterFunc(ctx, func() {
		_ = session.Signal(ssh.SIGTERM)
		_ = session.Close()
	})
	defer stop()
	session.Stdin, session.Stdout, session.Stderr = cmd.Stdin, stdout, stderr
	err = session.Run(cmd.Line)
	var exit *ssh.ExitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	var missing *ssh.ExitMissingError
	if errors.As(err, &missing) {
		err = ErrNoExitStatus
	}
	return c.stillThere(err)
}

// stillThere gives the error, or the loss of the connection where that explains it.
func (c *Client) stillThere(err error) error {
	if c.ping() != nil {
		return c.lostError()
	}
	return err
}

func (c *Client) lostError() error {
	<-c.lost
	return fmt.Errorf("%s: %w: %w", c.name, ErrTransportLost, c.cause)
}

func (c *Client) outcome(ctx context.Context, err error, tail *tail) error {
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("command on %s: %w", c.name, context.Cause(ctx))
	case errors.As(err, &exit):
		status := exit.ExitStatus()
		if exit.Signal() != "" {
			status = -1
		}
		return &ExitError{Name: c.name, Status: status, Signal: exit.Signal(), Stderr: tail.String()}
	case errors.Is(err, ErrTransportLost):
		return err
	}
	return fmt.Errorf("command on %s: %w", c.name, err)
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// gate passes writes on until it is shut: nobody writes to a caller's buffer after Run has returned.
type gate struct {
	lock   *sync.Mutex // shared by stdout and stderr, which may be one writer
	to     io.Writer
	failed func(error)
}

func (g *gate) Write(p []byte) (int, error) {
	g.lock.Lock()
	defer g.lock.Unlock()
	n, err := g.to.Write(p)
	if err != nil {
		g.failed(err)
	}
	return n, err
}

func (g *gate) shut() {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.to = io.Discard
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - stderrTail; over > 0 {
		t.kept = t.kept[over:]
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }

// outputLimit bounds what Output takes from a host.
const outputLimit = 4 << 20

// limited is a buffer that refuses more than outputLimit.
type limited struct{ data []byte }

func (l *limited) Write(p []byte) (int, error) {
	if len(l.data)+len(p) > outputLimit {
		return 0, fmt.Errorf("more than %d bytes of output", outputLimit)
	}
	l.data = append(l.data, p...)
	return len(p), nil
}
