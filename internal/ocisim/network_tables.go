// SPDX-License-Identifier: MPL-2.0

package ocisim

// networkTables are the part of the store that has VCNs and what is in them.
type networkTables struct {
	vcns             *table[*vcn]
	subnets          *table[*subnet]
	internetGateways *table[*internetGateway]
	natGateways      *table[*natGateway]
	serviceGateways  *table[*serviceGateway]
	routeTables      *table[*routeTable]
	securityLists    *table[*securityList]
	dhcpOptions      *table[*dhcpOptions]
	securityGroups   *table[*securityGroup]
	vnics            *table[*vnic]
	privateIPs       *table[*privateIP]
	publicIPs        *table[*publicIP]

	vnicOf          *index[*vnic]      // of an instance
	inGroup         *index[*vnic]      // of a network security group
	addresses       *index[*privateIP] // by address
	addressesOf     *index[*privateIP] // of a VNIC
	assigned        *index[*publicIP]  // by the OCID of what has it
	publicAddresses *index[*publicIP]  // by address, that are in use
}

func newNetworkTables(st *store) networkTables {
	t := networkTables{
		vcns:             newTable[*vcn](st, "vcns"),
		subnets:          newTable[*subnet](st, "subnets"),
		internetGateways: newTable[*internetGateway](st, "internetGateways"),
		natGateways:      newTable[*natGateway](st, "natGateways"),
		serviceGateways:  newTable[*serviceGateway](st, "serviceGateways"),
		routeTables:      newTable[*routeTable](st, "routeTables"),
		securityLists:    newTable[*securityList](st, "securityLists"),
		dhcpOptions:      newTable[*dhcpOptions](st, "dhcpOptions"),
		securityGroups:   newTable[*securityGroup](st, "networkSecurityGroups"),
		vnics:            newTable[*vnic](st, "vnics"),
		privateIPs:       newTable[*privateIP](st, "privateIps"),
		publicIPs:        newTable[*publicIP](st, "publicIps"),
	}
	t.vnicOf = newIndex(t.vnics, func(v *vnic) []string { return nonEmpty(*v.Attachment.InstanceId) })
	t.inGroup = newIndex(t.vnics, func(v *vnic) []string {
		if v.gone() {
			return nil
		}
		return v.NsgIds
	})
	t.addresses = newIndex(t.privateIPs, func(p *privateIP) []string { return []string{*p.IpAddress} })
	t.addressesOf = newIndex(t.privateIPs, func(p *privateIP) []string { return nonEmpty(value(p.VnicId)) })
	t.assigned = newIndex(t.publicIPs, func(p *publicIP) []string { return nonEmpty(value(p.AssignedEntityId)) })
	t.publicAddresses = newIndex(t.publicIPs, func(p *publicIP) []string { return unlessGone(p, *p.IpAddress) })
	return t
}
