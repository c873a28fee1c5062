// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// routeTable says how a subnet reaches what is not in its VCN.
type routeTable struct {
	core.RouteTable
	record
}

func (t *routeTable) compartment() string { return *t.CompartmentId }
func (t *routeTable) gone() bool          { return t.LifecycleState == core.RouteTableLifecycleStateTerminated }
func (t *routeTable) shown() any          { return t.RouteTable }
func (t *routeTable) resume(s *Server)    { routeTables.resume(s, t) }
func (t *routeTable) facets() facets {
	return facets{&t.Id, &t.CompartmentId, &t.VcnId, &t.DisplayName, (*string)(&t.LifecycleState), &t.TimeCreated, &t.FreeformTags, &t.DefinedTags}
}

var routeTables = networkKind[*routeTable]{
	name: "route table", prefix: "routetable", table: func(st *store) *table[*routeTable] { return st.routeTables },
	users: func(s *Server, t *routeTable) []string {
		return slices.Concat(s.defaultOf(*t.VcnId, *t.Id), usersAmong(s, subnets, func(n *subnet) bool { return *n.RouteTableId == *t.Id }))
	},
}

// defaultOf names a VCN whose default something is.
func (s *Server) defaultOf(vcnID, id string) []string {
	v := s.store.vcns.get(vcnID)
	if slices.Contains([]string{*v.DefaultRouteTableId, *v.DefaultSecurityListId, *v.DefaultDhcpOptionsId}, id) {
		return []string{"VCN " + vcnID + ", whose default it is"}
	}
	return nil
}

// routesTo names the route tables with a rule for a target.
func (s *Server) routesTo(id string) []string {
	return usersAmong(s, routeTables, func(t *routeTable) bool {
		return slices.ContainsFunc(t.RouteRules, func(r core.RouteRule) bool { return *r.NetworkEntityId == id })
	})
}

func (s *Server) newRouteTable(q *request, v *vcn, d core.CreateRouteTableDetails) (*routeTable, error) {
	rules, err := s.checkRoutes(q, *v.Id, d.RouteRules)
	return &routeTable{RouteTable: core.RouteTable{RouteRules: rules}}, err
}

func (s *Server) updateRouteTable(q *request, t *routeTable, d core.UpdateRouteTableDetails) error {
	if d.RouteRules == nil {
		return nil
	}
	rules, err := s.checkRoutes(q, *t.VcnId, d.RouteRules)
	if err == nil {
		t.RouteRules = rules
	}
	return err
}

const maxRouteRules = 200 // of a table

// checkRoutes completes the rules of a table as OCI shows them.
func (s *Server) checkRoutes(q *request, vcnID string, rules []core.RouteRule) ([]core.RouteRule, error) {
	if len(rules) > maxRouteRules {
		return nil, overLimit("A route table has at most %d rules.", maxRouteRules)
	}
	rules = slices.Clone(rules)
	destinations := make([]string, len(rules))
	for n := range rules {
		r := &rules[n]
		if err := s.checkRoute(q, vcnID, r); err != nil {
			return nil, err
		}
		destinations[n] = *r.Destination
	}
	if destination, twice := duplicate(destinations); twice {
		return nil, invalid("routeRules", "there are two rules for %s", destination)
	}
	return rules, nil
}

func (s *Server) checkRoute(q *request, vcnID string, r *core.RouteRule) error {
	r.Destination, r.CidrBlock = absentIfEmpty(r.Destination), absentIfEmpty(r.CidrBlock)
	switch {
	case r.Destination == nil && r.CidrBlock == nil:
		return missing("routeRules.destination")
	case r.Destination == nil:
		r.Destination = r.CidrBlock // the older name
	case r.CidrBlock != nil && *r.CidrBlock != *r.Destination:
		return invalid("routeRules.cidrBlock", "%q is not the destination %q", *r.CidrBlock, *r.Destination)
	}
	if r.DestinationType == "" {
		r.DestinationType = core.RouteRuleDestinationTypeCidrBlock
	}
	if r.RouteType == "" {
		r.RouteType = core.RouteRuleRouteTypeStatic
	}
	toService := r.DestinationType == core.RouteRuleDestinationTypeServiceCidrBlock
	if toService {
		r.CidrBlock = nil
		if s.service(isServiceLabel(*r.Destination)) == nil {
			return invalid("routeRules.destination", "there is no service %q", *r.Destination)
		}
	} else {
		p, err := netip.ParsePrefix(*r.Destination)
		if err != nil || p != p.Masked() {
			return invalid("routeRules.destination", "%q is no CIDR block", *r.Destination)
		}
		r.CidrBlock = r.Destination
	}
	return s.checkRouteTarget(q, vcnID, *r.NetworkEntityId, toService)
}

// checkRouteTarget checks that a rule's target is there, of the VCN, and of the kind that the destination needs.
func (s *Server) checkRouteTarget(q *request, vcnID, id string, toService bool) error {
	const field = "routeRules.networkEntityId"
	kind, _, _ := strings.Cut(strings.TrimPrefix(id, "ocid1."), ".")
	var err error
	switch kind {
	case internetGateways.prefix:
		_, err = findInVCN(s, q.sees, internetGateways, field, id, vcnID)
	case natGateways.prefix:
		_, err = findInVCN(s, q.sees, natGateways, field, id, vcnID)
	case serviceGateways.prefix:
		_, err = findInVCN(s, q.sees, serviceGateways, field, id, vcnID)
	case "privateip":
		p, found := s.store.privateIPs.byID[id]
		if !found || p.gone() || !q.sees(p.compartment()) || *s.store.subnets.get(*p.SubnetId).VcnId != vcnID {
			err = invalid(field, "there is no private IP %s in VCN %s", id, vcnID)
		}
	case "drg", "localpeeringgateway", "drgattachment":
		err = notSimulated("a route to " + id)
	default:
		err = invalid(field, "%q is no gateway or private IP", id)
	}
	if isServiceGateway := kind == serviceGateways.prefix; err == nil && isServiceGateway != toService {
		err = invalid(field, "destination type SERVICE_CIDR_BLOCK and a service gateway need each other")
	}
	return err
}
