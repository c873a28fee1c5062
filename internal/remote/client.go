// SPDX-License-Identifier: MPL-2.0

// Package remote is SSH as the product uses it: one connection a host, through a bastion where there is
// one, host keys always checked, and every call under a context.
package remote

import (
	"context"
	"io"

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
}

// Command is what to run on a host.
type Command struct {
	Line   string // for the login shell; quote with shellescape
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Client is a connection to one host.
type Client struct {
	ssh     *ssh.Client
	name    string
	hostKey string
}

// Dial connects to a host, directly or through the client of a bastion.
func Dial(ctx context.Context, t Target, via *Client) (*Client, error) { panic("to be written") }

// HostKey gives the key that the host showed, as in known_hosts.
func (c *Client) HostKey() string { return c.hostKey }

// Run runs a command in a session of its own. The error tells apart: *ExitError (it ran and ended with
// a status or signal), ErrTransportLost (nobody knows), and the context's own.
func (c *Client) Run(ctx context.Context, cmd Command) error { panic("to be written") }

// Close ends the connection.
func (c *Client) Close() error { panic("to be written") }
