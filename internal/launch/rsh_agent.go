// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// Agent runs commands on the job's nodes for `ocihpc-runner rsh`, over the connections that the job has.
// Whoever can open its socket can run commands on the nodes: it is its owner's alone.
type Agent struct {
	// Nodes by address.
	Nodes map[string]Node

	listener net.Listener
	cancel   context.CancelFunc
	serving  sync.WaitGroup
}

// Node is a host with the path of the ocihpc-runner there.
type Node struct {
	Host   Host
	Runner string
	// Enter leads into a container, where Runner is then; see [Command].
	Enter []string
}

// Run is [Run] there.
func (n Node) Run(ctx context.Context, c Command, stdout, stderr io.Writer) error {
	c.Enter = n.Enter
	return Run(ctx, n.Host, n.Runner, c, stdout, stderr)
}

// maxSocketPath is what fits into the kernel's sockaddr_un, in bytes.
const maxSocketPath = 107

// Listen starts to serve on a Unix socket, in place of one that a dead job left there.
func (a *Agent) Listen(ctx context.Context, socket string) error {
	if len(socket) > maxSocketPath {
		return fmt.Errorf("the path of the socket %s is longer than %d bytes: use a job directory with a shorter path", socket, maxSocketPath)
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return fmt.Errorf("make the socket's folder: %w", err)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove old socket: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listen for rsh: %w", err)
	}
	if err := os.Chmod(socket, 0o600); err != nil { // connecting takes the right to write
		_ = listener.Close()
		return fmt.Errorf("protect the socket: %w", err)
	}
	ctx, a.cancel = context.WithCancel(ctx)
	a.listener = listener
	a.serving.Go(func() { a.accept(ctx) })
	return nil
}

// Close ends all commands and removes the socket.
func (a *Agent) Close() error {
	a.cancel()
	err := a.listener.Close()
	a.serving.Wait()
	return err
}

func (a *Agent) accept(ctx context.Context) {
	for {
		conn, err := a.listener.Accept()
		if err != nil {
			return // closed
		}
		a.serving.Go(func() {
			defer conn.Close() //nolint:errcheck // the client has its answer, or is gone
			a.serve(ctx, conn)
		})
	}
}

func (a *Agent) serve(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unblock := context.AfterFunc(ctx, func() { _ = conn.(*net.UnixConn).CloseRead() }) //nolint:forcetypeassert // of a unix listener
	defer unblock()
	asked, err := readRequest(conn)
	if err != nil {
		return // nobody that speaks the protocol
	}
	go func() {
		_, _ = io.Copy(io.Discard, conn) // its end is the client's
		cancel()
	}()
	var lock sync.Mutex
	stdout := frameWriter{kind: frameStdout, to: conn, lock: &lock}
	stderr := frameWriter{kind: frameStderr, to: conn, lock: &lock}
	status := a.run(ctx, asked, stdout, stderr)
	lock.Lock()
	defer lock.Unlock()
	_ = writeFrame(conn, frameExit, []byte{status}) // the client may be gone
}

// statusUnreachable is what ssh gives for its own failures.
const statusUnreachable = 255

func (a *Agent) run(ctx context.Context, asked request, stdout, stderr io.Writer) byte {
	node, ok := a.Nodes[asked.Host]
	if !ok {
		_, _ = fmt.Fprintf(stderr, "ocihpc-runner rsh: %s is no node of this job\n", asked.Host)
		return statusUnreachable
	}
	err := node.Run(ctx, Command{Argv: []string{"/bin/sh", "-c", asked.Line}}, stdout, stderr)
	var exit *remote.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Status >= 0:
		return byte(exit.Status) // #nosec G115 -- an exit status
	}
	_, _ = fmt.Fprintf(stderr, "ocihpc-runner rsh: %s: %v\n", asked.Host, err)
	return statusUnreachable
}
