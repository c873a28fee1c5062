// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/netip"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// vcn owns its default route table, security list and DHCP options.
type vcn struct {
	core.Vcn
	record
}

func (v *vcn) compartment() string { return *v.CompartmentId }
func (v *vcn) gone() bool          { return v.LifecycleState == core.VcnLifecycleStateTerminated }
func (v *vcn) shown() any          { return v.Vcn }
func (v *vcn) resume(s *Server)    { vcns.resume(s, v) }
func (v *vcn) facets() facets {
	return facets{&v.Id, &v.CompartmentId, nil, &v.DisplayName, (*string)(&v.LifecycleState), &v.TimeCreated, &v.FreeformTags, &v.DefinedTags}
}

// cidrs are the VCN's IPv4 networks.
func (v *vcn) cidrs() []netip.Prefix { return prefixes(v.CidrBlocks) }

func prefixes(texts []string) []netip.Prefix {
	list := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		if p, err := netip.ParsePrefix(text); err == nil {
			list = append(list, p)
		}
	}
	return list
}

var vcns = networkKind[*vcn]{
	name: "VCN", prefix: "vcn", table: func(st *store) *table[*vcn] { return st.vcns }, users: (*Server).usersOfVCN, end: (*Server).endDefaults,
}

func (s *Server) usersOfVCN(v *vcn) []string {
	in := func(id *string) bool { return *id == *v.Id }
	return slices.Concat(
		usersAmong(s, subnets, func(n *subnet) bool { return in(n.VcnId) }),
		usersAmong(s, internetGateways, func(g *internetGateway) bool { return in(g.VcnId) }),
		usersAmong(s, natGateways, func(g *natGateway) bool { return in(g.VcnId) }),
		usersAmong(s, serviceGateways, func(g *serviceGateway) bool { return in(g.VcnId) }),
		usersAmong(s, routeTables, func(t *routeTable) bool { return in(t.VcnId) && *t.Id != *v.DefaultRouteTableId }),
		usersAmong(s, securityLists, func(l *securityList) bool { return in(l.VcnId) && *l.Id != *v.DefaultSecurityListId }),
		usersAmong(s, dhcpOptionsKind, func(o *dhcpOptions) bool { return in(o.VcnId) && *o.Id != *v.DefaultDhcpOptionsId }),
		usersAmong(s, securityGroups, func(g *securityGroup) bool { return in(g.VcnId) }),
	)
}

// endDefaults ends what ends with a VCN.
func (s *Server) endDefaults(v *vcn) {
	routeTables.finish(s, s.store.routeTables.get(*v.DefaultRouteTableId))
	securityLists.finish(s, s.store.securityLists.get(*v.DefaultSecurityListId))
	dhcpOptionsKind.finish(s, s.store.dhcpOptions.get(*v.DefaultDhcpOptionsId))
}

func (s *Server) createVCN(q *request) (response, error) {
	d, err := decode[core.CreateVcnDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	for field, used := range map[string]bool{
		"isIpv6Enabled": value(d.IsIpv6Enabled), "ipv6PrivateCidrBlocks": len(d.Ipv6PrivateCidrBlocks) > 0,
		"byoipv6CidrDetails": len(d.Byoipv6CidrDetails) > 0, "securityAttributes": len(d.SecurityAttributes) > 0,
	} {
		if used {
			return response{}, notSimulated(field)
		}
	}
	blocks := d.CidrBlocks
	switch {
	case d.CidrBlock != nil && len(blocks) > 0:
		return response{}, invalid("cidrBlocks", "give either cidrBlock or cidrBlocks")
	case d.CidrBlock != nil:
		blocks = []string{*d.CidrBlock}
	case len(blocks) == 0:
		return response{}, missing("cidrBlocks")
	}
	if err := checkVCNBlocks(blocks); err != nil {
		return response{}, err
	}
	v := &vcn{Vcn: core.Vcn{DnsLabel: absentIfEmpty(d.DnsLabel)}}
	s.addVCN(v, blocks, createFields{d.CompartmentId, nil, d.DisplayName, d.FreeformTags, d.DefinedTags})
	vcns.provision(s, v)
	resp, err := ok(v.Vcn)
	resp.created = *v.Id
	return resp, err
}

// addVCN stores a VCN with its defaults.
func (s *Server) addVCN(v *vcn, blocks []string, fields createFields) {
	v.CidrBlocks, v.CidrBlock = blocks, &blocks[0]
	if v.DnsLabel != nil {
		v.VcnDomainName = ptr(*v.DnsLabel + ".oraclevcn.com")
	}
	v.DefaultRouteTableId, v.DefaultSecurityListId = ptr(s.names.ocid(routeTables.prefix)), ptr(s.names.ocid(securityLists.prefix))
	v.DefaultDhcpOptionsId = ptr(s.names.ocid(dhcpOptionsKind.prefix))
	vcns.add(s, v, nil, fields)
	defaultFields := func(what string) createFields {
		return createFields{CompartmentID: v.CompartmentId, DisplayName: ptr("Default " + what + " for " + *v.DisplayName)}
	}
	routeTables.add(s, &routeTable{RouteTable: core.RouteTable{Id: v.DefaultRouteTableId, RouteRules: []core.RouteRule{}}}, v.Id, defaultFields("Route Table"))
	list := defaultSecurityList(v)
	list.Id = v.DefaultSecurityListId
	securityLists.add(s, list, v.Id, defaultFields("Security List"))
	options := defaultDHCPOptions(v)
	options.Id = v.DefaultDhcpOptionsId
	dhcpOptionsKind.add(s, options, v.Id, defaultFields("DHCP Options"))
}

// reservedNetworks are no part of any VCN.
//
// Source: https://docs.oracle.com/en-us/iaas/Content/Network/Tasks/Overview_of_VCNs_and_Subnets.htm
var reservedNetworks = prefixes([]string{"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"})

const maxVCNBlocks = 5 // a limit that Oracle raises on request

func checkVCNBlocks(blocks []string) error {
	if len(blocks) > maxVCNBlocks {
		return overLimit("A VCN has at most %d IPv4 CIDR blocks.", maxVCNBlocks)
	}
	var seen []netip.Prefix
	for _, block := range blocks {
		p, err := checkBlock("cidrBlocks", block)
		if err != nil {
			return err
		}
		for _, other := range slices.Concat(reservedNetworks, seen) {
			if other.Overlaps(p) {
				return invalid("cidrBlocks", "%s overlaps %s", p, other)
			}
		}
		seen = append(seen, p)
	}
	return nil
}

// checkBlock reads an IPv4 network of a VCN or a subnet.
func checkBlock(field, text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil || !p.Addr().Is4():
		return p, invalid(field, "%q is no IPv4 CIDR block", text)
	case p != p.Masked():
		return p, invalid(field, "%q is no network address; %s would be", text, p.Masked())
	case p.Bits() < 16 || p.Bits() > 30:
		return p, invalid(field, "%q must be between /16 and /30", text)
	}
	return p, nil
}

func (s *Server) updateVCN(_ *request, _ *vcn, d core.UpdateVcnDetails) error {
	if len(d.SecurityAttributes) > 0 {
		return notSimulated("securityAttributes")
	}
	return nil
}

func (s *Server) addVCNBlock(q *request) (response, error) {
	d, err := decode[core.AddVcnCidrDetails](q)
	if err != nil {
		return response{}, err
	}
	return s.changeVCNBlocks(q, func(v *vcn) ([]string, error) { return append(slices.Clone(v.CidrBlocks), *d.CidrBlock), nil })
}

func (s *Server) removeVCNBlock(q *request) (response, error) {
	d, err := decode[core.RemoveVcnCidrDetails](q)
	if err != nil {
		return response{}, err
	}
	return s.changeVCNBlocks(q, func(v *vcn) ([]string, error) {
		at := slices.Index(v.CidrBlocks, *d.CidrBlock)
		if at < 0 || len(v.CidrBlocks) == 1 {
			return nil, invalid("cidrBlock", "%s is no CIDR block that VCN %s can lose", *d.CidrBlock, *v.Id)
		}
		return slices.Delete(slices.Clone(v.CidrBlocks), at, at+1), nil
	})
}

func (s *Server) modifyVCNBlock(q *request) (response, error) {
	d, err := decode[core.ModifyVcnCidrDetails](q)
	if err != nil {
		return response{}, err
	}
	return s.changeVCNBlocks(q, func(v *vcn) ([]string, error) {
		at := slices.Index(v.CidrBlocks, *d.OriginalCidrBlock)
		if at < 0 {
			return nil, invalid("originalCidrBlock", "%s is no CIDR block of VCN %s", *d.OriginalCidrBlock, *v.Id)
		}
		return slices.Replace(slices.Clone(v.CidrBlocks), at, at+1, *d.NewCidrBlock), nil
	})
}

// changeVCNBlocks gives a VCN other networks, in which its subnets must still have room.
func (s *Server) changeVCNBlocks(q *request, change func(*vcn) ([]string, error)) (response, error) {
	v, err := vcns.findToChange(s, q)
	if err != nil {
		return response{}, err
	}
	blocks, err := change(v)
	if err != nil {
		return response{}, err
	}
	if err := checkVCNBlocks(blocks); err != nil {
		return response{}, err
	}
	for _, n := range s.store.subnets.all() {
		if *n.VcnId == *v.Id && !n.gone() && !within(n.cidr(), prefixes(blocks)) {
			return response{}, conflict("The CIDR block of VCN %s cannot go: subnet %s (%s) is in it.", *v.Id, *n.Id, *n.CidrBlock)
		}
	}
	v.CidrBlocks, v.CidrBlock = blocks, &blocks[0]
	v.changed()
	// OCI leaves the resource's action at IN_PROGRESS when the work request has succeeded; the official
	// provider waits for just that.
	w := s.newWorkRequest(opChangeVCN, v.compartment(), "vcn", *v.Id, workrequests.WorkRequestResourceActionTypeInProgress)
	s.progress(w, 0, 0)
	s.succeed(w)
	return response{workRequest: *w.Id}, nil
}

// within says whether one of the networks contains all of p.
func within(p netip.Prefix, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Bits() <= p.Bits() && n.Contains(p.Addr()) })
}
