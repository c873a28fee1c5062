// SPDX-License-Identifier: MPL-2.0

// Package remote is SSH as the product uses it: one connection a host, through a bastion where there is
// one, host keys always checked, and every call under a context. On top of it stand [Execute], which has a
// cluster's head node work on a job, and [EnsureRunner], which puts the runner on a host.
package remote

import (
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Target is a host to log in to.
type Target struct {
	// Name is what messages call the host.
	Name    string
	Address string
	Port    int // 0 means 22
	User    string
	Signers []ssh.Signer
	// HostKey that the host must show, as in known_hosts ("ssh-ed25519 AAAA…"). Empty accepts the key
	// of a first contact; ask [Client.HostKey] for it and give it the next time.
	HostKey string
	// KeepAlive is how long a host may be silent before it is asked whether it is there; after three times
	// that long without a byte the connection counts as lost. 0 means 10 seconds.
	KeepAlive time.Duration
	// OnRetry, where set, hears now and then why [DialRetry] is still trying.
	OnRetry func(reason error)
}

// Command is what to run on a host.
type Command struct {
	Line string // for the login shell; quote with shellescape
	// Stdin is the command's input; nil is empty. It may be read once more after Run has returned.
	Stdin io.Reader
	// Stdout and Stderr are written to by one goroutine at a time, and never after Run has returned; nil
	// discards. A failing write ends the command.
	Stdout io.Writer
	Stderr io.Writer
}

// Client is a connection to one host. It is safe for concurrent use.
type Client struct {
	ssh     *ssh.Client
	link    *link
	name    string
	hostKey string

	ended sync.Once
	lost  chan struct{} // closed when the connection has ended
	cause error         // why; set before lost is closed
}

var errClosed = errors.New("closed by us")

func newClient(t Target, hostKey string, conn *ssh.Client, link *link) *Client {
	c := &Client{ssh: conn, link: link, name: t.Name, hostKey: hostKey, lost: make(chan struct{})}
	go func() { c.end(conn.Wait()) }()
	go c.keepAlive(t.KeepAlive)
	return c
}

// HostKey gives the key that the host showed, as in known_hosts.
func (c *Client) HostKey() string { return c.hostKey }

// Close ends the connection and every command on it.
func (c *Client) Close() error {
	c.end(errClosed)
	return nil
}

// alive says whether the connection still stands, as far as is known.
func (c *Client) alive() bool {
	select {
	case <-c.lost:
		return false
	default:
		return true
	}
}

func (c *Client) end(cause error) {
	c.ended.Do(func() {
		c.cause = cause
		close(c.lost)
		_ = c.ssh.Close() // it is gone either way
	})
}
