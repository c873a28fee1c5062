// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// securityList is a subnet's firewall.
type securityList struct {
	core.SecurityList
	record
}

func (l *securityList) compartment() string { return *l.CompartmentId }
func (l *securityList) gone() bool {
	return l.LifecycleState == core.SecurityListLifecycleStateTerminated
}
func (l *securityList) shown() any       { return l.SecurityList }
func (l *securityList) resume(s *Server) { securityLists.resume(s, l) }
func (l *securityList) facets() facets {
	return facets{&l.Id, &l.CompartmentId, &l.VcnId, &l.DisplayName, (*string)(&l.LifecycleState), &l.TimeCreated, &l.FreeformTags, &l.DefinedTags}
}

var securityLists = networkKind[*securityList]{
	name: "security list", prefix: "securitylist", table: func(st *store) *table[*securityList] { return st.securityLists },
	users: func(s *Server, l *securityList) []string {
		return slices.Concat(s.defaultOf(*l.VcnId, *l.Id), usersAmong(s, subnets, func(n *subnet) bool { return slices.Contains(n.SecurityListIds, *l.Id) }))
	},
}

const anywhere = "0.0.0.0/0"

// defaultSecurityList is what OCI gives a new VCN: SSH from anywhere, what ICMP needs, and everything out.
//
// Source: https://docs.oracle.com/en-us/iaas/Content/Network/Concepts/securitylists.htm#Default
func defaultSecurityList(v *vcn) *securityList {
	unreachable := func(source string, code *int) core.IngressSecurityRule {
		return core.IngressSecurityRule{Source: &source, Protocol: ptr("1"), IcmpOptions: &core.IcmpOptions{Type: ptr(3), Code: code}}
	}
	l := &securityList{SecurityList: core.SecurityList{
		IngressSecurityRules: []core.IngressSecurityRule{fromAnywhere(22), unreachable(anywhere, ptr(4)), unreachable(*v.CidrBlock, nil)},
		EgressSecurityRules:  []core.EgressSecurityRule{toAnywhere()},
	}}
	l.complete()
	return l
}

func fromAnywhere(port int) core.IngressSecurityRule {
	return core.IngressSecurityRule{Source: ptr(anywhere), Protocol: ptr("6"), TcpOptions: &core.TcpOptions{DestinationPortRange: &core.PortRange{Min: &port, Max: &port}}}
}

func toAnywhere() core.EgressSecurityRule {
	return core.EgressSecurityRule{Destination: ptr(anywhere), Protocol: ptr("all")}
}

// complete fills in the defaults of rules, as OCI shows them.
func (l *securityList) complete() {
	for n := range l.IngressSecurityRules {
		r := &l.IngressSecurityRules[n]
		r.IsStateless = ptr(value(r.IsStateless))
		if r.SourceType == "" {
			r.SourceType = core.IngressSecurityRuleSourceTypeCidrBlock
		}
	}
	for n := range l.EgressSecurityRules {
		r := &l.EgressSecurityRules[n]
		r.IsStateless = ptr(value(r.IsStateless))
		if r.DestinationType == "" {
			r.DestinationType = core.EgressSecurityRuleDestinationTypeCidrBlock
		}
	}
}

func (s *Server) newSecurityList(_ *request, _ *vcn, d core.CreateSecurityListDetails) (*securityList, error) {
	l := &securityList{SecurityList: core.SecurityList{IngressSecurityRules: d.IngressSecurityRules, EgressSecurityRules: d.EgressSecurityRules}}
	l.complete()
	return l, s.checkSecurityList(l)
}

func (s *Server) updateSecurityList(_ *request, l *securityList, d core.UpdateSecurityListDetails) error {
	changed := &securityList{SecurityList: l.SecurityList}
	if d.IngressSecurityRules != nil {
		changed.IngressSecurityRules = d.IngressSecurityRules
	}
	if d.EgressSecurityRules != nil {
		changed.EgressSecurityRules = d.EgressSecurityRules
	}
	changed.complete()
	if err := s.checkSecurityList(changed); err != nil {
		return err
	}
	l.SecurityList = changed.SecurityList
	return nil
}

const maxSecurityRules = 200 // of a security list, in each direction

func (s *Server) checkSecurityList(l *securityList) error {
	if len(l.IngressSecurityRules) > maxSecurityRules || len(l.EgressSecurityRules) > maxSecurityRules {
		return overLimit("A security list has at most %d ingress and %d egress rules.", maxSecurityRules, maxSecurityRules)
	}
	for _, r := range l.ingress() {
		if err := s.checkRule("ingressSecurityRules", r); err != nil {
			return err
		}
	}
	for _, r := range l.egress() {
		if err := s.checkRule("egressSecurityRules", r); err != nil {
			return err
		}
	}
	return nil
}

func (l *securityList) ingress() []securityRule {
	rules := make([]securityRule, len(l.IngressSecurityRules))
	for n, r := range l.IngressSecurityRules {
		rules[n] = securityRule{*r.Source, string(r.SourceType), *r.Protocol, *r.IsStateless, r.IcmpOptions, r.TcpOptions, r.UdpOptions}
	}
	return rules
}

func (l *securityList) egress() []securityRule {
	rules := make([]securityRule, len(l.EgressSecurityRules))
	for n, r := range l.EgressSecurityRules {
		rules[n] = securityRule{*r.Destination, string(r.DestinationType), *r.Protocol, *r.IsStateless, r.IcmpOptions, r.TcpOptions, r.UdpOptions}
	}
	return rules
}
