// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// dialLimit bounds one attempt, from the first packet to the login.
const dialLimit = 20 * time.Second

// firstContactKeys are the host key algorithms for a host whose key is not known yet, best first. Without
// certificates: a key is recorded, not an authority.
var firstContactKeys = []string{
	ssh.KeyAlgoED25519,
	ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
	ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
}

// Dial connects to a host, directly or through the client of a bastion. Errors are *[HostKeyError] and
// *[DialError].
func Dial(ctx context.Context, t Target, via *Client) (*Client, error) {
	client, err := dial(ctx, t, via)
	if err == nil {
		return client, nil
	}
	var hostKey *HostKeyError
	if errors.As(err, &hostKey) {
		return nil, hostKey
	}
	failure := &DialError{Name: t.Name, Address: t.hostPort(), Err: err, permanent: isPermanent(err)}
	if via != nil {
		failure.Via = via.name
	}
	return nil, failure
}

// tellEvery is how often OnRetry hears of a host that is not there.
const tellEvery = 20 * time.Second

// DialRetry connects to a host that may still be booting: it tries until the context ends, unless trying
// again is of no use (host key, configuration, a lost bastion). The error holds the last real reason.
func DialRetry(ctx context.Context, t Target, via *Client) (*Client, error) {
	var last error
	var pause backoff
	told := time.Now()
	for {
		client, err := Dial(ctx, t, via)
		if err == nil {
			return client, nil
		}
		if ctx.Err() != nil { // this attempt was cut short: the one before it knew the reason
			return nil, gaveUp(ctx, t, last)
		}
		var failure *DialError
		if !errors.As(err, &failure) || failure.permanent || errors.Is(err, ErrTransportLost) {
			return nil, err
		}
		last = err
		if t.OnRetry != nil && time.Since(told) >= tellEvery {
			told = time.Now()
			t.OnRetry(err)
		}
		if pause.wait(ctx) != nil {
			return nil, gaveUp(ctx, t, last)
		}
	}
}

// gaveUp gives the last real reason; nil when the only attempt was cut short.
func gaveUp(ctx context.Context, t Target, last error) error {
	if last == nil {
		return fmt.Errorf("gave up waiting for %s: %w", t.Name, context.Cause(ctx))
	}
	return fmt.Errorf("gave up waiting for %s (%w): %w", t.Name, context.Cause(ctx), last)
}

// hostPort gives the address with the port.
func (t Target) hostPort() string {
	port := t.Port
	if port == 0 {
		port = 22
	}
	return net.JoinHostPort(t.Address, strconv.Itoa(port))
}

// configurationError is a mistake in what was asked for.
type configurationError struct{ error }

func isPermanent(err error) bool {
	var configuration configurationError
	var open *ssh.OpenChannelError
	return errors.As(err, &configuration) || errors.As(err, &open) && open.Reason != ssh.ConnectionFailed
}

func dial(ctx context.Context, t Target, via *Client) (*Client, error) {
	if len(t.Signers) == 0 {
		return nil, configurationError{errors.New("there is no private key to log in with")}
	}
	keys, err := newHostKeyCheck(t)
	if err != nil {
		return nil, err
	}
	attempt, cancel := context.WithTimeoutCause(ctx, dialLimit, fmt.Errorf("no answer within %s", dialLimit))
	defer cancel()
	raw, err := connect(attempt, t, via)
	if err != nil {
		return nil, explain(ctx, attempt, err)
	}

	// The handshake knows no context, and a connection through a bastion no deadlines: closing ends both.
	stop := context.AfterFunc(attempt, func() { _ = raw.Close() })
	watched := newLink(raw)
	conn, channels, requests, err := ssh.NewClientConn(watched, t.hostPort(), &ssh.ClientConfig{
		User:              t.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(t.Signers...)},
		HostKeyCallback:   keys.check,
		HostKeyAlgorithms: keys.algorithms,
	})
	if !stop() || err != nil {
		_ = raw.Close()
		return nil, explain(ctx, attempt, keys.explain(authFailure(t, err)))
	}
	return newClient(t, marshalKey(keys.shown), ssh.NewClient(conn, channels, requests), watched), nil
}

// connect opens the raw connection.
func connect(ctx context.Context, t Target, via *Client) (net.Conn, error) {
	if via == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", t.hostPort())
	}
	conn, err := via.ssh.DialContext(ctx, "tcp", t.hostPort())
	var refused *ssh.OpenChannelError
	switch {
	case err == nil:
		return conn, nil
	case errors.As(err, &refused) && refused.Reason != ssh.ConnectionFailed:
		return nil, fmt.Errorf("%s does not forward connections (AllowTcpForwarding, PermitOpen in its sshd_config): %w", via.name, err)
	case errors.As(err, &refused):
		return nil, err
	case ctx.Err() == nil && via.ping() != nil:
		return nil, fmt.Errorf("%s: %w: %w", via.name, ErrTransportLost, err)
	}
	return nil, err
}

// explain puts the reason in place of what closing a connection looks like.
func explain(ctx, attempt context.Context, err error) error {
	var hostKey *HostKeyError
	switch {
	case errors.As(err, &hostKey):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case attempt.Err() != nil:
		return context.Cause(attempt)
	}
	return err
}

// authFailure marks the refusal of our keys. x/crypto has no type for it; these are the message of
// clientAuthenticate (client_auth.go) and OpenSSH's words when it was offered more keys than it looks at.
func authFailure(t Target, err error) error {
	if err == nil || !strings.Contains(err.Error(), "ssh: unable to authenticate") &&
		!strings.Contains(err.Error(), "Too many authentication failures") {
		return err
	}
	var offered []string
	for _, signer := range t.Signers {
		offered = append(offered, ssh.FingerprintSHA256(signer.PublicKey()))
	}
	return fmt.Errorf("%w: user %s, offered %s: %w", ErrAuth, t.User, strings.Join(offered, ", "), err)
}

// hostKeyCheck holds a host to its known key.
type hostKeyCheck struct {
	name       string
	want       ssh.PublicKey // nil on first contact
	algorithms []string
	shown      ssh.PublicKey
}

func newHostKeyCheck(t Target) (*hostKeyCheck, error) {
	if t.HostKey == "" {
		return &hostKeyCheck{name: t.Name, algorithms: firstContactKeys}, nil
	}
	want, _, _, _, err := ssh.ParseAuthorizedKey([]byte(t.HostKey))
	if err != nil {
		return nil, configurationError{fmt.Errorf("the known host key %q is none: %w", t.HostKey, err)}
	}
	algorithms := []string{want.Type()} // so that the host shows this one of its keys
	if want.Type() == ssh.KeyAlgoRSA {
		algorithms = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return &hostKeyCheck{name: t.Name, want: want, algorithms: algorithms}, nil
}

func (k *hostKeyCheck) check(_ string, _ net.Addr, key ssh.PublicKey) error {
	if k.want != nil && marshalKey(k.want) != marshalKey(key) {
		return &HostKeyError{Name: k.name, Want: marshalKey(k.want), Got: marshalKey(key)}
	}
	k.shown = key
	return nil
}

// explain tells a host that no longer has a key of the known type from other failures.
func (k *hostKeyCheck) explain(err error) error {
	var negotiation *ssh.AlgorithmNegotiationError
	if k.want != nil && errors.As(err, &negotiation) && negotiation.What == "host key" {
		return &HostKeyError{Name: k.name, Want: marshalKey(k.want)}
	}
	return err
}

func marshalKey(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// backoff spaces attempts: from a quarter of a second to five, half of it chance, so that many hosts are not
// asked in step.
type backoff struct{ next time.Duration }

func (b *backoff) wait(ctx context.Context) error {
	b.next = min(max(b.next*3/2, 250*time.Millisecond), 5*time.Second)
	timer := time.NewTimer(b.next/2 + rand.N(b.next/2)) //nolint:gosec // spreading load needs no secrecy
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// isHopeless says that trying again is of no use.
func isHopeless(err error) bool {
	var hostKey *HostKeyError
	var failure *DialError
	return errors.As(err, &hostKey) || errors.As(err, &failure) && failure.permanent
}
