// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// Kinds of peers of rules.
const (
	peerCIDR    = "CIDR_BLOCK"
	peerService = "SERVICE_CIDR_BLOCK"
	peerGroup   = "NETWORK_SECURITY_GROUP"
)

// securityRule is what rules of security lists and of network security groups have in common.
type securityRule struct {
	peer, peerType string // the source of ingress, the destination of egress
	protocol       string // "all", or IANA's number
	stateless      bool
	icmp           *core.IcmpOptions
	tcp            *core.TcpOptions
	udp            *core.UdpOptions
}

// IANA's protocol numbers.
const (
	protocolICMP   = 1
	protocolTCP    = 6
	protocolUDP    = 17
	protocolICMPv6 = 58
)

// number of the protocol; ok is false where it has none.
func (r securityRule) number() (number int, ok bool) {
	if r.protocol == "all" {
		return AllProtocols, true
	}
	number, err := strconv.Atoi(r.protocol)
	return number, err == nil && number >= 0 && number <= 255
}

// checkRule checks a rule; field is where it is in the request.
func (s *Server) checkRule(field string, r securityRule) error {
	if err := s.checkPeer(field, r); err != nil {
		return err
	}
	number, ok := r.number()
	if !ok {
		return invalid(field+".protocol", `%q is neither "all" nor a protocol number from 0 to 255`, r.protocol)
	}
	for options, misplaced := range map[string]bool{
		"tcpOptions":  r.tcp != nil && number != protocolTCP,
		"udpOptions":  r.udp != nil && number != protocolUDP,
		"icmpOptions": r.icmp != nil && number != protocolICMP && number != protocolICMPv6,
	} {
		if misplaced {
			return invalid(field+"."+options, "they do not go with protocol %s", r.protocol)
		}
	}
	for _, ports := range r.ports() {
		if ports != nil && (*ports.Min < 1 || *ports.Min > *ports.Max || *ports.Max > 65535) {
			return invalid(field, "%d to %d is no range of ports from 1 to 65535", *ports.Min, *ports.Max)
		}
	}
	if o := r.icmp; o != nil && (*o.Type < 0 || *o.Type > 255 || value(o.Code) < 0 || value(o.Code) > 255) {
		return invalid(field+".icmpOptions", "type and code are from 0 to 255")
	}
	return nil
}

func (s *Server) checkPeer(field string, r securityRule) error {
	switch r.peerType {
	case peerService:
		if s.service(isServiceLabel(r.peer)) == nil {
			return invalid(field, "there is no service %q", r.peer)
		}
	case peerGroup:
		if g, found := s.store.securityGroups.byID[r.peer]; !found || g.gone() {
			return invalid(field, "there is no network security group %q", r.peer)
		}
	default:
		if p, err := netip.ParsePrefix(r.peer); err != nil || p != p.Masked() {
			return invalid(field, "%q is no CIDR block", r.peer)
		}
	}
	return nil
}

// ports are the source's and the destination's.
func (r securityRule) ports() [2]*core.PortRange {
	switch {
	case r.tcp != nil:
		return [2]*core.PortRange{r.tcp.SourcePortRange, r.tcp.DestinationPortRange}
	case r.udp != nil:
		return [2]*core.PortRange{r.udp.SourcePortRange, r.udp.DestinationPortRange}
	}
	return [2]*core.PortRange{}
}

// traffic is what a rule allows a VNIC of a VCN. Services are outside of the lab: rules for them match nothing.
func (s *Server) traffic(r securityRule, v *vcn) TrafficRule {
	number, _ := r.number()
	ports := r.ports()
	rule := TrafficRule{Stateless: r.stateless, Protocol: number, SourcePorts: portRange(ports[0]), DestinationPorts: portRange(ports[1])}
	if r.icmp != nil {
		rule.ICMPType, rule.ICMPCode = r.icmp.Type, r.icmp.Code
	}
	switch r.peerType {
	case peerService:
	case peerGroup:
		rule.Group = r.peer
	default:
		if p, err := netip.ParsePrefix(r.peer); err == nil && p.Addr().Is4() {
			rule.Peers = s.withBastion(p, v)
		}
	}
	return rule
}

// withBastion adds the lab's bastion to rules of other VCNs than its own, where a bastion of theirs could be.
func (s *Server) withBastion(p netip.Prefix, v *vcn) []netip.Prefix {
	b := s.cfg.Bastion
	if b == nil || *s.store.subnets.get(b.SubnetID).VcnId == *v.Id || !slices.ContainsFunc(v.cidrs(), p.Overlaps) {
		return []netip.Prefix{p}
	}
	return []netip.Prefix{p, netip.PrefixFrom(b.Address, b.Address.BitLen())}
}

func portRange(r *core.PortRange) PortRange {
	if r == nil {
		return PortRange{}
	}
	return PortRange{uint16(*r.Min), uint16(*r.Max)} // #nosec G115 -- checked
}
