// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

var (
	// ErrAuth says that the host accepted none of the keys. A node that is still being set up may accept
	// them later, so [DialRetry] tries again.
	ErrAuth = errors.New("login refused")

	// ErrTransportLost says that the connection broke; nobody knows what became of the command.
	ErrTransportLost = errors.New("connection lost")

	// ErrNoExitStatus says that a command's session was closed by the host without a word about its end.
	ErrNoExitStatus = errors.New("the session ended without an exit status")
)

// HostKeyError says that a host did not show the key that it is known by. It is never retried.
type HostKeyError struct {
	Name string // of the host
	Want string // the known key, as in known_hosts
	// Got is the key that was shown, as in known_hosts; empty when the host has none of the known one's type.
	Got string
}

func (e *HostKeyError) Error() string {
	got := "it shows " + fingerprint(e.Got)
	if e.Got == "" {
		got = "it has no key of that type any more"
	}
	return fmt.Sprintf("the SSH host key of %s has changed: known is %s, but %s; either the host was rebuilt, or someone "+
		"is answering in its place. If you know that it was rebuilt, give its new host key or remove the recorded one",
		e.Name, fingerprint(e.Want), got)
}

// DialError says that there is no connection to a host. Ask errors.Is for [ErrAuth], [ErrTransportLost] (of
// the bastion), or what the network said.
type DialError struct {
	Name    string // of the host
	Address string // host:port
	Via     string // name of the bastion, if there is one
	Err     error

	permanent bool // trying again is of no use
}

func (e *DialError) Error() string {
	via := ""
	if e.Via != "" {
		via = " through " + e.Via
	}
	return fmt.Sprintf("SSH to %s (%s)%s: %v", e.Name, e.Address, via, e.Err)
}

// Unwrap gives the cause.
func (e *DialError) Unwrap() error { return e.Err }

// ExitError says that a command ran and did not end with status 0.
type ExitError struct {
	Name   string // of the host
	Status int    // -1 when a signal ended the command
	Signal string // such as TERM; empty when the command ended by itself
	Stderr string // the last few KiB that it wrote there
}

func (e *ExitError) Error() string {
	end := fmt.Sprintf("exit status %d", e.Status)
	if e.Signal != "" {
		end = "ended by signal " + e.Signal
	}
	if text := strings.TrimSpace(e.Stderr); text != "" {
		end += ": " + text
	}
	return fmt.Sprintf("command on %s: %s", e.Name, end)
}

// fingerprint gives a key the way people compare it.
func fingerprint(key string) string {
	parsed, _, _, _, err := ssh.ParseAuthorizedKey([]byte(key))
	if err != nil {
		return fmt.Sprintf("%q", key)
	}
	return parsed.Type() + " " + ssh.FingerprintSHA256(parsed)
}
