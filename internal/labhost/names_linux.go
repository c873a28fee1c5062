// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"net"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// serveNames answers DNS requests: a host's name, with or without the search domain, has its private
// address, as in a virtual cloud network. No other name exists, so that nothing waits for one.
func (h *Hosts) serveNames(conn net.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		n, client, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		if reply, err := h.answer(buffer[:n]); err == nil {
			_, _ = conn.WriteTo(reply, client) // A client without an answer asks again.
		}
	}
}

// answer makes the reply to one request.
func (h *Hosts) answer(request []byte) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(request)
	if err != nil {
		return nil, err
	}
	question, err := parser.Question()
	if err != nil {
		return nil, err
	}
	header.Response, header.RecursionAvailable, header.Authoritative = true, true, true
	name, domain, _ := strings.Cut(strings.TrimSuffix(strings.ToLower(question.Name.String()), "."), ".")
	found := h.find(func(host *host) bool { return strings.EqualFold(host.hostname, name) })
	reply := dnsmessage.Message{Header: header, Questions: []dnsmessage.Question{question}}
	switch {
	case found == nil || (domain != "" && !strings.HasSuffix(domain, "oraclevcn.com")):
		reply.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA && found.address.Addr().Is4():
		reply.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: found.address.Addr().As4()},
		}}
	}
	return reply.Pack()
}
