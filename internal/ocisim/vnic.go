// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/netip"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// vnic is the primary VNIC of an instance with its attachment and its address. All three live and end
// together; the attachment stays readable as DETACHED while the instance does.
type vnic struct {
	core.Vnic
	record
	Attachment core.VnicAttachment
	IP         core.PrivateIp
}

func (v *vnic) compartment() string { return *v.CompartmentId }
func (v *vnic) gone() bool          { return v.LifecycleState == core.VnicLifecycleStateTerminated }

// address is the private one.
func (v *vnic) address() netip.Addr {
	a, _ := netip.ParseAddr(*v.PrivateIp) // ours
	return a
}

func addressKey(subnetID string, a netip.Addr) string { return subnetID + "/" + a.String() }

// attached says whether the address is in use.
func (v *vnic) attached() bool {
	return v.Attachment.LifecycleState == core.VnicAttachmentLifecycleStateAttached
}

func (s *Server) newVnic(i *instance, d core.CreateVnicDetails, n *subnet) (*vnic, error) {
	address, err := s.allocate(n, d.PrivateIp)
	if err != nil {
		return nil, err
	}
	id, now, text := s.names.ocid("vnic"), s.timestamp(), address.String()
	hostname := d.HostnameLabel
	if hostname == nil {
		hostname = ptr(hostnameOf(*i.DisplayName))
	}
	v := &vnic{Vnic: core.Vnic{
		Id: &id, AvailabilityDomain: i.AvailabilityDomain, CompartmentId: i.CompartmentId, TimeCreated: now,
		LifecycleState: core.VnicLifecycleStateProvisioning, DisplayName: d.DisplayName, HostnameLabel: hostname,
		IsPrimary: ptr(true), MacAddress: ptr(s.names.mac()), NsgIds: d.NsgIds, PrivateIp: &text, SubnetId: n.Id,
		SkipSourceDestCheck: ptr(value(d.SkipSourceDestCheck)),
	}}
	if v.DisplayName == nil {
		v.DisplayName = i.DisplayName
	}
	v.FreeformTags, v.DefinedTags = s.tagged(d.FreeformTags, d.DefinedTags)
	// The VNIC is not named while it is being attached, as on OCI.
	v.Attachment = core.VnicAttachment{
		Id: ptr(s.names.ocid("vnicattachment")), AvailabilityDomain: i.AvailabilityDomain, CompartmentId: i.CompartmentId,
		InstanceId: i.Id, LifecycleState: core.VnicAttachmentLifecycleStateAttaching, TimeCreated: now, NicIndex: ptr(0), SubnetId: n.Id,
	}
	v.IP = core.PrivateIp{
		Id: ptr(s.names.ocid("privateip")), AvailabilityDomain: i.AvailabilityDomain, CompartmentId: i.CompartmentId,
		DisplayName: v.DisplayName, HostnameLabel: hostname, IpAddress: &text, IsPrimary: ptr(true), SubnetId: n.Id, TimeCreated: now,
		VnicId: &id, IpState: core.PrivateIpIpStateAssigned, Lifetime: core.PrivateIpLifetimeEphemeral,
	}
	v.IP.FreeformTags, v.IP.DefinedTags = s.tagged(nil, nil)
	s.store.vnics.add(id, v)
	return v, nil
}

func (v *vnic) attach() {
	v.LifecycleState = core.VnicLifecycleStateAvailable
	v.Attachment.LifecycleState = core.VnicAttachmentLifecycleStateAttached
	v.Attachment.VnicId = v.Id
	v.changed()
}

func (v *vnic) detaching() {
	v.LifecycleState = core.VnicLifecycleStateTerminating
	v.Attachment.LifecycleState = core.VnicAttachmentLifecycleStateDetaching
	v.changed()
}

// release ends the VNIC and frees its address.
func (v *vnic) release() {
	v.LifecycleState = core.VnicLifecycleStateTerminated
	v.Attachment.LifecycleState = core.VnicAttachmentLifecycleStateDetached
	v.changed()
}

func (s *Server) getVnic(q *request) (response, error) {
	v, err := find(q.sees, s.store.vnics, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(v.Vnic)
}

func (s *Server) listAttachments(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, v := range s.vnicsOf(q.query.Get("instanceId")) {
		a := v.Attachment
		if v.compartment() == compartment && q.wants("availabilityDomain", a.AvailabilityDomain) &&
			q.wants("instanceId", a.InstanceId) && q.wants("vnicId", a.VnicId) {
			rows = append(rows, row{at: v.position, item: a})
		}
	}
	return page(q, rows)
}

// vnicsOf an instance, or all.
func (s *Server) vnicsOf(instanceID string) []*vnic {
	if instanceID == "" {
		return s.store.vnics.all()
	}
	return s.store.vnicOf.with(instanceID)
}

func (s *Server) getAttachment(q *request) (response, error) {
	for _, v := range s.store.vnics.all() {
		if *v.Attachment.Id == q.PathValue("id") && q.sees(v.compartment()) {
			return ok(v.Attachment)
		}
	}
	return response{}, notFound()
}

func (s *Server) listPrivateIPs(q *request) (response, error) {
	if q.query.Get("subnetId") == "" && q.query.Get("vnicId") == "" {
		return response{}, invalid("query", "one of subnetId, vnicId, or ipAddress with subnetId is needed")
	}
	var rows []row
	for _, v := range s.store.vnics.all() {
		ip := v.IP
		if v.attached() && q.sees(v.compartment()) && q.wants("subnetId", ip.SubnetId) &&
			q.wants("vnicId", ip.VnicId) && q.wants("ipAddress", ip.IpAddress) {
			rows = append(rows, row{at: v.position, item: ip})
		}
	}
	return page(q, rows)
}

func (s *Server) getPrivateIP(q *request) (response, error) {
	for _, v := range s.store.vnics.all() {
		if *v.IP.Id == q.PathValue("id") && v.attached() && q.sees(v.compartment()) {
			return ok(v.IP)
		}
	}
	return response{}, notFound()
}
