// SPDX-License-Identifier: MPL-2.0

// Package handover hands something on from one node to another: a program, an image. Whoever holds sessions to both
// nodes lets each receiver in by a token of its own. The nodes hold no keys of each other.
package handover

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Content writes what is handed on, once for each receiver.
type Content func(ctx context.Context, to io.Writer) error

// Announcement is the first line that a giver tells.
type Announcement struct {
	Port int `json:"port"`
	// Certificate is the SHA-256 of the giver's certificate, in hex; empty when it speaks without TLS.
	Certificate string `json:"certificate,omitempty"`
}

const (
	// greetingLimit is how long a receiver has to show its token, and that has to become good.
	greetingLimit = 10 * time.Second
	// silence is how long nobody may say anything: whoever holds the session is gone then.
	silence = time.Minute
	// tokenLimit bounds what is read of one that has none.
	tokenLimit = 128
)

// dead finds out within half a minute that the other node is no longer there, also where nothing is sent for long.
var dead = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4}

// Give hands the content on until in ends, or says nothing for a minute. Each line of in is a token, which lets one receiver
// in, once, or empty, as a sign of life. out is told an
// [Announcement]. With TLS, which only [Take] understands, the content stays private and whole on its way; without it
// the receiver has to know the content's digest.
func Give(ctx context.Context, in io.Reader, out io.Writer, private bool, content Content) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listen := net.ListenConfig{KeepAliveConfig: dead}
	listener, err := listen.Listen(ctx, "tcp4", ":0")
	if err != nil {
		return fmt.Errorf("listen for other nodes: %w", err)
	}
	defer listener.Close() //nolint:errcheck // it is closed when the context ends
	address, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return fmt.Errorf("listen for other nodes: %w", err)
	}
	announced := Announcement{Port: int(address.Port())}
	if private {
		var identity tls.Certificate
		if identity, announced.Certificate, err = newIdentity(); err != nil {
			return err
		}
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{identity}, MinVersion: tls.VersionTLS13})
	}
	if err := json.NewEncoder(out).Encode(announced); err != nil {
		return fmt.Errorf("tell the port: %w", err)
	}
	if private {
		content = framed(content)
	}
	g := &giver{content: content, tokens: map[string]bool{}, news: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	go func() {
		defer cancel()
		silent := time.AfterFunc(silence, cancel)
		defer silent.Stop()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			silent.Reset(silence)
			g.allow(lines.Text())
		}
	}()
	var receivers sync.WaitGroup
	defer receivers.Wait()
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("wait for other nodes: %w", err)
		}
		receivers.Go(func() { g.serve(ctx, conn) })
	}
}

type giver struct {
	content Content

	lock   sync.Mutex
	tokens map[string]bool
	news   chan struct{} // closed when there is another token
}

func (g *giver) allow(token string) {
	if token = strings.TrimSpace(token); token == "" {
		return // a sign of life
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	g.tokens[token] = true
	close(g.news)
	g.news = make(chan struct{})
}

// redeem says whether a token is good. It is good once. A receiver may be faster than the line that lets it in.
func (g *giver) redeem(ctx context.Context, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, greetingLimit)
	defer cancel()
	for {
		good, news := g.look(token)
		if good {
			return true
		}
		select {
		case <-news:
		case <-ctx.Done():
			return false
		}
	}
}

func (g *giver) look(token string) (good bool, news <-chan struct{}) {
	g.lock.Lock()
	defer g.lock.Unlock()
	good = g.tokens[token]
	delete(g.tokens, token)
	return good, g.news
}

// serve gives a receiver the content. One that gets only a part of it finds that out by itself.
func (g *giver) serve(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	token, err := readToken(conn)
	if err == nil && g.redeem(ctx, token) {
		_ = g.content(ctx, conn) // its failure shows on the other side
	}
	_ = conn.Close()
}

// framed adds a sign of the end, and why it came too early: Go takes the end of a TLS connection for that of its content, whoever ended it.
func framed(content Content) Content {
	return func(ctx context.Context, to io.Writer) error {
		chunks := httputil.NewChunkedWriter(to)
		failed := content(ctx, chunks)
		if ctx.Err() != nil {
			return ctx.Err() //nolint:wrapcheck // nobody hears it: the connection is closed
		}
		if err := chunks.Close(); err != nil {
			return errors.Join(failed, err)
		}
		reason := ""
		if failed != nil {
			reason = strings.Join(strings.Fields(failed.Error()), " ") // one line
		}
		_, err := io.WriteString(to, reason+"\n")
		return errors.Join(failed, err)
	}
}

// readToken reads the line that a receiver begins with, and not a byte more.
func readToken(conn net.Conn) (string, error) {
	if err := conn.SetReadDeadline(time.Now().Add(greetingLimit)); err != nil {
		return "", err
	}
	var token []byte
	for next := make([]byte, 1); len(token) < tokenLimit; {
		if _, err := io.ReadFull(conn, next); err != nil {
			return "", err
		}
		if next[0] == '\n' {
			return string(token), nil
		}
		token = append(token, next[0])
	}
	return "", errors.New("no token came")
}
