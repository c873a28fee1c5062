// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// oracleDomain has all of OCI's endpoints in the commercial realm.
const oracleDomain = "oraclecloud.com"

// proxy lets clients reach the region by the names of OCI's endpoints: CONNECT requests for Oracle's
// domain end at the region, with a certificate of the lab's authority. It never reaches out of the lab.
// All other requests are the region's own.
type proxy struct {
	region    http.Handler
	authority *authority
	log       *slog.Logger
	tunnels   *handedOver
}

func newProxy(region http.Handler, a *authority, log *slog.Logger) *proxy {
	return &proxy{region, a, log, &handedOver{conns: make(chan net.Conn), closed: make(chan struct{})}}
}

// ServeHTTP answers a request to the region or to the proxy.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		p.region.ServeHTTP(w, r)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "CONNECT needs HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil || !isOracle(host) {
		p.refuse(conn, r.Host)
		return
	}
	if err := p.intercept(r.Context(), conn, strings.ToLower(host)); err != nil {
		p.log.Warn("proxy: no connection", "host", host, "error", err)
		_ = conn.Close()
	}
}

// isOracle says whether a name is an endpoint of OCI.
func isOracle(host string) bool {
	return strings.HasSuffix(strings.ToLower(host), "."+oracleDomain)
}

// refuse says why in the status line: the only part that clients show.
func (p *proxy) refuse(conn net.Conn, host string) {
	defer func() { _ = conn.Close() }()
	host = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, host)
	p.log.Warn("proxy: refused", "host", host)
	name, _, _ := strings.Cut(host, ":")
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 403 the proxy of ocihpc-lab reaches only *.%s inside the lab, not %s; add %s to NO_PROXY\r\n"+
		"Content-Length: 0\r\nConnection: close\r\n\r\n", oracleDomain, host, name)
}

const handshakeTimeout = 10 * time.Second

// intercept answers the client in the name of the host, and hands the connection to the region's server.
func (p *proxy) intercept(ctx context.Context, conn net.Conn, host string) error {
	certificate, err := p.authority.issue(host)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return err
	}
	encrypted := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS handshake (does the client trust the lab's ca.pem?): %w", err)
	}
	if !p.tunnels.give(encrypted) {
		return net.ErrClosed
	}
	return nil
}

// handedOver is a listener whose connections come from somewhere else.
type handedOver struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *handedOver) give(conn net.Conn) bool {
	select {
	case l.conns <- conn:
		return true
	case <-l.closed:
		return false
	}
}

// Accept implements [net.Listener].
func (l *handedOver) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *handedOver) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (l *handedOver) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
