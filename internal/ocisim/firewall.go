// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/netip"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// Firewall is what [Hosts] may implement, too: security lists and network security groups then have
// effect on machines.
type Firewall interface {
	// Protect replaces the rules of all VNICs, those of hosts to come included, and the addresses of network
	// security groups, by OCID. What reaches a VNIC that is not among them is dropped. Connections that a
	// rule has let through go on.
	Protect(vnics []VnicRules, groups map[string][]netip.Addr) error
}

// VnicRules say what reaches a VNIC and what leaves it: the union of its subnet's security lists and of
// its own network security groups. What no rule allows is dropped.
type VnicRules struct {
	HostID string // the OCID of an instance, or the ID of [Config] Bastion
	VCN    string // OCID: hosts of other VCNs are not reached
	// Everywhere lets the VNIC reach those of other VCNs, too.
	Everywhere bool
	// Public says that the internet reaches the VNIC: it has a public address, and its subnet a route to
	// an internet gateway.
	Public          bool
	Ingress, Egress []TrafficRule
}

// TrafficRule allows traffic.
type TrafficRule struct {
	Stateless bool // answers need a rule of their own
	// Protocol is IANA's number, or [AllProtocols].
	Protocol int
	// Peers are the sources of ingress, the destinations of egress; none match nothing. Group takes their
	// place where it is the OCID of a network security group.
	Peers                         []netip.Prefix
	Group                         string
	SourcePorts, DestinationPorts PortRange // of TCP and UDP
	ICMPType, ICMPCode            *int      // of ICMP; nil means any
}

// AllProtocols is the Protocol of a rule for all of them.
const AllProtocols = -1

// PortRange is inclusive; the zero value means all ports.
type PortRange struct{ Min, Max uint16 }

// Internet is the address of whatever is outside of all VCNs, such as this machine: the first one of a
// network for documentation (RFC 5737).
var Internet = netip.MustParseAddr("198.51.100.1")

// protect tells the hosts' firewall what the rules are now. The lock must be held.
func (s *Server) protect() {
	firewall, hasOne := s.cfg.Hosts.(Firewall)
	if !hasOne {
		return
	}
	var vnics []VnicRules
	for _, v := range s.store.vnics.all() {
		if !v.gone() {
			n := s.store.subnets.get(*v.SubnetId)
			vnics = append(vnics, s.rulesOf(*v.Attachment.InstanceId, n, v.NsgIds, v.PublicIp != nil))
		}
	}
	if b := s.cfg.Bastion; b != nil {
		rules := s.rulesOf(b.ID, s.store.subnets.get(b.SubnetID), nil, true)
		rules.Everywhere = true
		vnics = append(vnics, rules)
	}
	groups := map[string][]netip.Addr{}
	for _, g := range s.store.securityGroups.all() {
		if !g.gone() {
			groups[*g.Id] = s.groupAddresses(*g.Id)
		}
	}
	if err := firewall.Protect(vnics, groups); err != nil {
		s.log.Error("the firewall did not take a change", "error", err)
	}
}

// rulesOf a host in a subnet.
func (s *Server) rulesOf(hostID string, n *subnet, groups []string, public bool) VnicRules {
	v := s.store.vcns.get(*n.VcnId)
	rules := VnicRules{HostID: hostID, VCN: *v.Id, Public: public && s.reachesInternet(n)}
	var ingress, egress []securityRule
	for _, id := range n.SecurityListIds {
		list := s.store.securityLists.get(id)
		ingress, egress = append(ingress, list.ingress()...), append(egress, list.egress()...)
	}
	for _, id := range groups {
		group := s.store.securityGroups.get(id)
		ingress = append(ingress, group.allowed(core.SecurityRuleDirectionIngress)...)
		egress = append(egress, group.allowed(core.SecurityRuleDirectionEgress)...)
	}
	for _, r := range ingress {
		rules.Ingress = append(rules.Ingress, s.traffic(r, v))
	}
	for _, r := range egress {
		rules.Egress = append(rules.Egress, s.traffic(r, v))
	}
	return rules
}

// reachesInternet says whether a subnet has a route to an internet gateway that is on.
func (s *Server) reachesInternet(n *subnet) bool {
	return !*n.ProhibitInternetIngress && slices.ContainsFunc(s.store.routeTables.get(*n.RouteTableId).RouteRules, func(r core.RouteRule) bool {
		g := s.store.internetGateways.get(*r.NetworkEntityId)
		return g != nil && g.LifecycleState == core.InternetGatewayLifecycleStateAvailable && *g.IsEnabled
	})
}
