// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
)

// ExitError says that a command ran on a host and ended with a status that is not 0.
type ExitError struct {
	Status int
	Stderr []byte
}

// Error has the status and what the command printed to standard error.
func (e *ExitError) Error() string {
	return fmt.Sprintf("the command ended with status %d: %s", e.Status, bytes.TrimSpace(e.Stderr))
}

// Exec runs a command as root on the host of an instance, known by its OCID or host name, or on the
// bastion ("bastion"), and gives its standard output. A status that is not 0 is an [ExitError]; the end of ctx ends the command.
func (l *Lab) Exec(ctx context.Context, host string, argv ...string) ([]byte, error) {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("open an empty input: %w", err)
	}
	defer func() { _ = stdin.Close() }()
	stdout, err := newCapture()
	if err != nil {
		return nil, err
	}
	stderr, err := newCapture()
	if err != nil {
		return nil, errors.Join(err, stdout.writer.Close())
	}
	status, err := l.ExecFiles(ctx, host, argv, stdin, stdout.writer, stderr.writer)
	out, diagnostics := stdout.finish(), stderr.finish()
	if err == nil && status != 0 {
		err = &ExitError{status, diagnostics}
	}
	return out, err
}

// capture collects what is written to a pipe.
type capture struct {
	writer *os.File
	buffer bytes.Buffer
	done   chan struct{}
}

func newCapture() (*capture, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	c := &capture{writer: writer, done: make(chan struct{})}
	go func() {
		_, _ = io.Copy(&c.buffer, reader) // A pipe that breaks gives what it gave.
		_ = reader.Close()
		close(c.done)
	}()
	return c, nil
}

func (c *capture) finish() []byte {
	_ = c.writer.Close()
	<-c.done
	return c.buffer.Bytes()
}

// ExecFiles runs a command like [Lab.Exec] with the caller's own files, and gives its exit status.
func (l *Lab) ExecFiles(ctx context.Context, host string, argv []string, stdin, stdout, stderr *os.File) (int, error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	return hostinit.Exec(ctx, conn, controlRequest{Operation: operationExec, Host: host, Argv: argv}, stdin, stdout, stderr)
}
