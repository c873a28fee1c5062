// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"
	"net/netip"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// publicNetwork is where public addresses are from: a network for documentation (RFC 5737). Nothing on the
// machine routes to it.
var publicNetwork = netip.MustParsePrefix("203.0.113.0/24")

// publicIP is an address that the internet knows: of a private IP, or of a NAT gateway.
type publicIP struct {
	core.PublicIp
	record
}

func (p *publicIP) compartment() string { return *p.CompartmentId }
func (p *publicIP) gone() bool          { return p.LifecycleState == core.PublicIpLifecycleStateTerminated }

// newPublicIP stores an address that is not in use.
func (s *Server) newPublicIP(compartment *string, lifetime core.PublicIpLifetimeEnum, scope core.PublicIpScopeEnum, domain *string) (*publicIP, error) {
	address := publicNetwork.Addr().Next()
	for ; publicNetwork.Contains(address.Next()); address = address.Next() {
		if len(s.store.publicAddresses.with(address.String())) == 0 {
			break
		}
	}
	if !publicNetwork.Contains(address.Next()) {
		return nil, overLimit("The region has no free public IP address: all of %s are in use.", publicNetwork)
	}
	p := &publicIP{PublicIp: core.PublicIp{
		Id: ptr(s.names.ocid("publicip")), CompartmentId: compartment, AvailabilityDomain: domain, IpAddress: ptr(address.String()),
		DisplayName: ptr("publicip" + s.defaultSuffix()), LifecycleState: core.PublicIpLifecycleStateAvailable, Lifetime: lifetime,
		Scope: scope, TimeCreated: s.timestamp(),
	}}
	p.FreeformTags, p.DefinedTags = s.tagged(nil, nil)
	s.store.publicIPs.add(*p.Id, p)
	return p, nil
}

func (s *Server) newEphemeralIP(compartment *string, scope core.PublicIpScopeEnum, domain *string) (*publicIP, error) {
	return s.newPublicIP(compartment, core.PublicIpLifetimeEphemeral, scope, domain)
}

func (p *publicIP) assign(to core.PublicIpAssignedEntityTypeEnum, id string) {
	p.AssignedEntityType, p.AssignedEntityId, p.LifecycleState = to, &id, core.PublicIpLifecycleStateAssigned
	if to == core.PublicIpAssignedEntityTypePrivateIp {
		p.PrivateIpId = &id
	}
	p.changed()
}

// assignTo gives a public address to a private one.
func (s *Server) assignTo(public *publicIP, private *privateIP) error {
	n := s.store.subnets.get(*private.SubnetId)
	if *n.ProhibitPublicIpOnVnic {
		return invalid("privateIpId", "subnet %s prohibits public IP addresses on VNICs", *n.Id)
	}
	if other := s.publicIPOf(*private.Id); other != nil {
		return conflict("The private IP %s has the public IP %s already.", *private.Id, *other.Id)
	}
	public.assign(core.PublicIpAssignedEntityTypePrivateIp, *private.Id)
	s.showPublicIP(private, public.IpAddress)
	return nil
}

// showPublicIP tells a VNIC the public address of its primary private one.
func (s *Server) showPublicIP(private *privateIP, address *string) {
	if v := s.store.vnics.get(value(private.VnicId)); v != nil && *private.IsPrimary {
		v.PublicIp = address
		v.changed()
	}
}

// publicIPOf is what is assigned to a private IP or a gateway; nil if nothing is.
func (s *Server) publicIPOf(entity string) *publicIP {
	for _, p := range s.store.assigned.with(entity) {
		return p
	}
	return nil
}

// unassign takes the public address away that a private IP or a gateway has. An ephemeral one ends.
func (s *Server) unassign(entity string) {
	p := s.publicIPOf(entity)
	if p == nil {
		return
	}
	if private := s.store.privateIPs.get(entity); private != nil {
		s.showPublicIP(private, nil)
	}
	p.AssignedEntityType, p.AssignedEntityId, p.PrivateIpId = "", nil, nil
	p.LifecycleState = core.PublicIpLifecycleStateAvailable
	if p.Lifetime == core.PublicIpLifetimeEphemeral {
		p.LifecycleState = core.PublicIpLifecycleStateTerminated
		p.forget(terminatedVisible)
	}
	p.changed()
}

func (s *Server) findUnassigned(sees viewer, id string) (*publicIP, error) {
	p, err := find(sees, s.store.publicIPs, id)
	if err != nil {
		return nil, err
	}
	if p.AssignedEntityId != nil || p.gone() {
		return nil, conflict("The public IP %s is not free.", id)
	}
	return p, nil
}

func (s *Server) createPublicIP(q *request) (response, error) {
	d, err := decode[core.CreatePublicIpDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	if absentIfEmpty(d.PublicIpPoolId) != nil {
		return response{}, notSimulated("publicIpPoolId")
	}
	lifetime, scope := core.PublicIpLifetimeEnum(d.Lifetime), core.PublicIpScopeRegion
	var private *privateIP
	if id := absentIfEmpty(d.PrivateIpId); id != nil {
		if private, err = s.findPrivateIP(q, *id); err != nil {
			return response{}, err
		}
		if other := s.publicIPOf(*id); other != nil {
			return response{}, conflict("The private IP %s has the public IP %s already.", *id, *other.Id)
		}
	}
	var domain *string
	if lifetime == core.PublicIpLifetimeEphemeral {
		if private == nil {
			return response{}, missing("privateIpId")
		}
		scope, domain = core.PublicIpScopeAvailabilityDomain, private.AvailabilityDomain
	}
	p, err := s.newPublicIP(d.CompartmentId, lifetime, scope, domain)
	if err != nil {
		return response{}, err
	}
	set(&p.DisplayName, d.DisplayName)
	p.FreeformTags, p.DefinedTags = s.tagged(d.FreeformTags, d.DefinedTags)
	if private != nil {
		if err := s.assignTo(p, private); err != nil {
			s.store.publicIPs.remove(*p.Id)
			return response{}, err
		}
	}
	p.changed()
	resp, err := ok(p.PublicIp)
	resp.created = *p.Id
	return resp, err
}

func (s *Server) getPublicIP(q *request) (response, error) {
	p, err := find(q.sees, s.store.publicIPs, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(p.PublicIp)
}

func (s *Server) getPublicIPByAddress(q *request) (response, error) {
	d, err := decode[core.GetPublicIpByIpAddressDetails](q)
	if err != nil {
		return response{}, err
	}
	for _, p := range s.store.publicAddresses.with(*d.IpAddress) {
		if q.sees(p.compartment()) {
			return ok(p.PublicIp)
		}
	}
	return response{}, notFound()
}

func (s *Server) getPublicIPByPrivateIP(q *request) (response, error) {
	d, err := decode[core.GetPublicIpByPrivateIpIdDetails](q)
	if err != nil {
		return response{}, err
	}
	if p := s.publicIPOf(*d.PrivateIpId); p != nil && q.sees(p.compartment()) {
		return ok(p.PublicIp)
	}
	return response{}, notFound()
}

func (s *Server) listPublicIPs(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	scope, err := q.enum("scope", core.GetListPublicIpsScopeEnumStringValues())
	if err != nil {
		return response{}, err
	}
	if scope == "" {
		return response{}, missing("scope")
	}
	var rows []row
	for _, p := range s.store.publicIPs.all() {
		if p.compartment() == compartment && !p.gone() && q.wants("scope", ptr(string(p.Scope))) &&
			q.wants("availabilityDomain", p.AvailabilityDomain) && q.wants("lifetime", ptr(string(p.Lifetime))) {
			rows = append(rows, row{p.position, *p.DisplayName, p.PublicIp})
		}
	}
	return page(q, rows)
}

func (s *Server) findPublicIPToChange(q *request) (*publicIP, error) {
	p, err := find(q.sees, s.store.publicIPs, q.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if p.gone() {
		return nil, notFound()
	}
	return p, q.match(p.PublicIp)
}

// updatePublicIP moves a reserved address to another private one, or to none.
func (s *Server) updatePublicIP(q *request) (response, error) {
	p, err := s.findPublicIPToChange(q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdatePublicIpDetails](q)
	if err != nil {
		return response{}, err
	}
	if d.PrivateIpId != nil && *d.PrivateIpId != value(p.PrivateIpId) {
		if p.Lifetime == core.PublicIpLifetimeEphemeral {
			return response{}, invalid("privateIpId", "public IP %s is ephemeral and cannot move", *p.Id)
		}
		if p.AssignedEntityType == core.PublicIpAssignedEntityTypeNatGateway {
			return response{}, inUse("public IP", *p.Id, []string{natGateways.name + " " + *p.AssignedEntityId})
		}
		if err := s.reassign(q, p, *d.PrivateIpId); err != nil {
			return response{}, err
		}
	}
	set(&p.DisplayName, d.DisplayName)
	setTags(&p.FreeformTags, &p.DefinedTags, d.FreeformTags, d.DefinedTags)
	p.changed()
	return ok(p.PublicIp)
}

// reassign takes an address from where it is; no private IP means to leave it free.
func (s *Server) reassign(q *request, p *publicIP, privateIPID string) error {
	old := p.PrivateIpId
	if privateIPID == "" {
		if old != nil {
			s.unassign(*old)
		}
		return nil
	}
	private, err := s.findPrivateIP(q, privateIPID)
	if err != nil {
		return err
	}
	if err := s.assignTo(p, private); err != nil {
		return err
	}
	if old != nil {
		s.showPublicIP(s.store.privateIPs.get(*old), nil)
	}
	return nil
}

func (s *Server) deletePublicIP(q *request) (response, error) {
	p, err := s.findPublicIPToChange(q)
	if err != nil {
		return response{}, err
	}
	if p.AssignedEntityType == core.PublicIpAssignedEntityTypeNatGateway {
		return response{}, inUse("public IP", *p.Id, []string{natGateways.name + " " + *p.AssignedEntityId})
	}
	if p.AssignedEntityId != nil {
		s.unassign(*p.AssignedEntityId)
	}
	if !p.gone() {
		p.LifecycleState = core.PublicIpLifecycleStateTerminated
		p.changed()
		p.forget(terminatedVisible)
	}
	return response{status: http.StatusNoContent}, nil
}

func (s *Server) movePublicIP(q *request) (response, error) {
	p, err := s.findPublicIPToChange(q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.ChangePublicIpCompartmentDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	p.CompartmentId = d.CompartmentId
	p.changed()
	return response{etag: etagOf(p.PublicIp)}, nil
}
