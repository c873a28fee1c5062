// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
)

type vcn struct {
	core.Vcn
	record
}

func (v *vcn) compartment() string { return *v.CompartmentId }
func (v *vcn) gone() bool          { return false }

// subnet hands out addresses.
type subnet struct {
	core.Subnet
	record
	Reserved []netip.Addr // never given out
	Cursor   netip.Addr   // where the search for a free address goes on
}

func (n *subnet) compartment() string { return *n.CompartmentId }
func (n *subnet) gone() bool          { return false }
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

// allocate takes an address: the wanted one, or the next that is free. It goes round, so that an
// address is not given to another host soon.
func (s *Server) allocate(n *subnet, wanted *string) (netip.Addr, error) {
	if wanted != nil {
		a, err := netip.ParseAddr(*wanted)
		if err != nil || !n.usable(a) {
			return a, invalid("createVnicDetails.privateIp", "%q is no free address of %s", *wanted, *n.CidrBlock)
		}
		if s.inUse(n, a) {
			return a, conflict("The address %s is already in use in subnet %s.", a, *n.Id)
		}
		return a, nil
	}
	for a, first := n.Cursor.Next(), true; ; a = a.Next() {
		if !n.usable(a) {
			if !first {
				return a, &apiError{http.StatusBadRequest, "LimitExceeded", fmt.Sprintf("Subnet %s has no free address.", *n.Id)}
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

func (s *Server) inUse(n *subnet, a netip.Addr) bool {
	return slices.Contains(n.Reserved, a) || len(s.store.addresses.with(addressKey(*n.Id, a))) > 0
}

// addNetwork makes the region's VCN and subnets.
func (s *Server) addNetwork() {
	v := s.newVCN()
	s.store.vcns.add(*v.Id, v)
	for _, c := range s.cfg.Subnets {
		n := s.newSubnet(v, c)
		s.store.subnets.add(*n.Id, n)
	}
}

func (s *Server) newVCN() *vcn {
	c := s.cfg.VCN
	v := core.Vcn{
		Id: s.given(c.ID, "vcn"), CompartmentId: &s.cfg.CompartmentID, LifecycleState: core.VcnLifecycleStateAvailable,
		CidrBlock: ptr(c.CIDR.String()), CidrBlocks: []string{c.CIDR.String()}, DisplayName: &c.DisplayName, TimeCreated: s.timestamp(),
		DefaultDhcpOptionsId: ptr(s.names.ocid("dhcpoptions")), DefaultRouteTableId: ptr(s.names.ocid("routetable")),
		DefaultSecurityListId: ptr(s.names.ocid("securitylist")),
	}
	if c.DNSLabel != "" {
		v.DnsLabel, v.VcnDomainName = &c.DNSLabel, ptr(c.DNSLabel+".oraclevcn.com")
	}
	v.FreeformTags, v.DefinedTags = tagged(nil, nil)
	return &vcn{Vcn: v}
}

func (s *Server) newSubnet(v *vcn, c Subnet) *subnet {
	cidr := c.CIDR.Masked()
	n := core.Subnet{
		Id: s.given(c.ID, "subnet"), CompartmentId: &s.cfg.CompartmentID, VcnId: v.Id, LifecycleState: core.SubnetLifecycleStateAvailable,
		CidrBlock: ptr(cidr.String()), Ipv4CidrBlocks: []string{cidr.String()}, DisplayName: &c.DisplayName, TimeCreated: s.timestamp(),
		DhcpOptionsId: v.DefaultDhcpOptionsId, RouteTableId: v.DefaultRouteTableId, SecurityListIds: []string{*v.DefaultSecurityListId},
		ProhibitInternetIngress: ptr(!c.Public), ProhibitPublicIpOnVnic: ptr(!c.Public), VirtualRouterMac: ptr(s.names.mac()),
	}
	if c.DNSLabel != "" {
		n.DnsLabel = &c.DNSLabel
		if v.VcnDomainName != nil {
			n.SubnetDomainName = ptr(c.DNSLabel + "." + *v.VcnDomainName)
		}
	}
	n.FreeformTags, n.DefinedTags = tagged(nil, nil)
	sub := &subnet{Subnet: n, Reserved: c.Reserved}
	sub.Cursor = sub.gateway()
	sub.VirtualRouterIp = ptr(sub.gateway().String())
	return sub
}

// given is the configured OCID, or a new one.
func (s *Server) given(id, kind string) *string {
	if id == "" {
		id = s.names.ocid(kind)
	}
	return &id
}

func (s *Server) getVCN(q *request) (response, error) {
	v, err := find(q.sees, s.store.vcns, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(v.Vcn)
}

func (s *Server) listVCNs(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, v := range s.store.vcns.all() {
		if v.compartment() == compartment && q.wants("displayName", v.DisplayName) && q.wants("lifecycleState", ptr(string(v.LifecycleState))) {
			rows = append(rows, row{v.position, *v.DisplayName, &v.Vcn})
		}
	}
	return page(q, rows)
}

func (s *Server) getSubnet(q *request) (response, error) {
	n, err := find(q.sees, s.store.subnets, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(n.Subnet)
}

func (s *Server) listSubnets(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, n := range s.store.subnets.all() {
		if n.compartment() == compartment && q.wants("vcnId", n.VcnId) && q.wants("displayName", n.DisplayName) &&
			q.wants("lifecycleState", ptr(string(n.LifecycleState))) {
			rows = append(rows, row{n.position, *n.DisplayName, &n.Subnet})
		}
	}
	return page(q, rows)
}
