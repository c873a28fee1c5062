// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestPrivateIPs(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, nil)
	n := r.mustSubnet(t, v.Id, "172.16.0.0/29")
	vnic := r.vnic(t, r.launchIn(t, *n.Id, nil).Id)
	other := r.vnic(t, r.launchIn(t, *n.Id, nil).Id)
	create := func(d core.CreatePrivateIpDetails) (core.PrivateIp, error) {
		p, err := r.network.CreatePrivateIp(ctx, core.CreatePrivateIpRequest{CreatePrivateIpDetails: d})
		return p.PrivateIp, err
	}
	second, err := create(core.CreatePrivateIpDetails{VnicId: vnic.Id, IpAddress: common.String("172.16.0.5"), DisplayName: common.String("second")})
	must(t, err)
	wantEqual(t, "primary", *second.IsPrimary, false)
	_, err = create(core.CreatePrivateIpDetails{VnicId: vnic.Id, IpAddress: common.String("172.16.0.5")})
	wantError(t, err, 409, "Conflict")
	_, err = create(core.CreatePrivateIpDetails{VnicId: vnic.Id, IpAddress: common.String("172.16.0.1")})
	wantError(t, err, 400, "InvalidParameter")
	_, err = create(core.CreatePrivateIpDetails{})
	wantError(t, err, 400, "MissingParameter")
	free, err := create(core.CreatePrivateIpDetails{SubnetId: n.Id, Lifetime: core.CreatePrivateIpDetailsLifetimeReserved})
	must(t, err)
	wantEqual(t, "state", free.IpState, core.PrivateIpIpStateAvailable)

	list, err := r.network.ListPrivateIps(ctx, core.ListPrivateIpsRequest{VnicId: vnic.Id})
	must(t, err)
	wantEqual(t, "addresses of the VNIC", len(list.Items), 2)
	list, err = r.network.ListPrivateIps(ctx, core.ListPrivateIpsRequest{SubnetId: n.Id})
	must(t, err)
	wantEqual(t, "addresses of the subnet", len(list.Items), 4)
	move := func(id, to *string) error {
		_, err := r.network.UpdatePrivateIp(ctx, core.UpdatePrivateIpRequest{PrivateIpId: id, UpdatePrivateIpDetails: core.UpdatePrivateIpDetails{VnicId: to}})
		return err
	}
	must(t, move(second.Id, other.Id))
	primary, err := r.network.ListPrivateIps(ctx, core.ListPrivateIpsRequest{VnicId: vnic.Id})
	must(t, err)
	wantRefusal(t, move(primary.Items[0].Id, other.Id), 400, "InvalidParameter", "primary")
	remove := func(id *string) error {
		_, err := r.network.DeletePrivateIp(ctx, core.DeletePrivateIpRequest{PrivateIpId: id})
		return err
	}
	wantRefusal(t, remove(primary.Items[0].Id), 409, "Conflict", "primary")
	_, err = r.network.PrivateIpVnicDetach(ctx, core.PrivateIpVnicDetachRequest{PrivateIpId: second.Id})
	must(t, err)
	table, err := r.createRouteTable(t, v.Id, route("0.0.0.0/0", *second.Id))
	must(t, err)
	wantRefusal(t, remove(second.Id), 409, "Conflict", *table.Id)
	must(t, remove(free.Id))
	wantError(t, remove(free.Id), 404, "NotAuthorizedOrNotFound")
	_, err = r.network.DeleteSubnet(ctx, core.DeleteSubnetRequest{SubnetId: n.Id})
	wantRefusal(t, err, 409, "Conflict", *second.Id)
}

func TestPublicIPs(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, nil)
	open := r.mustSubnet(t, v.Id, "172.16.0.0/24")
	closed, err := r.createSubnet(t, v.Id, "172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.ProhibitPublicIpOnVnic = common.Bool(true) })
	must(t, err)
	instance := r.launchIn(t, *open.Id, nil)
	vnic := r.vnic(t, instance.Id)
	if vnic.PublicIp == nil {
		t.Fatal("a VNIC in a public subnet has no public address")
	}
	plain := r.vnic(t, r.launchIn(t, *open.Id, func(d *core.CreateVnicDetails) { d.AssignPublicIp = common.Bool(false) }).Id)
	private := r.vnic(t, r.launchIn(t, *closed.Id, nil).Id)
	if plain.PublicIp != nil || private.PublicIp != nil {
		t.Errorf("public addresses %v and %v, want none", plain.PublicIp, private.PublicIp)
	}
	primary := func(vnic core.Vnic) *string {
		list, err := r.network.ListPrivateIps(ctx, core.ListPrivateIpsRequest{VnicId: vnic.Id})
		must(t, err)
		return list.Items[0].Id
	}
	create := func(lifetime core.CreatePublicIpDetailsLifetimeEnum, privateIP *string) (core.PublicIp, error) {
		p, err := r.network.CreatePublicIp(ctx, core.CreatePublicIpRequest{CreatePublicIpDetails: core.CreatePublicIpDetails{
			CompartmentId: common.String(compartmentID), Lifetime: lifetime, PrivateIpId: privateIP}})
		return p.PublicIp, err
	}
	byAddress, err := r.network.GetPublicIpByIpAddress(ctx, core.GetPublicIpByIpAddressRequest{
		GetPublicIpByIpAddressDetails: core.GetPublicIpByIpAddressDetails{IpAddress: vnic.PublicIp}})
	must(t, err)
	wantEqual(t, "lifetime", byAddress.Lifetime, core.PublicIpLifetimeEphemeral)
	byPrivate, err := r.network.GetPublicIpByPrivateIpId(ctx, core.GetPublicIpByPrivateIpIdRequest{
		GetPublicIpByPrivateIpIdDetails: core.GetPublicIpByPrivateIpIdDetails{PrivateIpId: primary(vnic)}})
	must(t, err)
	wantEqual(t, "public IP", *byPrivate.Id, *byAddress.Id)
	_, err = r.network.GetPublicIpByPrivateIpId(ctx, core.GetPublicIpByPrivateIpIdRequest{
		GetPublicIpByPrivateIpIdDetails: core.GetPublicIpByPrivateIpIdDetails{PrivateIpId: primary(plain)}})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
	_, err = create(core.CreatePublicIpDetailsLifetimeEphemeral, nil)
	wantError(t, err, 400, "MissingParameter")
	_, err = create(core.CreatePublicIpDetailsLifetimeReserved, primary(vnic))
	wantRefusal(t, err, 409, "Conflict", *byAddress.Id)
	_, err = create(core.CreatePublicIpDetailsLifetimeReserved, primary(private))
	wantRefusal(t, err, 400, "InvalidParameter", "prohibits")

	reserved, err := create(core.CreatePublicIpDetailsLifetimeReserved, primary(plain))
	must(t, err)
	wantEqual(t, "address that the VNIC shows", *r.vnicByID(t, plain.Id).PublicIp, *reserved.IpAddress)
	assign := func(to *string) error {
		_, err := r.network.UpdatePublicIp(ctx, core.UpdatePublicIpRequest{PublicIpId: reserved.Id, UpdatePublicIpDetails: core.UpdatePublicIpDetails{PrivateIpId: to}})
		return err
	}
	must(t, assign(common.String("")))
	if p := r.vnicByID(t, plain.Id).PublicIp; p != nil {
		t.Errorf("the VNIC still shows %s", *p)
	}
	_, err = r.network.DeletePublicIp(ctx, core.DeletePublicIpRequest{PublicIpId: byAddress.Id})
	must(t, err)
	must(t, assign(primary(vnic)))
	wantEqual(t, "address that the VNIC shows", *r.vnicByID(t, vnic.Id).PublicIp, *reserved.IpAddress)
	list := func(scope core.ListPublicIpsScopeEnum) int {
		resp, err := r.network.ListPublicIps(ctx, core.ListPublicIpsRequest{CompartmentId: common.String(compartmentID), Scope: scope})
		must(t, err)
		return len(resp.Items)
	}
	wantEqual(t, "addresses of the region", list(core.ListPublicIpsScopeRegion), 2) // one is the first NAT gateway's
	wantEqual(t, "addresses of the availability domain", list(core.ListPublicIpsScopeAvailabilityDomain), 0)
	_, err = r.compute.TerminateInstance(ctx, core.TerminateInstanceRequest{InstanceId: instance.Id})
	must(t, err)
	r.awaitInstance(t, instance.Id, core.InstanceLifecycleStateTerminated)
	freed, err := r.network.GetPublicIp(ctx, core.GetPublicIpRequest{PublicIpId: reserved.Id})
	must(t, err)
	wantEqual(t, "state", freed.LifecycleState, core.PublicIpLifecycleStateAvailable)
}

func (r *region) vnicByID(t *testing.T, id *string) core.Vnic {
	t.Helper()
	got, err := r.network.GetVnic(t.Context(), core.GetVnicRequest{VnicId: id})
	must(t, err)
	return got.Vnic
}

func TestPublicIPsRunOut(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	var err error
	count := 1 // the first NAT gateway's
	for ; err == nil && count < 300; count++ {
		_, err = r.network.CreatePublicIp(t.Context(), core.CreatePublicIpRequest{CreatePublicIpDetails: core.CreatePublicIpDetails{
			CompartmentId: common.String(compartmentID), Lifetime: core.CreatePublicIpDetailsLifetimeReserved}})
	}
	wantRefusal(t, err, 400, "LimitExceeded", "203.0.113.0/24")
	wantEqual(t, "addresses", count-1, 254)
}

// With hosts, addresses are unique in the region: they share one machine.
func TestAddressesOfHosts(t *testing.T) {
	t.Parallel()
	for _, hosts := range []ocisim.Hosts{nil, newRecorder()} {
		r := newRegion(t, func(c *ocisim.Config) { c.Hosts = hosts })
		var addresses []string
		for range 2 {
			v := r.createVCN(t, nil)
			n := r.mustSubnet(t, v.Id, "172.16.0.0/24")
			addresses = append(addresses, *r.vnic(t, r.launchIn(t, *n.Id, nil).Id).PrivateIp)
		}
		wantEqual(t, "hosts of two VCNs have the same address", addresses[0] == addresses[1], hosts == nil)
	}
}
