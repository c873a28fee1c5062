// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"
	"net/netip"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// privateIP is a VNIC's address: its primary one, which lives and ends with it, or one more. A host has to
// give one more to its own interface, as on OCI.
type privateIP struct {
	core.PrivateIp
	record
	Released bool
}

func (p *privateIP) compartment() string { return *p.CompartmentId }
func (p *privateIP) gone() bool          { return p.Released }

func (p *privateIP) address() netip.Addr {
	a, _ := netip.ParseAddr(*p.IpAddress) // ours
	return a
}

// user says what has the address.
func (p *privateIP) user() string {
	if p.VnicId != nil {
		return "VNIC " + *p.VnicId + " (" + *p.IpAddress + ")"
	}
	return "private IP " + *p.Id + " (" + *p.IpAddress + ")"
}

// addPrivateIP stores an address of a VNIC, or of none yet.
func (s *Server) addPrivateIP(n *subnet, v *vnic, address netip.Addr, name, hostname *string, primary bool) *privateIP {
	p := &privateIP{PrivateIp: core.PrivateIp{
		Id: ptr(s.names.ocid("privateip")), AvailabilityDomain: n.AvailabilityDomain, CompartmentId: n.CompartmentId, DisplayName: name,
		HostnameLabel: hostname, IpAddress: ptr(address.String()), IsPrimary: &primary, SubnetId: n.Id, TimeCreated: s.timestamp(),
		IpState: core.PrivateIpIpStateAvailable, Lifetime: core.PrivateIpLifetimeReserved,
	}}
	if v != nil {
		p.assign(v)
		p.Lifetime = core.PrivateIpLifetimeEphemeral
	}
	p.FreeformTags, p.DefinedTags = s.tagged(nil, nil)
	s.store.privateIPs.add(*p.Id, p)
	return p
}

func (p *privateIP) assign(v *vnic) {
	p.VnicId, p.AvailabilityDomain, p.CompartmentId, p.IpState = v.Id, v.AvailabilityDomain, v.CompartmentId, core.PrivateIpIpStateAssigned
	p.changed()
}

// release frees an address, and the public one that it may have.
func (s *Server) release(p *privateIP) {
	s.unassign(*p.Id)
	p.Released = true
	s.store.privateIPs.remove(*p.Id)
}

func (s *Server) findPrivateIP(q *request, id string) (*privateIP, error) {
	p, err := find(q.sees, s.store.privateIPs, id)
	if err != nil {
		return nil, err
	}
	if v := s.store.vnics.get(value(p.VnicId)); v != nil && !v.attached() {
		return nil, notFound() // The VNIC is not there yet.
	}
	return p, nil
}

func (s *Server) createPrivateIP(q *request) (response, error) {
	d, err := decode[core.CreatePrivateIpDetails](q)
	if err != nil {
		return response{}, err
	}
	for field, used := range map[string]bool{
		"vlanId": absentIfEmpty(d.VlanId) != nil, "cidrPrefixLength": value(d.CidrPrefixLength) != 0, "routeTableId": absentIfEmpty(d.RouteTableId) != nil,
	} {
		if used {
			return response{}, notSimulated(field)
		}
	}
	var v *vnic
	subnetID := value(d.SubnetId)
	if id := absentIfEmpty(d.VnicId); id != nil {
		if v, err = find(q.sees, s.store.vnics, *id); err != nil {
			return response{}, err
		}
		if !v.attached() {
			return response{}, incorrectState(*id, string(v.LifecycleState))
		}
		subnetID = *v.SubnetId
	}
	if subnetID == "" {
		return response{}, missing("vnicId or subnetId")
	}
	n, err := find(q.sees, s.store.subnets, subnetID)
	if err != nil {
		return response{}, err
	}
	address, err := s.allocate(n, "ipAddress", d.IpAddress)
	if err != nil {
		return response{}, err
	}
	if d.DisplayName == nil {
		d.DisplayName = ptr("privateip" + s.defaultSuffix())
	}
	p := s.addPrivateIP(n, v, address, d.DisplayName, absentIfEmpty(d.HostnameLabel), false)
	setTags(&p.FreeformTags, &p.DefinedTags, d.FreeformTags, d.DefinedTags)
	if d.Lifetime != "" {
		p.Lifetime = core.PrivateIpLifetimeEnum(d.Lifetime)
	}
	resp, err := ok(p.PrivateIp)
	resp.created = *p.Id
	return resp, err
}

func (s *Server) getPrivateIP(q *request) (response, error) {
	p, err := s.findPrivateIP(q, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(p.PrivateIp)
}

// listIPv6s finds none: VCNs have IPv4 only.
func (s *Server) listIPv6s(q *request) (response, error) {
	if q.query.Get("subnetId") == "" && q.query.Get("vnicId") == "" {
		return response{}, invalid("query", "one of subnetId and vnicId is needed")
	}
	return page(q, nil)
}

func (s *Server) listPrivateIPs(q *request) (response, error) {
	if q.query.Get("subnetId") == "" && q.query.Get("vnicId") == "" {
		return response{}, invalid("query", "one of subnetId, vnicId, or ipAddress with subnetId is needed")
	}
	candidates := s.store.privateIPs.all()
	if id := q.query.Get("vnicId"); id != "" {
		candidates = s.store.addressesOf.with(id)
	}
	var rows []row
	for _, p := range candidates {
		if v := s.store.vnics.get(value(p.VnicId)); v != nil && !v.attached() {
			continue
		}
		if q.sees(p.compartment()) && q.wants("subnetId", p.SubnetId) && q.wants("ipAddress", p.IpAddress) &&
			q.wants("ipState", ptr(string(p.IpState))) && q.wants("lifetime", ptr(string(p.Lifetime))) {
			rows = append(rows, row{p.position, value(p.DisplayName), p.PrivateIp})
		}
	}
	return page(q, rows)
}

func (s *Server) findPrivateIPToChange(q *request) (*privateIP, error) {
	p, err := s.findPrivateIP(q, q.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return p, q.match(p.PrivateIp)
}

func (s *Server) updatePrivateIP(q *request) (response, error) {
	p, err := s.findPrivateIPToChange(q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[core.UpdatePrivateIpDetails](q)
	if err != nil {
		return response{}, err
	}
	if absentIfEmpty(d.RouteTableId) != nil {
		return response{}, notSimulated("routeTableId")
	}
	if id := absentIfEmpty(d.VnicId); id != nil && *id != value(p.VnicId) {
		if err := s.movePrivateIP(q, p, *id); err != nil {
			return response{}, err
		}
	}
	set(&p.DisplayName, d.DisplayName)
	set(&p.HostnameLabel, absentIfEmpty(d.HostnameLabel))
	if d.Lifetime != "" {
		p.Lifetime = core.PrivateIpLifetimeEnum(d.Lifetime)
	}
	setTags(&p.FreeformTags, &p.DefinedTags, d.FreeformTags, d.DefinedTags)
	p.changed()
	return ok(p.PrivateIp)
}

// movePrivateIP gives an address to another VNIC of its subnet.
func (s *Server) movePrivateIP(q *request, p *privateIP, vnicID string) error {
	if *p.IsPrimary {
		return invalid("vnicId", "the primary private IP %s cannot move", *p.Id)
	}
	v, err := find(q.sees, s.store.vnics, vnicID)
	if err != nil {
		return err
	}
	if !v.attached() || *v.SubnetId != *p.SubnetId {
		return invalid("vnicId", "VNIC %s is not attached in subnet %s", vnicID, *p.SubnetId)
	}
	p.assign(v)
	return nil
}

func (s *Server) detachPrivateIP(q *request) (response, error) {
	p, err := s.findPrivateIPToChange(q)
	if err != nil {
		return response{}, err
	}
	if *p.IsPrimary || p.VnicId == nil {
		return response{}, conflict("The private IP %s is the primary one of its VNIC, or of no VNIC.", *p.Id)
	}
	p.VnicId, p.IpState, p.Lifetime = nil, core.PrivateIpIpStateAvailable, core.PrivateIpLifetimeReserved
	p.changed()
	return ok(p.PrivateIp)
}

func (s *Server) deletePrivateIP(q *request) (response, error) {
	p, err := s.findPrivateIPToChange(q)
	if err != nil {
		return response{}, err
	}
	if *p.IsPrimary {
		return response{}, conflict("The private IP %s is the primary one of VNIC %s and ends with it.", *p.Id, *p.VnicId)
	}
	if users := s.routesTo(*p.Id); len(users) > 0 {
		return response{}, inUse("private IP", *p.Id, users)
	}
	s.release(p)
	return response{status: http.StatusNoContent}, nil
}
