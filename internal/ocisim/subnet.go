// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// subnet hands out addresses.
type subnet struct {
	core.Subnet
	record
	Reserved []netip.Addr // never given out
	Cursor   netip.Addr   // where the search for a free address goes on
}

func (n *subnet) compartment() string { return *n.CompartmentId }
func (n *subnet) gone() bool          { return n.LifecycleState == core.SubnetLifecycleStateTerminated }
func (n *subnet) shown() any          { return n.Subnet }
func (n *subnet) resume(s *Server)    { subnets.resume(s, n) }
func (n *subnet) facets() facets {
	return facets{&n.Id, &n.CompartmentId, &n.VcnId, &n.DisplayName, (*string)(&n.LifecycleState), &n.TimeCreated, &n.FreeformTags, &n.DefinedTags}
}

func (n *subnet) gateway() netip.Addr { return n.cidr().Addr().Next() }

func (n *subnet) cidr() netip.Prefix {
	p, _ := netip.ParsePrefix(*n.CidrBlock) // ours
	return p
}

// usable leaves out OCI's three: network, gateway, and broadcast.
func (n *subnet) usable(a netip.Addr) bool {
	cidr := n.cidr()
	return cidr.Contains(a) && n.gateway().Less(a) && cidr.Contains(a.Next())
}

var subnets = networkKind[*subnet]{
	name: "subnet", prefix: "subnet", table: func(st *store) *table[*subnet] { return st.subnets }, users: (*Server).usersOfSubnet,
}

func (s *Server) usersOfSubnet(n *subnet) []string {
	var users []string
	for _, p := range s.store.privateIPs.all() {
		if !p.gone() && *p.SubnetId == *n.Id {
			users = append(users, p.user())
		}
	}
	if b := s.cfg.Bastion; b != nil && b.SubnetID == *n.Id {
		users = append(users, "the lab's bastion "+b.Address.String())
	}
	return users
}

func (s *Server) newSubnet(q *request, v *vcn, d core.CreateSubnetDetails) (*subnet, error) {
	if d.Ipv6CidrBlock != nil || len(d.Ipv6CidrBlocks) > 0 || len(d.Ipv4CidrBlocks) > 1 {
		return nil, notSimulated("a subnet with more than one CIDR block, or with IPv6,")
	}
	if len(d.Ipv4CidrBlocks) == 1 {
		if d.CidrBlock != nil && *d.CidrBlock != d.Ipv4CidrBlocks[0] {
			return nil, invalid("ipv4CidrBlocks", "give either cidrBlock or ipv4CidrBlocks")
		}
		d.CidrBlock = &d.Ipv4CidrBlocks[0]
	}
	if d.CidrBlock == nil {
		return nil, missing("cidrBlock")
	}
	cidr, err := s.checkSubnetBlock(v, nil, *d.CidrBlock)
	if err != nil {
		return nil, err
	}
	if d.AvailabilityDomain = absentIfEmpty(d.AvailabilityDomain); d.AvailabilityDomain != nil {
		if err := s.checkAvailabilityDomain(d.AvailabilityDomain); err != nil {
			return nil, err
		}
	}
	private, err := prohibition(d)
	if err != nil {
		return nil, err
	}
	d.DnsLabel = absentIfEmpty(d.DnsLabel)
	if err := s.checkSubnetLabel(v, d.DnsLabel); err != nil {
		return nil, err
	}
	n := &subnet{Subnet: core.Subnet{
		AvailabilityDomain: d.AvailabilityDomain, DnsLabel: d.DnsLabel, ProhibitInternetIngress: &private, ProhibitPublicIpOnVnic: &private,
		RouteTableId: v.DefaultRouteTableId, DhcpOptionsId: v.DefaultDhcpOptionsId, SecurityListIds: []string{*v.DefaultSecurityListId},
		VirtualRouterMac: ptr(s.names.mac()),
	}}
	if n.DnsLabel != nil {
		n.SubnetDomainName = ptr(*n.DnsLabel + "." + *v.VcnDomainName)
	}
	n.setBlock(cidr)
	n.Cursor = n.gateway()
	return n, s.configure(q, n, *v.Id, d.RouteTableId, d.DhcpOptionsId, d.SecurityListIds)
}

func (n *subnet) setBlock(cidr netip.Prefix) {
	n.CidrBlock, n.Ipv4CidrBlocks = ptr(cidr.String()), []string{cidr.String()}
	n.VirtualRouterIp = ptr(n.gateway().String())
}

// prohibition reads two parameters that mean the same.
func prohibition(d core.CreateSubnetDetails) (bool, error) {
	ingress, public := d.ProhibitInternetIngress, d.ProhibitPublicIpOnVnic
	if ingress != nil && public != nil && *ingress != *public {
		return false, invalid("prohibitInternetIngress", "it and prohibitPublicIpOnVnic must be equal")
	}
	return value(ingress) || value(public), nil
}

// checkSubnetBlock reads the network of a subnet, which is new or has another one so far.
func (s *Server) checkSubnetBlock(v *vcn, present *subnet, text string) (netip.Prefix, error) {
	cidr, err := checkBlock("cidrBlock", text)
	if err != nil {
		return cidr, err
	}
	if !within(cidr, v.cidrs()) {
		return cidr, invalid("cidrBlock", "%s is not within VCN %s, which has %s", cidr, *v.Id, strings.Join(v.CidrBlocks, ", "))
	}
	for _, n := range s.store.subnets.all() {
		if n != present && !n.gone() && *n.VcnId == *v.Id && n.cidr().Overlaps(cidr) {
			return cidr, invalid("cidrBlock", "%s overlaps %s of subnet %s in the same VCN", cidr, *n.CidrBlock, *n.Id)
		}
	}
	return cidr, nil
}

func (s *Server) checkSubnetLabel(v *vcn, label *string) error {
	if label == nil {
		return nil
	}
	if v.DnsLabel == nil {
		return invalid("dnsLabel", "VCN %s has no DNS label, so that its subnets cannot have one", *v.Id)
	}
	for _, n := range s.store.subnets.all() {
		if !n.gone() && *n.VcnId == *v.Id && strings.EqualFold(value(n.DnsLabel), *label) {
			return invalid("dnsLabel", "%q is the label of subnet %s in the same VCN", *label, *n.Id)
		}
	}
	return nil
}

const maxSecurityLists = 5 // of a subnet

// configure gives a subnet its parts, which must be of its VCN. Absent ones stay as they are.
func (s *Server) configure(q *request, n *subnet, vcnID string, table, options *string, lists []string) error {
	if table, options = absentIfEmpty(table), absentIfEmpty(options); table != nil {
		if _, err := findInVCN(s, q.sees, routeTables, "routeTableId", *table, vcnID); err != nil {
			return err
		}
	}
	if options != nil {
		if _, err := findInVCN(s, q.sees, dhcpOptionsKind, "dhcpOptionsId", *options, vcnID); err != nil {
			return err
		}
	}
	if len(lists) > maxSecurityLists {
		return overLimit("A subnet has at most %d security lists.", maxSecurityLists)
	}
	if id, twice := duplicate(lists); twice {
		return invalid("securityListIds", "%s is there twice", id)
	}
	for _, id := range lists {
		if _, err := findInVCN(s, q.sees, securityLists, "securityListIds", id, vcnID); err != nil {
			return err
		}
	}
	set(&n.RouteTableId, table)
	set(&n.DhcpOptionsId, options)
	if lists != nil {
		n.SecurityListIds = lists
	}
	return nil
}

// findInVCN finds what a request names for a resource of a VCN.
func findInVCN[T networkResource](s *Server, sees viewer, k networkKind[T], field, id, vcnID string) (T, error) {
	r, err := k.findUsable(s, sees, field, id)
	if err == nil && **r.facets().vcn != vcnID {
		err = invalid(field, "%s %s is of VCN %s, not of %s", k.name, id, **r.facets().vcn, vcnID)
	}
	return r, err
}

func (s *Server) updateSubnet(q *request, n *subnet, d core.UpdateSubnetDetails) error {
	if d.Ipv6CidrBlock != nil || len(d.Ipv6CidrBlocks) > 0 {
		return notSimulated("ipv6CidrBlock")
	}
	cidr := n.cidr()
	if d.CidrBlock != nil {
		var err error
		if cidr, err = s.checkNewBlock(n, *d.CidrBlock); err != nil {
			return err
		}
	}
	if err := s.configure(q, n, *n.VcnId, d.RouteTableId, d.DhcpOptionsId, d.SecurityListIds); err != nil {
		return err
	}
	n.setBlock(cidr)
	return nil
}

// checkNewBlock checks that what a subnet has stays in it.
func (s *Server) checkNewBlock(n *subnet, text string) (netip.Prefix, error) {
	cidr, err := s.checkSubnetBlock(s.store.vcns.get(*n.VcnId), n, text)
	if err != nil {
		return cidr, err
	}
	if gateway := cidr.Addr().Next(); gateway != n.gateway() {
		return cidr, notSimulated("a change of the subnet's first address")
	}
	for _, p := range s.store.privateIPs.all() {
		if !p.gone() && *p.SubnetId == *n.Id && !cidr.Contains(p.address()) {
			return cidr, conflict("The CIDR block of subnet %s cannot become %s: %s is in use.", *n.Id, cidr, p.address())
		}
	}
	return cidr, nil
}

// allocate takes an address: the wanted one, or the next that is free. It goes round, so that an
// address is not given to another host soon.
func (s *Server) allocate(n *subnet, field string, wanted *string) (netip.Addr, error) {
	if wanted = absentIfEmpty(wanted); wanted != nil {
		a, err := netip.ParseAddr(*wanted)
		if err != nil || !n.usable(a) {
			return a, invalid(field, "%q is no free address of %s", *wanted, *n.CidrBlock)
		}
		if s.inUse(n, a) {
			return a, conflict("The address %s is already in use in subnet %s%s.", a, *n.Id, s.orElsewhere())
		}
		return a, nil
	}
	for a, first := n.Cursor.Next(), true; ; a = a.Next() {
		if !n.usable(a) {
			if !first {
				return a, overLimit("Subnet %s has no free address.", *n.Id)
			}
			a, first = n.gateway(), false
			continue
		}
		if !s.inUse(n, a) {
			n.Cursor = a
			n.changed()
			return a, nil
		}
	}
}

// orElsewhere completes a message about an address in use.
func (s *Server) orElsewhere() string {
	if s.cfg.Hosts == nil {
		return ""
	}
	return ", or in another one: all hosts of a lab share its addresses"
}

// inUse says whether an address is taken: in the subnet or, where hosts share one machine, in any.
func (s *Server) inUse(n *subnet, a netip.Addr) bool {
	bastion := s.cfg.Bastion != nil && s.cfg.Bastion.Address == a
	if s.cfg.Hosts != nil {
		return bastion || len(s.store.addresses.with(a.String())) > 0 || slices.Contains(n.Reserved, a)
	}
	taken := func(p *privateIP) bool { return *p.SubnetId == *n.Id }
	return bastion || slices.Contains(n.Reserved, a) || slices.ContainsFunc(s.store.addresses.with(a.String()), taken)
}
