// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"slices"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

func route(destination, target string) core.RouteRule {
	return core.RouteRule{Destination: &destination, NetworkEntityId: &target}
}

func TestInternetGateway(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, nil)
	g, err := r.createInternetGateway(t, v.Id)
	must(t, err)
	_, err = r.createInternetGateway(t, v.Id)
	wantRefusal(t, err, 400, "LimitExceeded", *g.Id)
	updated, err := r.network.UpdateInternetGateway(ctx, core.UpdateInternetGatewayRequest{IgId: g.Id,
		UpdateInternetGatewayDetails: core.UpdateInternetGatewayDetails{IsEnabled: common.Bool(false), DisplayName: common.String("off")}})
	must(t, err)
	wantEqual(t, "enabled", *updated.IsEnabled, false)
	list, err := r.network.ListInternetGateways(ctx, core.ListInternetGatewaysRequest{CompartmentId: common.String(compartmentID), VcnId: v.Id, DisplayName: common.String("off")})
	must(t, err)
	wantEqual(t, "gateways", len(list.Items), 1)
	table, err := r.createRouteTable(t, v.Id, route("0.0.0.0/0", *g.Id))
	must(t, err)
	_, err = r.network.DeleteInternetGateway(ctx, core.DeleteInternetGatewayRequest{IgId: g.Id})
	wantRefusal(t, err, 409, "Conflict", *table.Id)
	_, err = r.network.UpdateRouteTable(ctx, core.UpdateRouteTableRequest{RtId: table.Id, UpdateRouteTableDetails: core.UpdateRouteTableDetails{RouteRules: []core.RouteRule{}}})
	must(t, err)
	_, err = r.network.DeleteInternetGateway(ctx, core.DeleteInternetGatewayRequest{IgId: g.Id})
	must(t, err)
	_, err = r.network.UpdateInternetGateway(ctx, core.UpdateInternetGatewayRequest{IgId: g.Id, UpdateInternetGatewayDetails: core.UpdateInternetGatewayDetails{RouteTableId: table.Id}})
	if err == nil {
		t.Error("a gateway that ends was changed")
	}
}

func TestNATGateway(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v, other := r.createVCN(t, nil), r.createVCN(t, nil)
	create := func(vcn, address *string) (core.NatGateway, error) {
		g, err := r.network.CreateNatGateway(ctx, core.CreateNatGatewayRequest{CreateNatGatewayDetails: core.CreateNatGatewayDetails{
			CompartmentId: common.String(compartmentID), VcnId: vcn, PublicIpId: address}})
		return g.NatGateway, err
	}
	g, err := create(v.Id, nil)
	must(t, err)
	ephemeral, err := r.network.GetPublicIp(ctx, core.GetPublicIpRequest{PublicIpId: g.PublicIpId})
	must(t, err)
	wantEqual(t, "address", *ephemeral.IpAddress, *g.NatIp)
	wantEqual(t, "lifetime", ephemeral.Lifetime, core.PublicIpLifetimeEphemeral)
	wantEqual(t, "assigned to", *ephemeral.AssignedEntityId, *g.Id)
	_, err = r.network.DeletePublicIp(ctx, core.DeletePublicIpRequest{PublicIpId: g.PublicIpId})
	wantRefusal(t, err, 409, "Conflict", *g.Id)

	reserved, err := r.network.CreatePublicIp(ctx, core.CreatePublicIpRequest{CreatePublicIpDetails: core.CreatePublicIpDetails{
		CompartmentId: common.String(compartmentID), Lifetime: core.CreatePublicIpDetailsLifetimeReserved}})
	must(t, err)
	second, err := create(other.Id, reserved.Id)
	must(t, err)
	wantEqual(t, "address", *second.NatIp, *reserved.IpAddress)
	_, err = r.network.UpdatePublicIp(ctx, core.UpdatePublicIpRequest{PublicIpId: reserved.Id, UpdatePublicIpDetails: core.UpdatePublicIpDetails{
		PrivateIpId: common.String("ocid1.privateip.oc1..any")}})
	wantRefusal(t, err, 409, "Conflict", *second.Id)
	blocked, err := r.network.UpdateNatGateway(ctx, core.UpdateNatGatewayRequest{NatGatewayId: second.Id, UpdateNatGatewayDetails: core.UpdateNatGatewayDetails{BlockTraffic: common.Bool(true)}})
	must(t, err)
	wantEqual(t, "blocks traffic", *blocked.BlockTraffic, true)
	for _, id := range []*string{g.Id, second.Id} {
		_, err = r.network.DeleteNatGateway(ctx, core.DeleteNatGatewayRequest{NatGatewayId: id})
		must(t, err)
		eventually(t, "gateway is TERMINATED", func() bool {
			got, err := r.network.GetNatGateway(ctx, core.GetNatGatewayRequest{NatGatewayId: id})
			must(t, err)
			return got.LifecycleState == core.NatGatewayLifecycleStateTerminated
		})
	}
	freed, err := r.network.GetPublicIp(ctx, core.GetPublicIpRequest{PublicIpId: reserved.Id})
	must(t, err)
	wantEqual(t, "state of the reserved address", freed.LifecycleState, core.PublicIpLifecycleStateAvailable)
	ended, err := r.network.GetPublicIp(ctx, core.GetPublicIpRequest{PublicIpId: ephemeral.Id})
	must(t, err)
	wantEqual(t, "state of the ephemeral address", ended.LifecycleState, core.PublicIpLifecycleStateTerminated)
}

func TestServiceGateway(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, nil)
	services, err := r.network.ListServices(ctx, core.ListServicesRequest{})
	must(t, err)
	wantEqual(t, "services", len(services.Items), 2)
	service, err := r.network.GetService(ctx, core.GetServiceRequest{ServiceId: services.Items[0].Id})
	must(t, err)
	wantEqual(t, "service", *service.Name, *services.Items[0].Name)
	create := func(id *string) (core.ServiceGateway, error) {
		g, err := r.network.CreateServiceGateway(ctx, core.CreateServiceGatewayRequest{CreateServiceGatewayDetails: core.CreateServiceGatewayDetails{
			CompartmentId: common.String(compartmentID), VcnId: v.Id, Services: []core.ServiceIdRequestDetails{{ServiceId: id}}}})
		return g.ServiceGateway, err
	}
	_, err = create(common.String("ocid1.service.none"))
	wantRefusal(t, err, 400, "InvalidParameter", "ocid1.service.none")
	g, err := create(services.Items[0].Id)
	must(t, err)
	wantEqual(t, "name of the service", *g.Services[0].ServiceName, *services.Items[0].Name)
	updated, err := r.network.UpdateServiceGateway(ctx, core.UpdateServiceGatewayRequest{ServiceGatewayId: g.Id,
		UpdateServiceGatewayDetails: core.UpdateServiceGatewayDetails{Services: []core.ServiceIdRequestDetails{}, BlockTraffic: common.Bool(true)}})
	must(t, err)
	wantEqual(t, "services", len(updated.Services), 0)

	toService := route(*services.Items[0].CidrBlock, *g.Id)
	_, err = r.createRouteTable(t, v.Id, toService)
	wantError(t, err, 400, "InvalidParameter")
	toService.DestinationType = core.RouteRuleDestinationTypeServiceCidrBlock
	table, err := r.createRouteTable(t, v.Id, toService)
	must(t, err)
	_, err = r.network.DeleteServiceGateway(ctx, core.DeleteServiceGatewayRequest{ServiceGatewayId: g.Id})
	wantRefusal(t, err, 409, "Conflict", *table.Id)
}

func TestRouteRules(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	v, other := r.createVCN(t, nil), r.createVCN(t, nil)
	g, err := r.createInternetGateway(t, v.Id)
	must(t, err)
	foreign, err := r.createInternetGateway(t, other.Id)
	must(t, err)
	shown, err := r.createRouteTable(t, v.Id, core.RouteRule{CidrBlock: common.String("0.0.0.0/0"), NetworkEntityId: g.Id})
	must(t, err)
	wantEqual(t, "destination", *shown.RouteRules[0].Destination, "0.0.0.0/0")
	wantEqual(t, "type", shown.RouteRules[0].DestinationType, core.RouteRuleDestinationTypeCidrBlock)
	for name, c := range map[string]struct {
		rules  []core.RouteRule
		status int
		code   string
		text   string
	}{
		"no destination": {[]core.RouteRule{{NetworkEntityId: g.Id}}, 400, "MissingParameter", "destination"},
		"no target":      {[]core.RouteRule{{Destination: common.String("0.0.0.0/0")}}, 400, "MissingParameter", "networkEntityId"},
		"two names":      {[]core.RouteRule{{Destination: common.String("0.0.0.0/0"), CidrBlock: common.String("10.0.0.0/8"), NetworkEntityId: g.Id}}, 400, "InvalidParameter", "cidrBlock"},
		"no network":     {[]core.RouteRule{route("10.0.0.1/8", *g.Id)}, 400, "InvalidParameter", "10.0.0.1/8"},
		"twice":          {[]core.RouteRule{route("0.0.0.0/0", *g.Id), route("0.0.0.0/0", *g.Id)}, 400, "InvalidParameter", "two rules"},
		"other VCN":      {[]core.RouteRule{route("0.0.0.0/0", *foreign.Id)}, 400, "InvalidParameter", *other.Id},
		"unknown":        {[]core.RouteRule{route("0.0.0.0/0", "ocid1.internetgateway.oc1..none")}, 400, "InvalidParameter", "none"},
		"no gateway":     {[]core.RouteRule{route("0.0.0.0/0", *v.Id)}, 400, "InvalidParameter", "no gateway"},
		"private IP":     {[]core.RouteRule{route("0.0.0.0/0", "ocid1.privateip.oc1..none")}, 400, "InvalidParameter", "private IP"},
		"DRG":            {[]core.RouteRule{route("0.0.0.0/0", "ocid1.drg.oc1..x")}, 501, "MethodNotImplemented", "drg"},
		"too many":       {slices.Repeat([]core.RouteRule{route("0.0.0.0/0", *g.Id)}, 201), 400, "LimitExceeded", "200"},
		"service": {[]core.RouteRule{{Destination: common.String("nothing"), DestinationType: core.RouteRuleDestinationTypeServiceCidrBlock, NetworkEntityId: g.Id}},
			400, "InvalidParameter", "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := r.createRouteTable(t, v.Id, c.rules...)
			wantRefusal(t, err, c.status, c.code, c.text)
			_, err = r.network.UpdateRouteTable(t.Context(), core.UpdateRouteTableRequest{RtId: shown.Id, UpdateRouteTableDetails: core.UpdateRouteTableDetails{RouteRules: c.rules}})
			wantRefusal(t, err, c.status, c.code, c.text)
		})
	}
}

func TestDHCPOptions(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, nil)
	create := func(options ...core.DhcpOption) (core.DhcpOptions, error) {
		o, err := r.network.CreateDhcpOptions(ctx, core.CreateDhcpOptionsRequest{CreateDhcpDetails: core.CreateDhcpDetails{
			CompartmentId: common.String(compartmentID), VcnId: v.Id, Options: options}})
		return o.DhcpOptions, err
	}
	custom := core.DhcpDnsOption{ServerType: core.DhcpDnsOptionServerTypeCustomdnsserver, CustomDnsServers: []string{"192.0.2.53"}}
	o, err := create(custom, core.DhcpSearchDomainOption{SearchDomainNames: []string{"example.com"}})
	must(t, err)
	updated, err := r.network.UpdateDhcpOptions(ctx, core.UpdateDhcpOptionsRequest{DhcpId: o.Id, UpdateDhcpDetails: core.UpdateDhcpDetails{
		Options: []core.DhcpOption{core.DhcpDnsOption{ServerType: core.DhcpDnsOptionServerTypeVcnlocalplusinternet}}}})
	must(t, err)
	wantEqual(t, "options", len(updated.Options), 1)
	for name, option := range map[string]core.DhcpOption{
		"server without type":    core.DhcpDnsOption{ServerType: core.DhcpDnsOptionServerTypeVcnlocalplusinternet, CustomDnsServers: []string{"192.0.2.53"}},
		"type without server":    core.DhcpDnsOption{ServerType: core.DhcpDnsOptionServerTypeCustomdnsserver},
		"no address":             core.DhcpDnsOption{ServerType: core.DhcpDnsOptionServerTypeCustomdnsserver, CustomDnsServers: []string{"dns"}},
		"too many":               core.DhcpDnsOption{ServerType: core.DhcpDnsOptionServerTypeCustomdnsserver, CustomDnsServers: slices.Repeat([]string{"192.0.2.53"}, 4)},
		"more than one domain":   core.DhcpSearchDomainOption{SearchDomainNames: []string{"a", "b"}},
		"a search for no domain": core.DhcpSearchDomainOption{SearchDomainNames: []string{}},
	} {
		if _, err := create(option); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	_, err = r.createSubnet(t, v.Id, "172.16.0.0/24", func(d *core.CreateSubnetDetails) { d.DhcpOptionsId = o.Id })
	must(t, err)
	_, err = r.network.DeleteDhcpOptions(ctx, core.DeleteDhcpOptionsRequest{DhcpId: o.Id})
	wantRefusal(t, err, 409, "Conflict", "subnet")
}
