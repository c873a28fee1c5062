// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// configureNetwork gives eth0, which the lab has put into the host, its address and the default route.
func configureNetwork(cfg Config) error {
	for _, name := range []string{"lo", "eth0"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		if name == "eth0" {
			address, err := netlink.ParseAddr(cfg.Address.String())
			if err != nil {
				return fmt.Errorf("read the host's address: %w", err)
			}
			address.Flags = unix.IFA_F_NOPREFIXROUTE // Its subnet, too, is behind the router.
			if err := netlink.AddrAdd(link, address); err != nil {
				return fmt.Errorf("give eth0 the address %s: %w", cfg.Address, err)
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("set %s up: %w", name, err)
		}
	}
	return route(cfg.Gateway)
}

// route sends everything through the gateway.
func route(gateway netip.Addr) error {
	eth0, err := netlink.LinkByName("eth0")
	if err != nil {
		return fmt.Errorf("find eth0: %w", err)
	}
	for _, r := range []netlink.Route{
		{Dst: &net.IPNet{IP: gateway.AsSlice(), Mask: net.CIDRMask(32, 32)}, Scope: netlink.SCOPE_LINK},
		{Gw: gateway.AsSlice()},
	} {
		r.LinkIndex = eth0.Attrs().Index
		if err := netlink.RouteAdd(&r); err != nil {
			return fmt.Errorf("route through %s: %w", gateway, err)
		}
	}
	return nil
}
