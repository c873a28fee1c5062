// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// wantRefusal checks an error's status, code, and a part of its message.
func wantRefusal(t *testing.T, err error, status int, code, text string) {
	t.Helper()
	wantError(t, err, status, code)
	if !strings.Contains(err.Error(), text) {
		t.Fatalf("%v does not say %q", err, text)
	}
}

func (r *region) createVCN(t *testing.T, change func(*core.CreateVcnDetails)) core.Vcn {
	t.Helper()
	d := core.CreateVcnDetails{CompartmentId: common.String(compartmentID), CidrBlocks: []string{"172.16.0.0/16"}, DnsLabel: common.String("own")}
	if change != nil {
		change(&d)
	}
	resp, err := r.network.CreateVcn(t.Context(), core.CreateVcnRequest{CreateVcnDetails: d})
	must(t, err)
	eventually(t, "VCN is AVAILABLE", func() bool { return r.getVCN(t, resp.Id).LifecycleState == core.VcnLifecycleStateAvailable })
	return resp.Vcn
}

func (r *region) getVCN(t *testing.T, id *string) core.Vcn {
	t.Helper()
	got, err := r.network.GetVcn(t.Context(), core.GetVcnRequest{VcnId: id})
	must(t, err)
	return got.Vcn
}

func (r *region) createSubnet(t *testing.T, vcn *string, cidr string, change func(*core.CreateSubnetDetails)) (core.Subnet, error) {
	t.Helper()
	d := core.CreateSubnetDetails{CompartmentId: common.String(compartmentID), VcnId: vcn, CidrBlock: &cidr}
	if change != nil {
		change(&d)
	}
	resp, err := r.network.CreateSubnet(t.Context(), core.CreateSubnetRequest{CreateSubnetDetails: d})
	if err == nil {
		eventually(t, "subnet is AVAILABLE", func() bool {
			got, err := r.network.GetSubnet(t.Context(), core.GetSubnetRequest{SubnetId: resp.Id})
			must(t, err)
			return got.LifecycleState == core.SubnetLifecycleStateAvailable
		})
	}
	return resp.Subnet, err
}

func (r *region) mustSubnet(t *testing.T, vcn *string, cidr string) core.Subnet {
	t.Helper()
	n, err := r.createSubnet(t, vcn, cidr, nil)
	must(t, err)
	return n
}

func (r *region) createInternetGateway(t *testing.T, vcn *string) (core.InternetGateway, error) {
	t.Helper()
	resp, err := r.network.CreateInternetGateway(t.Context(), core.CreateInternetGatewayRequest{
		CreateInternetGatewayDetails: core.CreateInternetGatewayDetails{CompartmentId: common.String(compartmentID), VcnId: vcn, IsEnabled: common.Bool(true)}})
	return resp.InternetGateway, err
}

func (r *region) createRouteTable(t *testing.T, vcn *string, rules ...core.RouteRule) (core.RouteTable, error) {
	t.Helper()
	resp, err := r.network.CreateRouteTable(t.Context(), core.CreateRouteTableRequest{CreateRouteTableDetails: core.CreateRouteTableDetails{
		CompartmentId: common.String(compartmentID), VcnId: vcn, RouteRules: append([]core.RouteRule{}, rules...)}})
	return resp.RouteTable, err
}

func TestVCNLife(t *testing.T) {
	t.Parallel()
	r := newRegion(t, func(c *ocisim.Config) { c.TimeScale = 50 }) // states must be seen
	ctx := t.Context()
	q := core.CreateVcnRequest{OpcRetryToken: common.String("token"), CreateVcnDetails: core.CreateVcnDetails{
		CompartmentId: common.String(compartmentID), CidrBlock: common.String("172.16.0.0/16"), DnsLabel: common.String("own"), DisplayName: common.String("mine"),
		FreeformTags: map[string]string{"a": "b"}}}
	v, err := r.network.CreateVcn(ctx, q)
	must(t, err)
	wantEqual(t, "state", v.LifecycleState, core.VcnLifecycleStateProvisioning)
	again, err := r.network.CreateVcn(ctx, q)
	must(t, err)
	wantEqual(t, "VCN of the same token", *again.Id, *v.Id)
	wantEqual(t, "domain", *v.VcnDomainName, "own.oraclevcn.com")
	wantEqual(t, "tag", v.FreeformTags["a"], "b")
	eventually(t, "VCN is AVAILABLE", func() bool { return r.getVCN(t, v.Id).LifecycleState == core.VcnLifecycleStateAvailable })

	list, err := r.network.GetSecurityList(ctx, core.GetSecurityListRequest{SecurityListId: v.DefaultSecurityListId})
	must(t, err)
	wantEqual(t, "name of the default security list", *list.DisplayName, "Default Security List for mine")
	wantEqual(t, "default ingress rules", len(list.IngressSecurityRules), 3)
	wantEqual(t, "port of the first", *list.IngressSecurityRules[0].TcpOptions.DestinationPortRange.Min, 22)
	wantEqual(t, "default egress", *list.EgressSecurityRules[0].Destination, "0.0.0.0/0")
	options, err := r.network.GetDhcpOptions(ctx, core.GetDhcpOptionsRequest{DhcpId: v.DefaultDhcpOptionsId})
	must(t, err)
	wantEqual(t, "search domain", options.Options[1].(core.DhcpSearchDomainOption).SearchDomainNames[0], "own.oraclevcn.com")
	table, err := r.network.GetRouteTable(ctx, core.GetRouteTableRequest{RtId: v.DefaultRouteTableId})
	must(t, err)
	wantEqual(t, "default routes", len(table.RouteRules), 0)
	_, err = r.network.DeleteRouteTable(ctx, core.DeleteRouteTableRequest{RtId: table.Id})
	wantRefusal(t, err, 409, "Conflict", *v.Id)

	updated, err := r.network.UpdateVcn(ctx, core.UpdateVcnRequest{VcnId: v.Id, UpdateVcnDetails: core.UpdateVcnDetails{DisplayName: common.String("renamed")}})
	must(t, err)
	wantEqual(t, "name", *updated.DisplayName, "renamed")
	_, err = r.network.UpdateVcn(ctx, core.UpdateVcnRequest{VcnId: v.Id, IfMatch: v.Etag})
	wantError(t, err, 412, "NoEtagMatch")

	n := r.mustSubnet(t, v.Id, "172.16.0.0/24")
	gateway, err := r.createInternetGateway(t, v.Id)
	must(t, err)
	_, err = r.network.DeleteVcn(ctx, core.DeleteVcnRequest{VcnId: v.Id})
	wantRefusal(t, err, 409, "Conflict", *n.Id)
	wantRefusal(t, err, 409, "Conflict", *gateway.Id)
	_, err = r.network.DeleteSubnet(ctx, core.DeleteSubnetRequest{SubnetId: n.Id})
	must(t, err)
	_, err = r.network.DeleteInternetGateway(ctx, core.DeleteInternetGatewayRequest{IgId: gateway.Id})
	must(t, err)
	eventually(t, "VCN can be deleted", func() bool {
		_, err = r.network.DeleteVcn(ctx, core.DeleteVcnRequest{VcnId: v.Id})
		return err == nil
	})
	if state := r.getVCN(t, v.Id).LifecycleState; state != core.VcnLifecycleStateTerminating && state != core.VcnLifecycleStateTerminated { // it takes a moment
		t.Errorf("state = %s", state)
	}
	_, err = r.createSubnet(t, v.Id, "172.16.0.0/24", nil)
	wantError(t, err, 409, "IncorrectState")
	eventually(t, "VCN is TERMINATED", func() bool { return r.getVCN(t, v.Id).LifecycleState == core.VcnLifecycleStateTerminated })
	list, err = r.network.GetSecurityList(ctx, core.GetSecurityListRequest{SecurityListId: v.DefaultSecurityListId})
	must(t, err)
	wantEqual(t, "state of the default security list", list.LifecycleState, core.SecurityListLifecycleStateTerminated)
	_, err = r.network.DeleteVcn(ctx, core.DeleteVcnRequest{VcnId: v.Id})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}

func TestVCNValidation(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	for name, c := range map[string]struct {
		change func(*core.CreateVcnDetails)
		status int
		code   string
		text   string
	}{
		"no network":        {func(d *core.CreateVcnDetails) { d.CidrBlocks = nil }, 400, "MissingParameter", "cidrBlocks"},
		"both":              {func(d *core.CreateVcnDetails) { d.CidrBlock = common.String("10.0.0.0/16") }, 400, "InvalidParameter", "either"},
		"nonsense":          {func(d *core.CreateVcnDetails) { d.CidrBlocks = []string{"many"} }, 400, "InvalidParameter", `"many"`},
		"host bits":         {func(d *core.CreateVcnDetails) { d.CidrBlocks = []string{"10.1.2.3/16"} }, 400, "InvalidParameter", "10.1.0.0/16 would be"},
		"too wide":          {func(d *core.CreateVcnDetails) { d.CidrBlocks = []string{"10.0.0.0/8"} }, 400, "InvalidParameter", "/16 and /30"},
		"too narrow":        {func(d *core.CreateVcnDetails) { d.CidrBlocks = []string{"10.0.0.0/31"} }, 400, "InvalidParameter", "/16 and /30"},
		"link-local":        {func(d *core.CreateVcnDetails) { d.CidrBlocks = []string{"169.254.0.0/16"} }, 400, "InvalidParameter", "overlaps"},
		"overlap":           {func(d *core.CreateVcnDetails) { d.CidrBlocks = []string{"10.0.0.0/16", "10.0.1.0/24"} }, 400, "InvalidParameter", "overlaps"},
		"too many networks": {func(d *core.CreateVcnDetails) { d.CidrBlocks = slices.Repeat([]string{"10.0.0.0/16"}, 6) }, 400, "LimitExceeded", "5"},
		"label":             {func(d *core.CreateVcnDetails) { d.DnsLabel = common.String("1st") }, 400, "InvalidParameter", "dnsLabel"},
		"long label":        {func(d *core.CreateVcnDetails) { d.DnsLabel = common.String("abcdefghijklmnop") }, 400, "InvalidParameter", "dnsLabel"},
		"compartment":       {func(d *core.CreateVcnDetails) { d.CompartmentId = common.String("ocid1.compartment.oc1..other") }, 404, "NotAuthorizedOrNotFound", ""},
		"IPv6":              {func(d *core.CreateVcnDetails) { d.IsIpv6Enabled = common.Bool(true) }, 501, "MethodNotImplemented", "isIpv6Enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := core.CreateVcnDetails{CompartmentId: common.String(compartmentID), CidrBlocks: []string{"172.16.0.0/16"}}
			c.change(&d)
			_, err := r.network.CreateVcn(t.Context(), core.CreateVcnRequest{CreateVcnDetails: d})
			wantRefusal(t, err, c.status, c.code, c.text)
		})
	}
}

// Two VCNs may have the same networks; a VCN's own can be changed as far as its subnets allow.
func TestVCNBlocks(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	r.createVCN(t, nil)
	v := r.createVCN(t, nil)
	r.mustSubnet(t, v.Id, "172.16.5.0/24")
	added, err := r.network.AddVcnCidr(ctx, core.AddVcnCidrRequest{VcnId: v.Id, AddVcnCidrDetails: core.AddVcnCidrDetails{CidrBlock: common.String("172.17.0.0/16")}})
	must(t, err)
	faults, _ := r.complaints(t, added.OpcWorkRequestId)
	wantEqual(t, "errors of the work request", len(faults), 0)
	_, err = r.network.AddVcnCidr(ctx, core.AddVcnCidrRequest{VcnId: v.Id, AddVcnCidrDetails: core.AddVcnCidrDetails{CidrBlock: common.String("172.17.1.0/24")}})
	wantRefusal(t, err, 400, "InvalidParameter", "overlaps 172.17.0.0/16")
	_, err = r.network.ModifyVcnCidr(ctx, core.ModifyVcnCidrRequest{VcnId: v.Id, ModifyVcnCidrDetails: core.ModifyVcnCidrDetails{
		OriginalCidrBlock: common.String("172.17.0.0/16"), NewCidrBlock: common.String("172.18.0.0/16")}})
	must(t, err)
	if got := r.getVCN(t, v.Id).CidrBlocks; !slices.Equal(got, []string{"172.16.0.0/16", "172.18.0.0/16"}) {
		t.Errorf("networks %v", got)
	}
	remove := func(block string) error {
		_, err := r.network.RemoveVcnCidr(ctx, core.RemoveVcnCidrRequest{VcnId: v.Id, RemoveVcnCidrDetails: core.RemoveVcnCidrDetails{CidrBlock: &block}})
		return err
	}
	wantRefusal(t, remove("172.16.0.0/16"), 409, "Conflict", "172.16.5.0/24")
	must(t, remove("172.18.0.0/16"))
	wantError(t, remove("172.18.0.0/16"), 400, "InvalidParameter")
}

func TestSubnetValidation(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	v, other := r.createVCN(t, nil), r.createVCN(t, func(d *core.CreateVcnDetails) { d.DnsLabel = nil })
	_, err := r.createSubnet(t, v.Id, "172.16.0.0/24", func(d *core.CreateSubnetDetails) { d.DnsLabel = common.String("taken") })
	must(t, err)
	for name, c := range map[string]struct {
		cidr   string
		change func(*core.CreateSubnetDetails)
		status int
		code   string
		text   string
	}{
		"outside":           {"172.17.0.0/24", nil, 400, "InvalidParameter", "not within VCN"},
		"overlap":           {"172.16.0.128/25", nil, 400, "InvalidParameter", "overlaps 172.16.0.0/24"},
		"no network":        {"172.16.1.1/24", nil, 400, "InvalidParameter", "172.16.1.0/24"},
		"none":              {"172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.CidrBlock = nil }, 400, "MissingParameter", "cidrBlock"},
		"label taken":       {"172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.DnsLabel = common.String("Taken") }, 400, "InvalidParameter", "label of subnet"},
		"label without VCN": {"172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.VcnId, d.DnsLabel = other.Id, common.String("x") }, 400, "InvalidParameter", "no DNS label"},
		"domain":            {"172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.AvailabilityDomain = common.String("AD") }, 400, "InvalidParameter", "availabilityDomain"},
		"prohibitions": {"172.16.1.0/24", func(d *core.CreateSubnetDetails) {
			d.ProhibitInternetIngress, d.ProhibitPublicIpOnVnic = common.Bool(true), common.Bool(false)
		}, 400, "InvalidParameter", "must be equal"},
		"other VCN's routes": {"172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.RouteTableId = other.DefaultRouteTableId }, 400, "InvalidParameter", *other.Id},
		"other VCN's list": {"172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.SecurityListIds = []string{*other.DefaultSecurityListId} },
			400, "InvalidParameter", "securityListIds"},
		"list twice": {"172.16.1.0/24", func(d *core.CreateSubnetDetails) {
			d.SecurityListIds = slices.Repeat([]string{*v.DefaultSecurityListId}, 2)
		}, 400, "InvalidParameter", "twice"},
		"too many lists": {"172.16.1.0/24", func(d *core.CreateSubnetDetails) {
			d.SecurityListIds = slices.Repeat([]string{*v.DefaultSecurityListId}, 6)
		}, 400, "LimitExceeded", "5"},
		"other options": {"172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.DhcpOptionsId = other.DefaultDhcpOptionsId }, 400, "InvalidParameter", "dhcpOptionsId"},
		"VCN":           {"172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.VcnId = common.String("ocid1.vcn.none") }, 400, "InvalidParameter", "ocid1.vcn.none"},
		"IPv6":          {"172.16.1.0/24", func(d *core.CreateSubnetDetails) { d.Ipv6CidrBlock = common.String("fd00::/64") }, 501, "MethodNotImplemented", "IPv6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := r.createSubnet(t, v.Id, c.cidr, c.change)
			wantRefusal(t, err, c.status, c.code, c.text)
		})
	}
}

func TestSubnetLife(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, nil)
	n, err := r.createSubnet(t, v.Id, "172.16.4.0/24", func(d *core.CreateSubnetDetails) {
		d.CidrBlock, d.Ipv4CidrBlocks, d.DnsLabel, d.ProhibitInternetIngress = nil, []string{"172.16.4.0/24"}, common.String("gpu"), common.Bool(true)
	})
	must(t, err)
	wantEqual(t, "domain", *n.SubnetDomainName, "gpu.own.oraclevcn.com")
	wantEqual(t, "router", *n.VirtualRouterIp, "172.16.4.1")
	wantEqual(t, "prohibits public addresses", *n.ProhibitPublicIpOnVnic, true)
	wantEqual(t, "route table", *n.RouteTableId, *v.DefaultRouteTableId)
	wantEqual(t, "security list", n.SecurityListIds[0], *v.DefaultSecurityListId)

	table, err := r.createRouteTable(t, v.Id)
	must(t, err)
	update := func(d core.UpdateSubnetDetails) (core.UpdateSubnetResponse, error) {
		return r.network.UpdateSubnet(ctx, core.UpdateSubnetRequest{SubnetId: n.Id, UpdateSubnetDetails: d})
	}
	updated, err := update(core.UpdateSubnetDetails{RouteTableId: table.Id, SecurityListIds: []string{}, CidrBlock: common.String("172.16.4.0/23")})
	must(t, err)
	wantEqual(t, "route table", *updated.RouteTableId, *table.Id)
	wantEqual(t, "security lists", len(updated.SecurityListIds), 0)
	wantEqual(t, "network", *updated.CidrBlock, "172.16.4.0/23")
	_, err = r.network.DeleteRouteTable(ctx, core.DeleteRouteTableRequest{RtId: table.Id})
	wantRefusal(t, err, 409, "Conflict", *n.Id)
	_, err = update(core.UpdateSubnetDetails{DhcpOptionsId: common.String("ocid1.dhcpoptions.none")})
	wantError(t, err, 400, "InvalidParameter")

	launched := r.launchIn(t, *n.Id, nil)
	_, err = r.network.DeleteSubnet(ctx, core.DeleteSubnetRequest{SubnetId: n.Id})
	wantRefusal(t, err, 409, "Conflict", "VNIC ocid1.vnic.")
	_, err = r.compute.TerminateInstance(ctx, core.TerminateInstanceRequest{InstanceId: launched.Id})
	must(t, err)
	r.awaitInstance(t, launched.Id, core.InstanceLifecycleStateTerminated)
	_, err = r.network.DeleteSubnet(ctx, core.DeleteSubnetRequest{SubnetId: n.Id})
	must(t, err)
}

// launchIn launches a VM and waits until it runs.
func (r *region) launchIn(t *testing.T, subnet string, change func(*core.CreateVnicDetails)) core.Instance {
	t.Helper()
	d := vmDetails()
	d.CreateVnicDetails.SubnetId = &subnet
	if change != nil {
		change(d.CreateVnicDetails)
	}
	launched, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	must(t, err)
	r.awaitInstance(t, launched.Id, core.InstanceLifecycleStateRunning)
	return launched.Instance
}

func TestHostNameNeedsDNS(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	d := vmDetails()
	d.CreateVnicDetails.SubnetId = r.mustSubnet(t, r.createVCN(t, nil).Id, "172.16.0.0/24").Id
	r.launch(t, d)
	d.CreateVnicDetails.HostnameLabel = common.String("gpu-1")
	_, err := r.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: d})
	wantError(t, err, 400, "InvalidParameter")
}

func (r *region) vnic(t *testing.T, instance *string) core.Vnic {
	t.Helper()
	list, err := r.compute.ListVnicAttachments(t.Context(), core.ListVnicAttachmentsRequest{CompartmentId: common.String(compartmentID), InstanceId: instance})
	must(t, err)
	got, err := r.network.GetVnic(t.Context(), core.GetVnicRequest{VnicId: list.Items[0].VnicId})
	must(t, err)
	return got.Vnic
}

func TestNetworkLists(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, func(d *core.CreateVcnDetails) { d.DisplayName = common.String("listed") })
	for _, cidr := range []string{"172.16.0.0/24", "172.16.1.0/24", "172.16.2.0/24"} {
		r.mustSubnet(t, v.Id, cidr)
	}
	q := core.ListSubnetsRequest{CompartmentId: common.String(compartmentID), VcnId: v.Id, Limit: common.Int(2), SortBy: core.ListSubnetsSortByTimecreated, SortOrder: core.ListSubnetsSortOrderAsc}
	var blocks []string
	for {
		page, err := r.network.ListSubnets(ctx, q)
		must(t, err)
		for _, n := range page.Items {
			blocks = append(blocks, *n.CidrBlock)
		}
		if q.Page = page.OpcNextPage; q.Page == nil {
			break
		}
	}
	if !slices.Equal(blocks, []string{"172.16.0.0/24", "172.16.1.0/24", "172.16.2.0/24"}) {
		t.Errorf("subnets %v", blocks)
	}
	vcns, err := r.network.ListVcns(ctx, core.ListVcnsRequest{CompartmentId: common.String(compartmentID), DisplayName: common.String("listed"), LifecycleState: core.VcnLifecycleStateAvailable})
	must(t, err)
	wantEqual(t, "VCNs", len(vcns.Items), 1)
	lists, err := r.network.ListSecurityLists(ctx, core.ListSecurityListsRequest{CompartmentId: common.String(compartmentID), VcnId: v.Id})
	must(t, err)
	wantEqual(t, "security lists", len(lists.Items), 1)
	groups, err := r.network.ListNetworkSecurityGroups(ctx, core.ListNetworkSecurityGroupsRequest{VcnId: v.Id})
	must(t, err)
	wantEqual(t, "groups", len(groups.Items), 0)
	_, err = r.network.ListNetworkSecurityGroups(ctx, core.ListNetworkSecurityGroupsRequest{})
	wantError(t, err, 400, "MissingParameter")
	_, err = r.network.ListVcns(ctx, core.ListVcnsRequest{CompartmentId: common.String("ocid1.compartment.oc1..other")})
	wantError(t, err, 404, "NotAuthorizedOrNotFound")
}

func TestChangeCompartment(t *testing.T) {
	t.Parallel()
	const second = "ocid1.compartment.oc1..second"
	r := newRegion(t, func(c *ocisim.Config) { c.Users[0].Compartments = []string{compartmentID, second} })
	ctx := t.Context()
	v := r.createVCN(t, nil)
	move := func(to string) error {
		_, err := r.network.ChangeVcnCompartment(ctx, core.ChangeVcnCompartmentRequest{VcnId: v.Id,
			ChangeVcnCompartmentDetails: core.ChangeVcnCompartmentDetails{CompartmentId: &to}})
		return err
	}
	must(t, move(second))
	wantEqual(t, "compartment", *r.getVCN(t, v.Id).CompartmentId, second)
	wantError(t, move("ocid1.compartment.oc1..other"), 404, "NotAuthorizedOrNotFound")
}
