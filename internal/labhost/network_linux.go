// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
)

// mtu of OCI's networks, bytes.
const mtu = 9000

// linkLocal is where OCI's metadata and DNS services answer.
var linkLocal = netip.MustParseAddr("169.254.169.254")

// network is the lab's: one bridge a subnet, with the subnet's gateway address, and routing between them.
type network struct {
	mu      sync.Mutex
	bridges map[netip.Prefix]netlink.Link
}

// newNetwork prepares the network namespace of this process.
func newNetwork() (*network, error) {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, fmt.Errorf("find lo: %w", err)
	}
	if err := addAddress(loopback, netip.PrefixFrom(linkLocal, linkLocal.BitLen())); err != nil {
		return nil, err
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		return nil, fmt.Errorf("set lo up: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0); err != nil {
		return nil, fmt.Errorf("route between subnets: %w", err)
	}
	return &network{bridges: map[netip.Prefix]netlink.Link{}}, nil
}

// attach gives the network namespace of process pid an eth0 in the subnet.
func (n *network) attach(subnet netip.Prefix, gateway netip.Addr, name, mac string, pid int) error {
	bridge, err := n.bridge(subnet, gateway)
	if err != nil {
		return err
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU, attributes.MasterIndex = name, mtu, bridge.Attrs().Index
	veth := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerMTU: mtu, PeerNamespace: netlink.NsPid(pid)}
	if mac != "" {
		if veth.PeerHardwareAddr, err = net.ParseMAC(mac); err != nil {
			return fmt.Errorf("read the MAC address: %w", err)
		}
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("connect the host to subnet %s: %w", subnet, err)
	}
	if err := netlink.LinkSetUp(veth); err != nil {
		return fmt.Errorf("set %s up: %w", name, err)
	}
	return nil
}

// detach removes a host's link; one that is gone already is no error.
func detach(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// bridge finds or makes the bridge of a subnet.
func (n *network) bridge(subnet netip.Prefix, gateway netip.Addr) (netlink.Link, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if bridge := n.bridges[subnet]; bridge != nil {
		return bridge, nil
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = fmt.Sprintf("subnet%d", len(n.bridges)), mtu
	bridge := &netlink.Bridge{LinkAttrs: attributes}
	if err := netlink.LinkAdd(bridge); err != nil {
		return nil, fmt.Errorf("make the bridge of subnet %s: %w", subnet, err)
	}
	if err := addAddress(bridge, netip.PrefixFrom(gateway, subnet.Bits())); err != nil {
		return nil, err
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("set the bridge of subnet %s up: %w", subnet, err)
	}
	n.bridges[subnet] = bridge
	return bridge, nil
}

func addAddress(link netlink.Link, prefix netip.Prefix) error {
	address, err := netlink.ParseAddr(prefix.String())
	if err != nil {
		return fmt.Errorf("read address %s: %w", prefix, err)
	}
	if err := netlink.AddrAdd(link, address); err != nil {
		return fmt.Errorf("give %s the address %s: %w", link.Attrs().Name, prefix, err)
	}
	return nil
}
