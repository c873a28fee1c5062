// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// dialLimit bounds one connection to another node. A packet filter that drops gives no answer at all.
const dialLimit = 3 * time.Second

// dialsAtOnce bounds the connections that a node opens at the same time.
const dialsAtOnce = 32

// ListenForNodes waits for connections of other nodes at a port that the kernel chooses, as it does for MPI, and
// writes the port, a line, as soon as they can come. It returns when the context ends.
func ListenForNodes(ctx context.Context, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", ":0")
	if err != nil {
		return fmt.Errorf("listen for other nodes: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	address, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return fmt.Errorf("listen for other nodes: %w", err)
	}
	if _, err := fmt.Fprintln(out, address.Port()); err != nil {
		return fmt.Errorf("tell the port: %w", err)
	}
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("wait for other nodes: %w", err)
		}
		_ = conn.Close() // it was only to be opened
	}
}

// Connection is the trial of one.
type Connection struct {
	Address string `json:"address"` // host:port
	// Error says why there was none; empty when it was opened.
	Error string `json:"error,omitempty"`
}

// ConnectToNodes opens and closes a connection to each address.
func ConnectToNodes(ctx context.Context, addresses []string) []Connection {
	all := make([]Connection, len(addresses))
	slots := make(chan struct{}, dialsAtOnce)
	var group sync.WaitGroup
	for i, address := range addresses {
		all[i].Address = address
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := connect(ctx, address); err != nil {
				all[i].Error = err.Error()
			}
		})
	}
	group.Wait()
	return all
}

func connect(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", address)
	var late net.Error
	switch {
	case err == nil:
		return conn.Close()
	case ctx.Err() != nil, errors.As(err, &late) && late.Timeout(): // the dialer may know before the context
		return fmt.Errorf("no answer within %s: packets are dropped on the way", dialLimit)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("turned away on the way: %w", err)
	}
	return err
}

// CheckPorts judges the connections to one node: which others tried, and what each got. There is nothing to
// judge when nobody tried.
func CheckPorts(tried []Trial) job.Check {
	const name = "mpi_ports"
	var failed []string
	reason := ""
	for _, t := range tried {
		if t.Error != "" {
			failed = append(failed, t.From)
			reason = t.Error
		}
	}
	slices.Sort(failed)
	switch {
	case len(tried) == 0:
		return check(name, job.CannotTell, "no other node could try", "")
	case len(failed) > 0:
		return check(name, job.Fail, fmt.Sprintf("no connection from %s (of %d nodes that tried) to %s: %s", strings.Join(failed, ", "), len(tried), tried[0].Address, reason), "")
	}
	return check(name, job.Pass, fmt.Sprintf("connections from %d other nodes", len(tried)), "")
}

// Trial is a connection that another node tried.
type Trial struct {
	From string // its name
	Connection
}
