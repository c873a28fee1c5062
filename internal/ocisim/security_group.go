// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// securityGroup is a firewall of VNICs, wherever they are in the VCN. (The type that is called
// NetworkSecurityGroup on OCI.)
type securityGroup struct {
	core.NetworkSecurityGroup
	record
	Rules []core.SecurityRule
}

func (g *securityGroup) compartment() string { return *g.CompartmentId }
func (g *securityGroup) gone() bool {
	return g.LifecycleState == core.NetworkSecurityGroupLifecycleStateTerminated
}
func (g *securityGroup) shown() any       { return g.NetworkSecurityGroup }
func (g *securityGroup) resume(s *Server) { securityGroups.resume(s, g) }
func (g *securityGroup) facets() facets {
	return facets{&g.Id, &g.CompartmentId, &g.VcnId, &g.DisplayName, (*string)(&g.LifecycleState), &g.TimeCreated, &g.FreeformTags, &g.DefinedTags}
}

var securityGroups = networkKind[*securityGroup]{
	name: "network security group", prefix: "networksecuritygroup", table: func(st *store) *table[*securityGroup] { return st.securityGroups },
	users: func(s *Server, g *securityGroup) []string {
		var users []string
		for _, v := range s.store.inGroup.with(*g.Id) {
			users = append(users, "VNIC "+*v.Id)
		}
		return users
	},
}

func (s *Server) newSecurityGroup(*request, *vcn, core.CreateNetworkSecurityGroupDetails) (*securityGroup, error) {
	return &securityGroup{}, nil
}

func (s *Server) updateSecurityGroup(*request, *securityGroup, core.UpdateNetworkSecurityGroupDetails) error {
	return nil
}

// listSecurityGroups needs no compartment when it has a VCN.
func (s *Server) listSecurityGroups(q *request) (response, error) {
	if q.query.Get("compartmentId") == "" && q.query.Get("vcnId") == "" {
		return response{}, missing("compartmentId")
	}
	if q.query.Get("compartmentId") != "" {
		return securityGroups.list(s, q)
	}
	return securityGroups.listWhere(s, q, func(g *securityGroup) bool { return q.sees(g.compartment()) })
}

func (s *Server) listGroupVnics(q *request) (response, error) {
	g, err := securityGroups.find(s, q)
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, v := range s.store.inGroup.with(*g.Id) {
		rows = append(rows, row{v.position, *v.DisplayName, core.NetworkSecurityGroupVnic{
			VnicId: v.Id, ResourceId: v.Attachment.InstanceId, TimeAssociated: v.TimeCreated,
		}})
	}
	return page(q, rows)
}

// groupAddresses are those of a group's VNICs.
func (s *Server) groupAddresses(id string) []netip.Addr {
	var addresses []netip.Addr
	for _, v := range s.store.inGroup.with(id) {
		addresses = append(addresses, v.address())
	}
	return addresses
}

// allowed gives the rules of a direction.
func (g *securityGroup) allowed(direction core.SecurityRuleDirectionEnum) []securityRule {
	var rules []securityRule
	for _, r := range g.Rules {
		if r.Direction == direction {
			rules = append(rules, groupRule(r))
		}
	}
	return rules
}

func groupRule(r core.SecurityRule) securityRule {
	peer, peerType := value(r.Source), string(r.SourceType)
	if r.Direction == core.SecurityRuleDirectionEgress {
		peer, peerType = value(r.Destination), string(r.DestinationType)
	}
	return securityRule{peer, peerType, *r.Protocol, *r.IsStateless, r.IcmpOptions, r.TcpOptions, r.UdpOptions}
}

func (s *Server) listGroupRules(q *request) (response, error) {
	g, err := securityGroups.find(s, q)
	if err != nil {
		return response{}, err
	}
	if _, err := q.enum("direction", core.GetListNetworkSecurityGroupSecurityRulesDirectionEnumStringValues()); err != nil {
		return response{}, err
	}
	var rows []row
	for n, r := range g.Rules {
		if q.wants("direction", ptr(string(r.Direction))) {
			rows = append(rows, row{uint64(n), "", s.shownRule(r)}) // #nosec G115 -- at most 120
		}
	}
	return page(q, rows)
}

// shownRule says, too, whether the rule's peer is still there.
func (s *Server) shownRule(r core.SecurityRule) core.SecurityRule {
	r.IsValid = ptr(s.checkPeer("", groupRule(r)) == nil)
	return r
}

// Limits of rules of network security groups.
//
// Source: https://docs.oracle.com/en-us/iaas/api/#/en/iaas/latest/SecurityRule/AddNetworkSecurityGroupSecurityRules
const (
	maxRulesPerCall = 25
	maxGroupRules   = 120
)

func checkRuleCount(count int) error {
	if count > maxRulesPerCall {
		return invalid("securityRules", "there are %d; at most %d go into one request", count, maxRulesPerCall)
	}
	return nil
}

func (s *Server) addGroupRules(q *request) (response, error) {
	g, err := securityGroups.findToChange(s, q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.AddNetworkSecurityGroupSecurityRulesDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := checkRuleCount(len(d.SecurityRules)); err != nil {
		return response{}, err
	}
	if len(g.Rules)+len(d.SecurityRules) > maxGroupRules {
		return response{}, overLimit("A network security group has at most %d rules.", maxGroupRules)
	}
	added := make([]core.SecurityRule, len(d.SecurityRules))
	for n, asked := range d.SecurityRules {
		if added[n], err = s.completeRule(asked); err != nil {
			return response{}, err
		}
		// OCI's are six hexadecimal digits, too.
		added[n].Id, added[n].TimeCreated = ptr(strings.ToUpper(s.names.letters("0123456789abcdef", 6))), s.timestamp()
	}
	g.Rules = append(g.Rules, added...)
	g.changed()
	return response{body: core.AddedNetworkSecurityGroupSecurityRules{SecurityRules: s.shownRules(added)}}, nil
}

func (s *Server) shownRules(rules []core.SecurityRule) []core.SecurityRule {
	shown := make([]core.SecurityRule, len(rules))
	for n, r := range rules {
		shown[n] = s.shownRule(r)
	}
	return shown
}

// completeRule makes a rule of a request's details, as OCI shows it.
func (s *Server) completeRule(asked any) (core.SecurityRule, error) {
	r, err := convert[core.SecurityRule](asked)
	if err != nil {
		return r, err
	}
	r.IsStateless = ptr(value(r.IsStateless))
	r.Source, r.Destination, r.Description = absentIfEmpty(r.Source), absentIfEmpty(r.Destination), absentIfEmpty(r.Description)
	if r.Direction == core.SecurityRuleDirectionIngress {
		if r.Source == nil {
			return r, missing("securityRules.source")
		}
		if r.Destination != nil {
			return r, invalid("securityRules.destination", "a rule for ingress has none")
		}
		r.SourceType = cmp.Or(r.SourceType, core.SecurityRuleSourceTypeCidrBlock)
	} else {
		if r.Destination == nil {
			return r, missing("securityRules.destination")
		}
		if r.Source != nil {
			return r, invalid("securityRules.source", "a rule for egress has none")
		}
		r.DestinationType = cmp.Or(r.DestinationType, core.SecurityRuleDestinationTypeCidrBlock)
	}
	return r, s.checkRule("securityRules", groupRule(r))
}

func (s *Server) updateGroupRules(q *request) (response, error) {
	g, err := securityGroups.findToChange(s, q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdateNetworkSecurityGroupSecurityRulesDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := checkRuleCount(len(d.SecurityRules)); err != nil {
		return response{}, err
	}
	rules := slices.Clone(g.Rules)
	updated := make([]core.SecurityRule, len(d.SecurityRules))
	for n, asked := range d.SecurityRules {
		at := g.ruleAt(*asked.Id)
		if at < 0 {
			return response{}, invalid("securityRules.id", "%q is no rule of network security group %s", *asked.Id, *g.Id)
		}
		if updated[n], err = s.completeRule(asked); err != nil {
			return response{}, err
		}
		updated[n].TimeCreated = rules[at].TimeCreated
		rules[at] = updated[n]
	}
	g.Rules = rules
	g.changed()
	return response{body: core.UpdatedNetworkSecurityGroupSecurityRules{SecurityRules: s.shownRules(updated)}}, nil
}

func (g *securityGroup) ruleAt(id string) int {
	return slices.IndexFunc(g.Rules, func(r core.SecurityRule) bool { return *r.Id == id })
}

func (s *Server) removeGroupRules(q *request) (response, error) {
	g, err := securityGroups.findToChange(s, q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.RemoveNetworkSecurityGroupSecurityRulesDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := checkRuleCount(len(d.SecurityRuleIds)); err != nil {
		return response{}, err
	}
	for _, id := range d.SecurityRuleIds {
		if g.ruleAt(id) < 0 {
			return response{}, invalid("securityRuleIds", "%q is no rule of network security group %s", id, *g.Id)
		}
	}
	g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r core.SecurityRule) bool { return slices.Contains(d.SecurityRuleIds, *r.Id) })
	g.changed()
	return response{status: http.StatusNoContent}, nil
}
