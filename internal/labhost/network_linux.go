// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// mtu of OCI's networks, bytes.
const mtu = 9000

// linkLocal is where OCI's metadata and DNS services answer, and what [Hosts.Listen] opens.
var linkLocal = netip.MustParseAddr("169.254.169.254")

// network is the router of all VCNs, as OCI's virtual network is: each host has a link to it and reaches
// even its own subnet through it, so that the firewall sees every packet.
type network struct {
	firewall *firewall

	mu       sync.Mutex
	gateways map[netip.Addr]bool
	hosts    map[netip.Addr]*host // addresses are unique in the lab, whatever their VCN
	rates    map[slowed]uint64    // bits a second
}

// newNetwork prepares the network namespace of this process.
func newNetwork() (*network, error) {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, fmt.Errorf("find lo: %w", err)
	}
	for _, address := range []netip.Addr{linkLocal, ocisim.Internet} {
		if err := addAddress(address); err != nil {
			return nil, err
		}
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		return nil, fmt.Errorf("set lo up: %w", err)
	}
	for setting, value := range map[string]string{
		"ip_forward": "1", "conf/all/rp_filter": "1", "conf/default/rp_filter": "1", // no host speaks for another
	} {
		if err := os.WriteFile("/proc/sys/net/ipv4/"+setting, []byte(value+"\n"), 0); err != nil {
			return nil, fmt.Errorf("route between hosts: %w", err)
		}
	}
	return &network{firewall: newFirewall(), gateways: map[netip.Addr]bool{}, hosts: map[netip.Addr]*host{}, rates: map[slowed]uint64{}}, nil
}

// attach gives the network namespace of process pid an eth0 in a subnet.
func (n *network) attach(host *host) error {
	if err := n.claim(host); err != nil {
		return err
	}
	if err := n.firewall.open(host.id, host.veth); err != nil {
		return err
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = host.veth, mtu
	veth := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerMTU: mtu, PeerNamespace: netlink.NsPid(host.process.Pid)}
	if host.mac != "" {
		var err error
		if veth.PeerHardwareAddr, err = net.ParseMAC(host.mac); err != nil {
			return fmt.Errorf("read the MAC address: %w", err)
		}
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("connect the host to subnet %s: %w", host.address.Masked(), err)
	}
	if err := netlink.LinkSetUp(veth); err != nil {
		return fmt.Errorf("set %s up: %w", host.veth, err)
	}
	address := host.address.Addr()
	route := &netlink.Route{LinkIndex: veth.Index, Scope: netlink.SCOPE_LINK, Dst: &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(32, 32)}}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("route to %s: %w", address, err)
	}
	return nil
}

// claim takes a host's address, and makes its subnet's gateway.
func (n *network) claim(host *host) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	address := host.address.Addr()
	const shared = "all hosts of a lab share its addresses, whatever VCN they are in"
	if owner := n.hosts[address]; owner != nil {
		return fmt.Errorf("address %s is host %s's: %s", address, owner.hostname, shared)
	}
	if n.gateways[address] {
		return fmt.Errorf("address %s is a subnet's gateway: %s", address, shared)
	}
	if owner := n.hosts[host.gateway]; owner != nil {
		return fmt.Errorf("gateway address %s is host %s's: %s", host.gateway, owner.hostname, shared)
	}
	if !n.gateways[host.gateway] {
		if err := addAddress(host.gateway); err != nil {
			return err
		}
		n.gateways[host.gateway] = true
	}
	n.hosts[address] = host
	return nil
}

// detach removes a host's link; one that is gone already is no error.
func (n *network) detach(host *host) error {
	n.mu.Lock()
	if n.hosts[host.address.Addr()] == host {
		delete(n.hosts, host.address.Addr())
		for way := range n.rates {
			if way.to == host.address.Addr() || way.from == host.address.Addr() {
				delete(n.rates, way) // where it is the other end, a class without packets stays
			}
		}
	}
	n.mu.Unlock()
	if err := n.firewall.shut(host.id, host.veth); err != nil {
		return err
	}
	link, err := netlink.LinkByName(host.veth)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %s: %w", host.veth, err)
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("remove %s: %w", host.veth, err)
	}
	return nil
}

// addAddress gives the router an address.
func addAddress(a netip.Addr) error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	if err := netlink.AddrAdd(loopback, &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)}}); err != nil {
		return fmt.Errorf("give the network the address %s: %w", a, err)
	}
	return nil
}

// Listen opens a TCP port that every host reaches, beside the metadata service's and whatever the security
// lists say; 0 is a free one.
func (h *Hosts) Listen(ctx context.Context, port uint16) (*net.TCPListener, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", netip.AddrPortFrom(linkLocal, port).String())
	if err != nil {
		return nil, fmt.Errorf("open a port for hosts: %w", err)
	}
	return listener.(*net.TCPListener), nil
}
