// SPDX-License-Identifier: MPL-2.0

package sshdtest

import (
	"net"
	"strconv"
	"sync"
	"testing"
)

// Proxy is a network path to a host that a test can cut or freeze.
type Proxy struct {
	Address string
	Port    int

	listener net.Listener
	target   string

	lock   sync.Mutex
	thaw   *sync.Cond
	frozen bool
	conns  map[net.Conn]bool
	count  int
}

// NewProxy starts a proxy before a host, at another address of the same port.
func NewProxy(t testing.TB, h *Host) *Proxy {
	t.Helper()
	address := network + strconv.Itoa(int(hosts.Add(1)))
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(h.Port))) //nolint:noctx // loopback
	check(t, err)
	p := &Proxy{
		Address: address, Port: h.Port, listener: l,
		target: net.JoinHostPort(h.Address, strconv.Itoa(h.Port)), conns: map[net.Conn]bool{},
	}
	p.thaw = sync.NewCond(&p.lock)
	go p.serve()
	t.Cleanup(func() {
		_ = l.Close()
		p.Thaw()
		p.Cut()
	})
	return p
}

// Cut breaks all connections; new ones are let through.
func (p *Proxy) Cut() {
	p.lock.Lock()
	defer p.lock.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// Freeze holds back every byte without closing anything, as a pulled cable does.
func (p *Proxy) Freeze() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.frozen = true
}

// Thaw ends Freeze.
func (p *Proxy) Thaw() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.frozen = false
	p.thaw.Broadcast()
}

// Connections gives the number of connections made so far.
func (p *Proxy) Connections() int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.count
}

func (p *Proxy) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.target) //nolint:noctx // loopback
		if err != nil {
			_ = near.Close()
			continue
		}
		p.lock.Lock()
		p.count++
		p.conns[near], p.conns[far] = true, true
		p.lock.Unlock()
		go p.carry(near, far)
		go p.carry(far, near)
	}
}

func (p *Proxy) carry(to, from net.Conn) {
	defer p.drop(to, from)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.lock.Lock()
		for p.frozen {
			p.thaw.Wait()
		}
		p.lock.Unlock()
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *Proxy) drop(conns ...net.Conn) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.conns, conn)
	}
}
