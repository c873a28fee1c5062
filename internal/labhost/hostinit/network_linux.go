// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"fmt"

	"github.com/vishvananda/netlink"
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
			if err := netlink.AddrAdd(link, address); err != nil {
				return fmt.Errorf("give eth0 the address %s: %w", cfg.Address, err)
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("set %s up: %w", name, err)
		}
	}
	if err := netlink.RouteAdd(&netlink.Route{Gw: cfg.Gateway.AsSlice()}); err != nil {
		return fmt.Errorf("route through %s: %w", cfg.Gateway, err)
	}
	return nil
}
