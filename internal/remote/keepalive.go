// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

const (
	defaultKeepAlive = 10 * time.Second
	// asksAllowed of them unanswered, each half a keep-alive after the one before, make three keep-alives of silence.
	asksAllowed = 4
)

// link is a raw connection that knows when it last received something.
type link struct {
	net.Conn
	born     time.Time
	received atomic.Int64 // nanoseconds after born
}

func newLink(conn net.Conn) *link { return &link{Conn: conn, born: time.Now()} }

func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 {
		l.received.Store(int64(time.Since(l.born)))
	}
	return n, err
}

func (l *link) silence() time.Duration {
	return time.Since(l.born) - time.Duration(l.received.Load())
}

// keepAlive asks a silent host for a sign of life and gives the connection up when none comes. Any byte
// counts, so a slow link that is busy with an upload is not taken for a dead one. Time alone does not: a machine that
// slept, or was held up, has heard nothing for long, and has to ask first.
func (c *Client) keepAlive(every time.Duration) {
	if every <= 0 {
		every = defaultKeepAlive
	}
	tick := time.NewTicker(every / 2)
	defer tick.Stop()
	asked, heard := 0, int64(0)
	for {
		select {
		case <-c.lost:
			return
		case <-tick.C:
		}
		if last := c.link.received.Load(); last != heard {
			asked, heard = 0, last
		}
		switch silence := c.link.silence(); {
		case silence < every:
		case asked == asksAllowed:
			c.end(fmt.Errorf("no sign of life for %s", silence.Round(time.Millisecond)))
			return
		default:
			asked++
			go func() { _ = c.ping() }() // its answer is what counts
		}
	}
}

// ping asks the host for any answer.
func (c *Client) ping() error {
	_, _, err := c.ssh.SendRequest("keepalive@openssh.com", true, nil)
	return err
}
