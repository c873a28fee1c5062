// SPDX-License-Identifier: MPL-2.0

package handover

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http/httputil"
	"strings"
	"sync"
	"time"
)

// Offer is a giver that lets one receiver in, once.
type Offer struct {
	Address     string `json:"address"` // host:port
	Token       string `json:"token"`   // a secret
	Certificate string `json:"certificate,omitempty"`
}

// NewToken makes the secret of an offer.
func NewToken() string { return rand.Text() }

const (
	// connectLimit bounds the connection to a giver. A packet filter that drops gives no answer at all.
	connectLimit = 5 * time.Second
	// stallLimit is how long a giver may be silent: an engine that prepares a large image takes its time.
	stallLimit = 10 * time.Minute
)

// ErrStranger says that something else answers in the giver's place.
var ErrStranger = errors.New("it is not the node that it should be")

// Take gets what a giver with TLS hands on, and passes it to use as it comes. It is all of it only when both have
// ended without an error; a giver that ends in the middle is an error of the reader.
func Take(ctx context.Context, o Offer, use func(io.Reader) error) error {
	conn, err := open(ctx, o)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", o.Address, err)
	}
	defer conn.Close() //nolint:errcheck // only read from
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().Close() })
	defer stop()
	content := newWhole(&patient{conn})
	err = use(content)
	failed := content.failure()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failed != nil: // it is why the use of it failed, too
		return fmt.Errorf("take from %s: %w", o.Address, failed)
	case err != nil:
		return err
	}
	return nil
}

func open(ctx context.Context, o Offer) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectLimit, fmt.Errorf("no answer within %s: a firewall may be between the nodes", connectLimit))
	defer cancel()
	raw, err := (&net.Dialer{KeepAliveConfig: dead}).DialContext(ctx, "tcp4", o.Address)
	if err != nil {
		return nil, cause(ctx, err)
	}
	conn := tls.Client(raw, &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // #nosec G402 -- the certificate is known by its digest
		VerifyConnection: func(state tls.ConnectionState) error {
			if digest(state.PeerCertificates[0].Raw) != o.Certificate {
				return ErrStranger
			}
			return nil
		},
	})
	err = conn.HandshakeContext(ctx)
	if err == nil {
		_, err = io.WriteString(conn, o.Token+"\n")
	}
	if err != nil {
		_ = raw.Close()
		return nil, cause(ctx, err)
	}
	return conn, nil
}

// cause puts the reason in place of what the end of a context looks like.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// whole reads what [framed] wrote to its end, and keeps why it ended too early. Who uses it may still read after its use has ended.
type whole struct {
	raw    *bufio.Reader
	chunks io.Reader

	lock sync.Mutex
	err  error
}

func newWhole(from io.Reader) *whole {
	raw := bufio.NewReader(from)
	return &whole{raw: raw, chunks: httputil.NewChunkedReader(raw)}
}

func (w *whole) Read(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.chunks.Read(p)
	if errors.Is(err, io.EOF) {
		err = w.ended()
	}
	w.err = err
	return n, err
}

// ended reads what follows the last chunk: nothing, or why there are no more.
func (w *whole) ended() error {
	reason, err := w.raw.ReadString('\n')
	switch {
	case err != nil:
		return io.ErrUnexpectedEOF
	case reason != "\n":
		return errors.New(strings.TrimSpace(reason))
	}
	return io.EOF
}

func (w *whole) failure() error {
	w.lock.Lock()
	defer w.lock.Unlock()
	if errors.Is(w.err, io.EOF) {
		return nil
	}
	return w.err
}

// patient bounds the silence of the other side.
type patient struct{ conn net.Conn }

func (p *patient) Read(b []byte) (int, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(stallLimit)) // a connection that has ended says so below
	return p.conn.Read(b)
}

// newIdentity makes a key pair for one giver, with the SHA-256 of its certificate in hex.
func newIdentity() (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", fmt.Errorf("make a key: %w", err)
	}
	// Clocks of nodes may differ, and nobody looks at its dates: the digest is what it is known by.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, "", fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, digest(der), nil
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
