// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// cloud is a lab with clients of its network and its instances.
type cloud struct {
	*lab.Lab
	t       *testing.T
	network core.VirtualNetworkClient
	compute core.ComputeClient
}

func startCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{Lab: start(t, lab.Config{}), t: t}
	clientLock.Lock()
	defer clientLock.Unlock()
	provider, err := common.ConfigurationProviderFromFile(c.Info.ConfigFile, "")
	c.must(err)
	c.network, err = core.NewVirtualNetworkClientWithConfigurationProvider(provider)
	c.must(err)
	c.compute, err = core.NewComputeClientWithConfigurationProvider(provider)
	c.must(err)
	c.network.Host, c.compute.Host = c.Info.Endpoint, c.Info.Endpoint
	status, err := c.Status(t.Context())
	c.must(err)
	if status.Unprotected != "" {
		t.Skip(status.Unprotected)
	}
	return c
}

func (c *cloud) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// node is a running instance.
type node struct{ id, vnic, address, public string }

// launch launches an instance and waits until it runs.
func (c *cloud) launch(subnet string, groups ...string) node {
	c.t.Helper()
	ctx := c.t.Context()
	launched, err := c.compute.LaunchInstance(ctx, core.LaunchInstanceRequest{LaunchInstanceDetails: core.LaunchInstanceDetails{
		CompartmentId: &c.Info.CompartmentID, AvailabilityDomain: &c.Info.AvailabilityDomain, Shape: common.String("BM.GPU4.8"),
		SourceDetails:     core.InstanceSourceViaImageDetails{ImageId: &c.Info.ImageID},
		CreateVnicDetails: &core.CreateVnicDetails{SubnetId: &subnet, NsgIds: groups},
		Metadata:          map[string]string{"ssh_authorized_keys": c.Info.SSHAuthorizedKeys},
	}})
	c.must(err)
	waitFor(c.t, "the instance to run", func() bool {
		got, err := c.compute.GetInstance(ctx, core.GetInstanceRequest{InstanceId: launched.Id})
		c.must(err)
		if got.LifecycleState == core.InstanceLifecycleStateTerminated {
			c.t.Fatal("the instance was terminated")
		}
		return got.LifecycleState == core.InstanceLifecycleStateRunning
	})
	attachments, err := c.compute.ListVnicAttachments(ctx, core.ListVnicAttachmentsRequest{CompartmentId: &c.Info.CompartmentID, InstanceId: launched.Id})
	c.must(err)
	vnic, err := c.network.GetVnic(ctx, core.GetVnicRequest{VnicId: attachments.Items[0].VnicId})
	c.must(err)
	n := node{id: *launched.Id, vnic: *vnic.Id, address: *vnic.PrivateIp}
	if vnic.PublicIp != nil {
		n.public = *vnic.PublicIp
	}
	return n
}

// connects says whether a host can open a connection to port 22.
func (c *cloud) connects(from, address string) bool {
	_, err := c.Exec(c.t.Context(), from, "timeout", "1", "bash", "-c", fmt.Sprintf("</dev/tcp/%s/22", address))
	var exit *lab.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return err == nil
}

// expect waits for what must be possible. What must not be is tried once: dropped packets show by nothing
// but time.
func (c *cloud) expect(what string, possible func() bool, want bool) {
	c.t.Helper()
	if want {
		waitFor(c.t, what, possible)
	} else if possible() {
		c.t.Errorf("%s: possible", what)
	}
}

func (c *cloud) expectSSH(what, from, address string, want bool) {
	c.t.Helper()
	c.expect(what, func() bool { return c.connects(from, address) }, want)
}

// listOf finds the security list of a subnet.
func (c *cloud) listOf(subnet string) string {
	c.t.Helper()
	got, err := c.network.GetSubnet(c.t.Context(), core.GetSubnetRequest{SubnetId: &subnet})
	c.must(err)
	return got.SecurityListIds[0]
}

func (c *cloud) allow(list string, ingress ...core.IngressSecurityRule) {
	c.t.Helper()
	_, err := c.network.UpdateSecurityList(c.t.Context(), core.UpdateSecurityListRequest{SecurityListId: &list,
		UpdateSecurityListDetails: core.UpdateSecurityListDetails{IngressSecurityRules: append([]core.IngressSecurityRule{}, ingress...)}})
	c.must(err)
}

func tcp(source string, port int) core.IngressSecurityRule {
	return core.IngressSecurityRule{Protocol: common.String("6"), Source: &source,
		TcpOptions: &core.TcpOptions{DestinationPortRange: &core.PortRange{Min: &port, Max: &port}}}
}

// TestSecurityLists changes rules under running hosts.
func TestSecurityLists(t *testing.T) {
	t.Parallel()
	c := startCloud(t)
	a, b := c.launch(c.Info.SubnetID), c.launch(c.Info.PublicSubnetID)
	private, public := c.listOf(c.Info.SubnetID), c.listOf(c.Info.PublicSubnetID)
	c.expectSSH("a host reaches the other by default", a.id, b.address, true)
	c.expectSSH("the bastion reaches the host by default", "bastion", a.address, true)
	mustExec(t, c.Lab, a.id, "cloud-init", "status", "--wait")
	bastion, config := dial(t, c.Info)
	session := hop(t, bastion, *config, a.address)

	c.allow(private)
	c.expectSSH("the bastion reaches a host that admits nothing", "bastion", a.address, false)
	c.expectSSH("that host reaches others", a.id, b.address, true)
	if got := shell(t, session, "echo goes on"); got != "goes on" {
		t.Errorf("the established session gave %q", got)
	}
	if out := mustExec(t, c.Lab, a.id, "curl", "-s", "-H", "Authorization: Bearer Oracle", "http://169.254.169.254/opc/v2/instance/id"); out != a.id {
		t.Errorf("the metadata service gave %q", out)
	}

	c.allow(private, tcp(b.address+"/32", 22))
	c.expectSSH("a host reaches what admits it alone", b.id, a.address, true)
	c.expectSSH("another does", "bastion", a.address, false)
	c.allow(private, tcp("10.0.0.0/16", 23))
	c.expectSSH("a rule for another port admits port 22", b.id, a.address, false)

	answered := func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort(c.Info.BastionHost, fmt.Sprint(c.Info.BastionPort)))
		c.must(err)
		defer func() { _ = conn.Close() }()
		c.must(conn.SetDeadline(time.Now().Add(time.Second)))
		greeting := make([]byte, 4)
		_, err = conn.Read(greeting)
		return err == nil && string(greeting) == "SSH-"
	}
	c.expect("a client reaches the bastion", answered, true)
	c.allow(public, tcp("10.0.0.0/16", 22))
	c.expect("a client reaches a bastion that admits the VCN alone", answered, false)
	c.allow(public, tcp("0.0.0.0/0", 22))
	c.expect("a client reaches a bastion that admits all", answered, true)
	subnet, err := c.network.GetSubnet(t.Context(), core.GetSubnetRequest{SubnetId: &c.Info.PublicSubnetID})
	c.must(err)
	_, err = c.network.UpdateRouteTable(t.Context(), core.UpdateRouteTableRequest{RtId: subnet.RouteTableId,
		UpdateRouteTableDetails: core.UpdateRouteTableDetails{RouteRules: []core.RouteRule{}}})
	c.must(err)
	c.expect("a client reaches a bastion without a route to the internet", answered, false)
}

// TestStatelessRules shows that each VNIC filters for itself.
func TestStatelessRules(t *testing.T) {
	t.Parallel()
	c := startCloud(t)
	a, b := c.launch(c.Info.SubnetID), c.launch(c.Info.PublicSubnetID)
	stateless := tcp("10.0.0.0/16", 22)
	stateless.IsStateless = common.Bool(true)
	list := c.listOf(c.Info.SubnetID)
	egress := func(rules ...core.EgressSecurityRule) {
		_, err := c.network.UpdateSecurityList(t.Context(), core.UpdateSecurityListRequest{SecurityListId: &list,
			UpdateSecurityListDetails: core.UpdateSecurityListDetails{
				IngressSecurityRules: []core.IngressSecurityRule{stateless}, EgressSecurityRules: append([]core.EgressSecurityRule{}, rules...)}})
		c.must(err)
	}
	egress()
	c.expectSSH("a stateless rule lets answers out", b.id, a.address, false)
	egress(core.EgressSecurityRule{Protocol: common.String("6"), Destination: common.String("10.0.0.0/16"), IsStateless: common.Bool(true),
		TcpOptions: &core.TcpOptions{SourcePortRange: &core.PortRange{Min: common.Int(22), Max: common.Int(22)}}})
	c.expectSSH("a second stateless rule lets answers out", b.id, a.address, true)
	c.expectSSH("it lets connections out", a.id, b.address, false)
}

// TestSecurityGroups admits the members of one group to another.
func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	c := startCloud(t)
	ctx := t.Context()
	group := func() string {
		g, err := c.network.CreateNetworkSecurityGroup(ctx, core.CreateNetworkSecurityGroupRequest{
			CreateNetworkSecurityGroupDetails: core.CreateNetworkSecurityGroupDetails{CompartmentId: &c.Info.CompartmentID, VcnId: &c.Info.VCNID}})
		c.must(err)
		return *g.Id
	}
	servers, clients := group(), group()
	_, err := c.network.AddNetworkSecurityGroupSecurityRules(ctx, core.AddNetworkSecurityGroupSecurityRulesRequest{
		NetworkSecurityGroupId: &servers, AddNetworkSecurityGroupSecurityRulesDetails: core.AddNetworkSecurityGroupSecurityRulesDetails{
			SecurityRules: []core.AddSecurityRuleDetails{{
				Direction: core.AddSecurityRuleDetailsDirectionIngress, Protocol: common.String("6"), Source: &clients,
				SourceType: core.AddSecurityRuleDetailsSourceTypeNetworkSecurityGroup,
				TcpOptions: &core.TcpOptions{DestinationPortRange: &core.PortRange{Min: common.Int(22), Max: common.Int(22)}},
			}}}})
	c.must(err)
	c.allow(c.listOf(c.Info.SubnetID))
	server, client := c.launch(c.Info.SubnetID, servers), c.launch(c.Info.SubnetID)
	c.expectSSH("a host outside of the group is admitted", client.id, server.address, false)
	_, err = c.network.UpdateVnic(ctx, core.UpdateVnicRequest{VnicId: &client.vnic, UpdateVnicDetails: core.UpdateVnicDetails{NsgIds: []string{clients}}})
	c.must(err)
	c.expectSSH("a host that joined the group is admitted", client.id, server.address, true)
	c.expectSSH("the bastion is admitted", "bastion", server.address, false)
	c.expectSSH("the group's member admits the server", server.id, client.address, false)
}

// TestOwnVCN works in a VCN that overlaps the lab's first one.
func TestOwnVCN(t *testing.T) {
	t.Parallel()
	c := startCloud(t)
	ctx := t.Context()
	vcn, err := c.network.CreateVcn(ctx, core.CreateVcnRequest{CreateVcnDetails: core.CreateVcnDetails{
		CompartmentId: &c.Info.CompartmentID, CidrBlocks: []string{"10.0.0.0/16", "10.9.0.0/16"}}})
	c.must(err)
	subnet := func(cidr string) string {
		n, err := c.network.CreateSubnet(ctx, core.CreateSubnetRequest{CreateSubnetDetails: core.CreateSubnetDetails{
			CompartmentId: &c.Info.CompartmentID, VcnId: vcn.Id, CidrBlock: &cidr}})
		c.must(err)
		waitFor(t, "the subnet to be there", func() bool {
			got, err := c.network.GetSubnet(ctx, core.GetSubnetRequest{SubnetId: n.Id})
			c.must(err)
			return got.LifecycleState == core.SubnetLifecycleStateAvailable
		})
		return *n.Id
	}
	theirs := c.launch(c.Info.SubnetID)
	overlapping, own := c.launch(subnet("10.0.64.0/24")), c.launch(subnet("10.9.1.0/24"))
	if overlapping.address == theirs.address {
		t.Fatalf("two hosts have the address %s", theirs.address)
	}
	if !strings.HasPrefix(own.public, "203.0.113.") {
		t.Errorf("the host in the public subnet has the public address %q", own.public)
	}
	for what, check := range map[string]struct {
		from, to string
		want     bool
	}{
		"hosts of one VCN":          {overlapping.id, own.address, true},
		"hosts of two VCNs":         {theirs.id, overlapping.address, false},
		"the other way round":       {own.id, theirs.address, false},
		"the bastion, in both":      {"bastion", own.address, true},
		"the bastion, with overlap": {"bastion", overlapping.address, true},
	} {
		c.expectSSH(what, check.from, check.to, check.want)
	}
	mustExec(t, c.Lab, own.id, "cloud-init", "status", "--wait")
	bastion, config := dial(t, c.Info)
	if got := shell(t, hop(t, bastion, *config, own.address), "hostname -i"); got != own.address {
		t.Errorf("the host behind the bastion has the address %s, want %s", got, own.address)
	}
}
