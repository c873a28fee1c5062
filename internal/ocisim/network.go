// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"github.com/oracle/oci-go-sdk/v65/core"
)

// addNetwork makes the region's first VCN: public and private subnets, each kind with a route table and a
// security list of its own.
func (s *Server) addNetwork() {
	v := &vcn{Vcn: core.Vcn{Id: s.given(s.cfg.VCN.ID, "vcn")}}
	if label := s.cfg.VCN.DNSLabel; label != "" {
		v.DnsLabel = &label
	}
	s.addVCN(v, []string{s.cfg.VCN.CIDR.String()}, s.named(s.cfg.VCN.DisplayName))
	internet := &internetGateway{InternetGateway: core.InternetGateway{IsEnabled: ptr(true)}}
	internetGateways.add(s, internet, v.Id, s.named("internet"))
	nat := &natGateway{NatGateway: core.NatGateway{Id: ptr(s.names.ocid(natGateways.prefix)), BlockTraffic: ptr(false)}}
	if address, err := s.newEphemeralIP(&s.cfg.CompartmentID, core.PublicIpScopeRegion, nil); err == nil { // the first one
		address.assign(core.PublicIpAssignedEntityTypeNatGateway, *nat.Id)
		nat.PublicIpId, nat.NatIp = address.Id, address.IpAddress
	}
	natGateways.add(s, nat, v.Id, s.named("nat"))
	withinVCN := core.IngressSecurityRule{Source: v.CidrBlock, Protocol: ptr("all")}
	public := s.addSurroundings(v, "public", internet.Id, fromAnywhere(22), withinVCN)
	private := s.addSurroundings(v, "private", nat.Id, withinVCN)
	for _, c := range s.cfg.Subnets {
		parts := private
		if c.Public {
			parts = public
		}
		s.addSubnet(v, c, parts)
	}
}

func (s *Server) named(displayName string) createFields {
	return createFields{CompartmentID: &s.cfg.CompartmentID, DisplayName: absentIfEmpty(&displayName)}
}

// surroundings are what subnets of one kind share.
type surroundings struct{ table, list *string }

func (s *Server) addSurroundings(v *vcn, name string, gateway *string, ingress ...core.IngressSecurityRule) surroundings {
	t := &routeTable{RouteTable: core.RouteTable{RouteRules: []core.RouteRule{{
		Destination: ptr(anywhere), CidrBlock: ptr(anywhere), DestinationType: core.RouteRuleDestinationTypeCidrBlock,
		RouteType: core.RouteRuleRouteTypeStatic, NetworkEntityId: gateway,
	}}}}
	routeTables.add(s, t, v.Id, s.named(name))
	l := &securityList{SecurityList: core.SecurityList{IngressSecurityRules: ingress, EgressSecurityRules: []core.EgressSecurityRule{toAnywhere()}}}
	l.complete()
	securityLists.add(s, l, v.Id, s.named(name))
	return surroundings{t.Id, l.Id}
}

func (s *Server) addSubnet(v *vcn, c Subnet, parts surroundings) {
	n := &subnet{Subnet: core.Subnet{
		Id: s.given(c.ID, "subnet"), DhcpOptionsId: v.DefaultDhcpOptionsId, RouteTableId: parts.table, SecurityListIds: []string{*parts.list},
		ProhibitInternetIngress: ptr(!c.Public), ProhibitPublicIpOnVnic: ptr(!c.Public), VirtualRouterMac: ptr(s.names.mac()),
	}, Reserved: c.Reserved}
	if c.DNSLabel != "" {
		n.DnsLabel = &c.DNSLabel
		if v.VcnDomainName != nil {
			n.SubnetDomainName = ptr(c.DNSLabel + "." + *v.VcnDomainName)
		}
	}
	n.setBlock(c.CIDR.Masked())
	n.Cursor = n.gateway()
	subnets.add(s, n, v.Id, s.named(c.DisplayName))
}

// given is the configured OCID, or a new one.
func (s *Server) given(id, kind string) *string {
	if id == "" {
		id = s.names.ocid(kind)
	}
	return &id
}
