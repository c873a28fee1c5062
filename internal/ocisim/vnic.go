// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/netip"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// vnic is the primary VNIC of an instance with its attachment. They live and end together; the attachment
// stays readable as DETACHED while the instance does.
type vnic struct {
	core.Vnic
	record
	Attachment core.VnicAttachment
}

func (v *vnic) compartment() string { return *v.CompartmentId }
func (v *vnic) gone() bool          { return v.LifecycleState == core.VnicLifecycleStateTerminated }

// address is the private one.
func (v *vnic) address() netip.Addr {
	a, _ := netip.ParseAddr(*v.PrivateIp) // ours
	return a
}

// attached says whether the address is in use.
func (v *vnic) attached() bool {
	return v.Attachment.LifecycleState == core.VnicAttachmentLifecycleStateAttached
}

func (s *Server) newVnic(i *instance, d core.CreateVnicDetails, n *subnet) (*vnic, error) {
	address, err := s.allocate(n, "createVnicDetails.privateIp", d.PrivateIp)
	if err != nil {
		return nil, err
	}
	var public *publicIP
	if wantsPublicIP(d, n) {
		if public, err = s.newEphemeralIP(i.CompartmentId, core.PublicIpScopeAvailabilityDomain, i.AvailabilityDomain); err != nil {
			return nil, err
		}
	}
	now := s.timestamp()
	hostname := d.HostnameLabel
	if hostname == nil {
		hostname = ptr(hostnameOf(*i.DisplayName))
	}
	v := &vnic{Vnic: core.Vnic{
		Id: ptr(s.names.ocid("vnic")), AvailabilityDomain: i.AvailabilityDomain, CompartmentId: i.CompartmentId, TimeCreated: now,
		LifecycleState: core.VnicLifecycleStateProvisioning, DisplayName: d.DisplayName, HostnameLabel: hostname,
		IsPrimary: ptr(true), MacAddress: ptr(s.names.mac()), NsgIds: d.NsgIds, PrivateIp: ptr(address.String()), SubnetId: n.Id,
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
	s.store.vnics.add(*v.Id, v)
	private := s.addPrivateIP(n, v, address, v.DisplayName, hostname, true)
	if public != nil {
		public.assign(core.PublicIpAssignedEntityTypePrivateIp, *private.Id)
		s.showPublicIP(private, public.IpAddress)
	}
	return v, nil
}

// wantsPublicIP says whether a VNIC gets a public address: where nothing is said, the subnet decides.
func wantsPublicIP(d core.CreateVnicDetails, n *subnet) bool {
	if d.AssignPublicIp == nil {
		return !*n.ProhibitPublicIpOnVnic
	}
	return *d.AssignPublicIp
}

// checkVnic checks what a VNIC is to have in a subnet.
func (s *Server) checkVnic(sees viewer, d core.CreateVnicDetails, n *subnet) error {
	for field, used := range map[string]bool{
		"assignIpv6Ip": value(d.AssignIpv6Ip), "vlanId": absentIfEmpty(d.VlanId) != nil, "privateIpId": absentIfEmpty(d.PrivateIpId) != nil,
		"securityAttributes": len(d.SecurityAttributes) > 0,
	} {
		if used {
			return notSimulated("createVnicDetails." + field)
		}
	}
	if value(d.AssignPublicIp) && *n.ProhibitPublicIpOnVnic {
		return invalid("createVnicDetails.assignPublicIp", "subnet %s prohibits public IP addresses on VNICs", *n.Id)
	}
	if state := n.LifecycleState; state != core.SubnetLifecycleStateAvailable {
		return incorrectState(*n.Id, string(state))
	}
	return s.checkGroups(sees, "createVnicDetails.nsgIds", d.NsgIds, *n.VcnId)
}

const maxGroups = 5 // of a VNIC

// checkGroups checks the network security groups of a VNIC.
func (s *Server) checkGroups(sees viewer, field string, ids []string, vcnID string) error {
	if len(ids) > maxGroups {
		return overLimit("A VNIC has at most %d network security groups.", maxGroups)
	}
	if id, twice := duplicate(ids); twice {
		return invalid(field, "%s is there twice", id)
	}
	for _, id := range ids {
		if _, err := findInVCN(s, sees, securityGroups, field, id, vcnID); err != nil {
			return err
		}
	}
	return nil
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

// releaseVnic ends a VNIC and frees its addresses.
func (s *Server) releaseVnic(v *vnic) {
	for _, p := range s.store.addressesOf.with(*v.Id) {
		s.release(p)
	}
	v.LifecycleState = core.VnicLifecycleStateTerminated
	v.Attachment.LifecycleState = core.VnicAttachmentLifecycleStateDetached
	v.changed()
	s.protect()
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
		if *a.CompartmentId == compartment && q.wants("availabilityDomain", a.AvailabilityDomain) &&
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

func (s *Server) updateVnic(q *request) (response, error) {
	v, err := find(q.sees, s.store.vnics, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(v.Vnic); err != nil {
		return response{}, err
	}
	if !v.attached() {
		return response{}, incorrectState(*v.Id, string(v.LifecycleState))
	}
	d, err := decode[core.UpdateVnicDetails](q)
	if err != nil {
		return response{}, err
	}
	if absentIfEmpty(d.RouteTableId) != nil || len(d.SecurityAttributes) > 0 {
		return response{}, notSimulated("routeTableId, and securityAttributes, of a VNIC")
	}
	if err := s.checkGroups(q.sees, "nsgIds", d.NsgIds, *s.store.subnets.get(*v.SubnetId).VcnId); err != nil {
		return response{}, err
	}
	if d.NsgIds != nil {
		v.NsgIds = d.NsgIds
	}
	set(&v.DisplayName, d.DisplayName)
	set(&v.HostnameLabel, absentIfEmpty(d.HostnameLabel))
	set(&v.SkipSourceDestCheck, d.SkipSourceDestCheck)
	setTags(&v.FreeformTags, &v.DefinedTags, d.FreeformTags, d.DefinedTags)
	v.changed()
	return ok(v.Vnic)
}
