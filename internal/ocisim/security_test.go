// SPDX-License-Identifier: MPL-2.0

package ocisim_test

import (
	"context"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func portRange(first, last int) *core.PortRange { return &core.PortRange{Min: &first, Max: &last} }

// Rules of security lists and of network security groups obey the same rules.
func TestSecurityRuleValidation(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	v := r.createVCN(t, nil)
	group := r.createGroup(t, v.Id)
	for name, c := range map[string]struct {
		rule core.IngressSecurityRule
		text string // "" for a rule that is taken
	}{
		"all":              {core.IngressSecurityRule{Protocol: common.String("all"), Source: common.String("0.0.0.0/0")}, ""},
		"any protocol":     {core.IngressSecurityRule{Protocol: common.String("50"), Source: common.String("10.0.0.0/8")}, ""},
		"TCP":              {core.IngressSecurityRule{Protocol: common.String("6"), Source: common.String("10.0.0.0/8"), TcpOptions: &core.TcpOptions{SourcePortRange: portRange(1, 65535)}}, ""},
		"ICMP":             {core.IngressSecurityRule{Protocol: common.String("1"), Source: common.String("10.0.0.0/8"), IcmpOptions: &core.IcmpOptions{Type: common.Int(0)}}, ""},
		"IPv6":             {core.IngressSecurityRule{Protocol: common.String("58"), Source: common.String("fd00::/8"), IcmpOptions: &core.IcmpOptions{Type: common.Int(128)}}, ""},
		"name":             {core.IngressSecurityRule{Protocol: common.String("tcp"), Source: common.String("10.0.0.0/8")}, `"tcp"`},
		"number":           {core.IngressSecurityRule{Protocol: common.String("256"), Source: common.String("10.0.0.0/8")}, "256"},
		"address":          {core.IngressSecurityRule{Protocol: common.String("6"), Source: common.String("10.0.0.1")}, "10.0.0.1"},
		"host bits":        {core.IngressSecurityRule{Protocol: common.String("6"), Source: common.String("10.0.0.1/8")}, "10.0.0.1/8"},
		"port 0":           {core.IngressSecurityRule{Protocol: common.String("6"), Source: common.String("10.0.0.0/8"), TcpOptions: &core.TcpOptions{DestinationPortRange: portRange(0, 1)}}, "0 to 1"},
		"port 65536":       {core.IngressSecurityRule{Protocol: common.String("17"), Source: common.String("10.0.0.0/8"), UdpOptions: &core.UdpOptions{DestinationPortRange: portRange(1, 65536)}}, "65536"},
		"reversed ports":   {core.IngressSecurityRule{Protocol: common.String("6"), Source: common.String("10.0.0.0/8"), TcpOptions: &core.TcpOptions{DestinationPortRange: portRange(2, 1)}}, "2 to 1"},
		"no maximum":       {core.IngressSecurityRule{Protocol: common.String("6"), Source: common.String("10.0.0.0/8"), TcpOptions: &core.TcpOptions{DestinationPortRange: &core.PortRange{Min: common.Int(1)}}}, "max"},
		"TCP's of UDP":     {core.IngressSecurityRule{Protocol: common.String("17"), Source: common.String("10.0.0.0/8"), TcpOptions: &core.TcpOptions{}}, "tcpOptions"},
		"UDP's of TCP":     {core.IngressSecurityRule{Protocol: common.String("6"), Source: common.String("10.0.0.0/8"), UdpOptions: &core.UdpOptions{}}, "udpOptions"},
		"ICMP's of all":    {core.IngressSecurityRule{Protocol: common.String("all"), Source: common.String("10.0.0.0/8"), IcmpOptions: &core.IcmpOptions{Type: common.Int(8)}}, "icmpOptions"},
		"type of ICMP":     {core.IngressSecurityRule{Protocol: common.String("1"), Source: common.String("10.0.0.0/8"), IcmpOptions: &core.IcmpOptions{Type: common.Int(256)}}, "255"},
		"unknown service":  {core.IngressSecurityRule{Protocol: common.String("6"), Source: common.String("all-none"), SourceType: core.IngressSecurityRuleSourceTypeServiceCidrBlock}, "all-none"},
		"unknown type":     {core.IngressSecurityRule{Protocol: common.String("6"), Source: common.String("10.0.0.0/8"), SourceType: "VCN"}, "sourceType"},
		"without protocol": {core.IngressSecurityRule{Source: common.String("10.0.0.0/8")}, "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, inList := r.network.CreateSecurityList(t.Context(), core.CreateSecurityListRequest{CreateSecurityListDetails: core.CreateSecurityListDetails{
				CompartmentId: common.String(compartmentID), VcnId: v.Id, EgressSecurityRules: []core.EgressSecurityRule{}, IngressSecurityRules: []core.IngressSecurityRule{c.rule}}})
			_, inGroup := r.addRules(t, group, core.AddSecurityRuleDetails{
				Direction: core.AddSecurityRuleDetailsDirectionIngress, Protocol: c.rule.Protocol, Source: c.rule.Source,
				SourceType: core.AddSecurityRuleDetailsSourceTypeEnum(c.rule.SourceType), IcmpOptions: c.rule.IcmpOptions,
				TcpOptions: c.rule.TcpOptions, UdpOptions: c.rule.UdpOptions})
			for _, err := range []error{inList, inGroup} {
				if c.text == "" {
					must(t, err)
				} else if err == nil || !regexp.MustCompile(regexp.QuoteMeta(c.text)).MatchString(err.Error()) {
					t.Errorf("got %v, want a refusal with %s", err, c.text)
				}
			}
		})
	}
}

func TestSecurityList(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, nil)
	ingress := core.IngressSecurityRule{Protocol: common.String("all"), Source: common.String("0.0.0.0/0")}
	created, err := r.network.CreateSecurityList(ctx, core.CreateSecurityListRequest{CreateSecurityListDetails: core.CreateSecurityListDetails{
		CompartmentId: common.String(compartmentID), VcnId: v.Id, IngressSecurityRules: []core.IngressSecurityRule{ingress}, EgressSecurityRules: []core.EgressSecurityRule{}}})
	must(t, err)
	wantEqual(t, "stateless", *created.IngressSecurityRules[0].IsStateless, false)
	wantEqual(t, "source type", created.IngressSecurityRules[0].SourceType, core.IngressSecurityRuleSourceTypeCidrBlock)
	_, err = r.network.UpdateSecurityList(ctx, core.UpdateSecurityListRequest{SecurityListId: created.Id, UpdateSecurityListDetails: core.UpdateSecurityListDetails{
		IngressSecurityRules: slices.Repeat([]core.IngressSecurityRule{ingress}, 201)}})
	wantRefusal(t, err, 400, "LimitExceeded", "200")
	_, err = r.createSubnet(t, v.Id, "172.16.0.0/24", func(d *core.CreateSubnetDetails) { d.SecurityListIds = []string{*created.Id} })
	must(t, err)
	_, err = r.network.DeleteSecurityList(ctx, core.DeleteSecurityListRequest{SecurityListId: created.Id})
	wantRefusal(t, err, 409, "Conflict", "subnet")
	_, err = r.network.DeleteSecurityList(ctx, core.DeleteSecurityListRequest{SecurityListId: v.DefaultSecurityListId})
	wantRefusal(t, err, 409, "Conflict", "whose default it is")
}

func (r *region) createGroup(t *testing.T, vcn *string) *string {
	t.Helper()
	g, err := r.network.CreateNetworkSecurityGroup(t.Context(), core.CreateNetworkSecurityGroupRequest{
		CreateNetworkSecurityGroupDetails: core.CreateNetworkSecurityGroupDetails{CompartmentId: common.String(compartmentID), VcnId: vcn}})
	must(t, err)
	return g.Id
}

func (r *region) addRules(t *testing.T, group *string, rules ...core.AddSecurityRuleDetails) ([]core.SecurityRule, error) {
	t.Helper()
	added, err := r.network.AddNetworkSecurityGroupSecurityRules(t.Context(), core.AddNetworkSecurityGroupSecurityRulesRequest{
		NetworkSecurityGroupId: group, AddNetworkSecurityGroupSecurityRulesDetails: core.AddNetworkSecurityGroupSecurityRulesDetails{SecurityRules: rules}})
	return added.SecurityRules, err
}

func fromGroup(group *string) core.AddSecurityRuleDetails {
	return core.AddSecurityRuleDetails{Direction: core.AddSecurityRuleDetailsDirectionIngress, Protocol: common.String("all"),
		Source: group, SourceType: core.AddSecurityRuleDetailsSourceTypeNetworkSecurityGroup}
}

func TestSecurityGroupRules(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, nil)
	group, peer := r.createGroup(t, v.Id), r.createGroup(t, v.Id)
	_, err := r.addRules(t, group, slices.Repeat([]core.AddSecurityRuleDetails{fromGroup(peer)}, 26)...)
	wantRefusal(t, err, 400, "InvalidParameter", "25")
	added, err := r.addRules(t, group, fromGroup(peer), core.AddSecurityRuleDetails{
		Direction: core.AddSecurityRuleDetailsDirectionEgress, Protocol: common.String("all"), Destination: common.String("0.0.0.0/0")})
	must(t, err)
	if !regexp.MustCompile(`^[0-9A-F]{6}$`).MatchString(*added[0].Id) || !*added[0].IsValid {
		t.Errorf("rule %v", added[0])
	}
	for range 4 {
		_, err = r.addRules(t, group, slices.Repeat([]core.AddSecurityRuleDetails{fromGroup(peer)}, 25)...)
		must(t, err)
	}
	_, err = r.addRules(t, group, slices.Repeat([]core.AddSecurityRuleDetails{fromGroup(peer)}, 25)...)
	wantRefusal(t, err, 400, "LimitExceeded", "120")

	change := func(rules ...core.UpdateSecurityRuleDetails) error {
		_, err := r.network.UpdateNetworkSecurityGroupSecurityRules(ctx, core.UpdateNetworkSecurityGroupSecurityRulesRequest{NetworkSecurityGroupId: group,
			UpdateNetworkSecurityGroupSecurityRulesDetails: core.UpdateNetworkSecurityGroupSecurityRulesDetails{SecurityRules: rules}})
		return err
	}
	egress := core.UpdateSecurityRuleDetails{Id: added[1].Id, Direction: core.UpdateSecurityRuleDetailsDirectionEgress, Protocol: common.String("6"), Destination: common.String("10.0.0.0/8")}
	must(t, change(egress))
	egress.Id = common.String("FFFFFF")
	wantRefusal(t, change(egress), 400, "InvalidParameter", "FFFFFF")
	wantRefusal(t, change(core.UpdateSecurityRuleDetails{Id: added[1].Id, Direction: core.UpdateSecurityRuleDetailsDirectionIngress,
		Protocol: common.String("6"), Destination: common.String("10.0.0.0/8")}), 400, "MissingParameter", "source")

	_, err = r.network.DeleteNetworkSecurityGroup(ctx, core.DeleteNetworkSecurityGroupRequest{NetworkSecurityGroupId: peer})
	must(t, err)
	rules := func(direction core.ListNetworkSecurityGroupSecurityRulesDirectionEnum) []core.SecurityRule {
		list, err := r.network.ListNetworkSecurityGroupSecurityRules(ctx, core.ListNetworkSecurityGroupSecurityRulesRequest{
			NetworkSecurityGroupId: group, Direction: direction, Limit: common.Int(1000)})
		must(t, err)
		return list.Items
	}
	eventually(t, "rules for a group that is gone are invalid", func() bool { return !*rules(core.ListNetworkSecurityGroupSecurityRulesDirectionIngress)[0].IsValid })
	out := rules(core.ListNetworkSecurityGroupSecurityRulesDirectionEgress)
	wantEqual(t, "egress rules", len(out), 1)
	wantEqual(t, "protocol", *out[0].Protocol, "6")
	remove := func(ids ...string) error {
		_, err := r.network.RemoveNetworkSecurityGroupSecurityRules(ctx, core.RemoveNetworkSecurityGroupSecurityRulesRequest{NetworkSecurityGroupId: group,
			RemoveNetworkSecurityGroupSecurityRulesDetails: core.RemoveNetworkSecurityGroupSecurityRulesDetails{SecurityRuleIds: ids}})
		return err
	}
	must(t, remove(*added[1].Id))
	wantRefusal(t, remove(*added[1].Id), 400, "InvalidParameter", *added[1].Id)
	wantEqual(t, "egress rules", len(rules(core.ListNetworkSecurityGroupSecurityRulesDirectionEgress)), 0)
}

func TestSecurityGroupOfVnic(t *testing.T) {
	t.Parallel()
	r := newRegion(t, nil)
	ctx := t.Context()
	v := r.createVCN(t, nil)
	n := r.mustSubnet(t, v.Id, "172.16.0.0/24")
	group, foreign := r.createGroup(t, v.Id), r.createGroup(t, r.createVCN(t, nil).Id)
	instance := r.launchIn(t, *n.Id, func(d *core.CreateVnicDetails) { d.NsgIds = []string{*group} })
	vnic := r.vnic(t, instance.Id)
	members, err := r.network.ListNetworkSecurityGroupVnics(ctx, core.ListNetworkSecurityGroupVnicsRequest{NetworkSecurityGroupId: group})
	must(t, err)
	wantEqual(t, "members", len(members.Items), 1)
	wantEqual(t, "member", *members.Items[0].ResourceId, *instance.Id)
	_, err = r.network.DeleteNetworkSecurityGroup(ctx, core.DeleteNetworkSecurityGroupRequest{NetworkSecurityGroupId: group})
	wantRefusal(t, err, 409, "Conflict", *vnic.Id)
	update := func(groups ...string) error {
		_, err := r.network.UpdateVnic(ctx, core.UpdateVnicRequest{VnicId: vnic.Id, UpdateVnicDetails: core.UpdateVnicDetails{NsgIds: append([]string{}, groups...)}})
		return err
	}
	wantRefusal(t, update(*foreign), 400, "InvalidParameter", *v.Id)
	wantRefusal(t, update(*group, *group), 400, "InvalidParameter", "twice")
	wantRefusal(t, update(slices.Repeat([]string{*group}, 6)...), 400, "LimitExceeded", "5")
	must(t, update())
	_, err = r.network.DeleteNetworkSecurityGroup(ctx, core.DeleteNetworkSecurityGroupRequest{NetworkSecurityGroupId: group})
	must(t, err)
}

// guard is the lab's hosts with a firewall that notes its rules.
type guard struct {
	mu     sync.Mutex
	rules  map[string]ocisim.VnicRules
	groups map[string][]netip.Addr
}

func (g *guard) Boot(context.Context, ocisim.Host) error  { return nil }
func (g *guard) Stop(context.Context, string) error       { return nil }
func (g *guard) Remove(context.Context, string) error     { return nil }
func (g *guard) RemoveDisk(context.Context, string) error { return nil }

func (g *guard) Protect(vnics []ocisim.VnicRules, groups map[string][]netip.Addr) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups = groups
	g.rules = map[string]ocisim.VnicRules{}
	for _, v := range vnics {
		g.rules[v.HostID] = v
	}
	return nil
}

func (g *guard) of(id string) ocisim.VnicRules {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rules[id]
}

func (g *guard) membersOf(group string) []netip.Addr {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.groups[group]
}

func TestFirewall(t *testing.T) {
	t.Parallel()
	g := &guard{}
	r := newRegion(t, func(c *ocisim.Config) {
		c.Hosts = g
		c.Bastion = &ocisim.Bastion{ID: "bastion", SubnetID: publicSubnet, Address: netip.MustParseAddr("10.0.0.6")}
	})
	ctx := t.Context()
	bastion := g.of("bastion")
	if !bastion.Public || !bastion.Everywhere || len(bastion.Ingress) != 2 {
		t.Errorf("the bastion's rules are %+v", bastion)
	}
	v := r.createVCN(t, nil)
	gateway, err := r.createInternetGateway(t, v.Id)
	must(t, err)
	n := r.mustSubnet(t, v.Id, "172.16.0.0/24")
	group := r.createGroup(t, v.Id)
	instance := r.launchIn(t, *n.Id, func(d *core.CreateVnicDetails) { d.NsgIds = []string{*group} })
	rules := g.of(*instance.Id)
	wantEqual(t, "VCN", rules.VCN, *v.Id)
	wantEqual(t, "public without a route", rules.Public, false)
	bastionIP := netip.MustParsePrefix("10.0.0.6/32")
	ssh := ocisim.TrafficRule{Protocol: 6, DestinationPorts: ocisim.PortRange{Min: 22, Max: 22}, Peers: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), bastionIP}}
	if !reflect.DeepEqual(rules.Ingress[0], ssh) {
		t.Errorf("the rule for SSH is %+v, want %+v", rules.Ingress[0], ssh)
	}
	_, err = r.network.UpdateRouteTable(ctx, core.UpdateRouteTableRequest{RtId: v.DefaultRouteTableId,
		UpdateRouteTableDetails: core.UpdateRouteTableDetails{RouteRules: []core.RouteRule{route("0.0.0.0/0", *gateway.Id)}}})
	must(t, err)
	wantEqual(t, "public with a route", g.of(*instance.Id).Public, true)
	_, err = r.network.UpdateInternetGateway(ctx, core.UpdateInternetGatewayRequest{IgId: gateway.Id, UpdateInternetGatewayDetails: core.UpdateInternetGatewayDetails{IsEnabled: common.Bool(false)}})
	must(t, err)
	wantEqual(t, "public with a gateway that is off", g.of(*instance.Id).Public, false)

	before := len(g.of(*instance.Id).Ingress)
	_, err = r.addRules(t, group, fromGroup(group))
	must(t, err)
	ingress := g.of(*instance.Id).Ingress
	wantEqual(t, "ingress rules", len(ingress), before+1)
	wantEqual(t, "group of the rule", ingress[before].Group, *group)
	if members := g.membersOf(*group); !slices.Equal(members, []netip.Addr{netip.MustParseAddr("172.16.0.2")}) {
		t.Errorf("the group's addresses are %v", members)
	}
	list, err := r.network.UpdateSecurityList(ctx, core.UpdateSecurityListRequest{SecurityListId: v.DefaultSecurityListId,
		UpdateSecurityListDetails: core.UpdateSecurityListDetails{IngressSecurityRules: []core.IngressSecurityRule{}}})
	must(t, err)
	wantEqual(t, "the list's ingress rules", len(list.IngressSecurityRules), 0)
	wantEqual(t, "ingress rules", len(g.of(*instance.Id).Ingress), 1)
	_, err = r.network.DeleteSubnet(ctx, core.DeleteSubnetRequest{SubnetId: common.String(publicSubnet)})
	wantRefusal(t, err, 409, "Conflict", "bastion")
	_, err = r.compute.TerminateInstance(ctx, core.TerminateInstanceRequest{InstanceId: instance.Id})
	must(t, err)
	r.awaitInstance(t, instance.Id, core.InstanceLifecycleStateTerminated)
	wantEqual(t, "VCN of a terminated instance's rules", g.of(*instance.Id).VCN, "")
}
