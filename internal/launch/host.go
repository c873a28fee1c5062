// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// Host runs command lines in a login shell. A *remote.Client is one, and so is [Local].
type Host interface {
	// Run runs the line to its end. It gives *remote.ExitError when the command ended with another status than 0.
	Run(ctx context.Context, cmd remote.Command) error
}

// Local is the machine that the program runs on.
type Local struct {
	Name string // what messages call it
}

// Run runs a line by sh. The end of the context kills the shell alone; see [Run] for more.
func (l Local) Run(ctx context.Context, cmd remote.Command) error {
	shell := exec.CommandContext(ctx, "/bin/sh", "-c", cmd.Line) // #nosec G204 -- as SSH does
	shell.Stdout, shell.Stderr = cmd.Stdout, cmd.Stderr
	shell.WaitDelay = time.Second
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us, not for what we started
	if cmd.Stdin != nil {
		stdin, err := shell.StdinPipe()
		if err != nil {
			return fmt.Errorf("start on %s: %w", l.Name, err)
		}
		go func() {
			_, _ = io.Copy(stdin, cmd.Stdin) // the command may not want all of it
			_ = stdin.Close()
		}()
	}
	err := shell.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return &remote.ExitError{Name: l.Name, Status: exit.ExitCode()}
	}
	if err != nil {
		return fmt.Errorf("run on %s: %w", l.Name, err)
	}
	return nil
}

// endGrace is how long a command has for its end after it was asked to; more than [Supervise] takes.
const endGrace = 3 * killAfter

// Run runs a supervised command on a host. When the context ends, the command and everything it started
// are ended before Run returns, with the context's cause as the error. runner is the path of ocihpc-runner
// on that host.
func Run(ctx context.Context, host Host, runner string, c Command, stdout, stderr io.Writer) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start %s: %w", c.Argv[0], context.Cause(ctx))
	}
	// The supervisor reads this; its end is the sign to end. A lost connection ends it too.
	lifeline, hold := io.Pipe()
	return converse(ctx, host, remote.Command{Line: c.Line(runner), Stdin: lifeline, Stdout: stdout, Stderr: stderr}, c.Argv[0], hold)
}

// Converse runs a command of the runner itself on a host, with its arguments, which reads what is written to the other end of lifeline, and
// ends when that ends. When the context ends, hold is closed; the command has 15 seconds to end then.
func Converse(ctx context.Context, host Host, runner string, command []string, lifeline *io.PipeReader, hold *io.PipeWriter, stdout, stderr io.Writer) error {
	defer lifeline.Close() //nolint:errcheck // a pipe's reader never fails to close
	line := "exec " + shellescape.QuoteCommand(append([]string{runner}, command...))
	if !path.IsAbs(runner) {
		line = "cd && " + line
	}
	return converse(ctx, host, remote.Command{Line: line, Stdin: lifeline, Stdout: stdout, Stderr: stderr}, command[0], hold)
}

func converse(ctx context.Context, host Host, cmd remote.Command, name string, hold *io.PipeWriter) error {
	defer hold.Close() //nolint:errcheck // a pipe's writer never fails to close
	session, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		_ = hold.Close()
		time.AfterFunc(endGrace, cancel)
	})
	defer stop()
	err := host.Run(session, cmd)
	if ctx.Err() != nil {
		return fmt.Errorf("ended %s: %w", name, context.Cause(ctx))
	}
	return err
}
