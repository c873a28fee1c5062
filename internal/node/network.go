// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// networkOf gives the network of the interface that has the address, which may be a DNS name.
func networkOf(ctx context.Context, address string) (string, error) {
	if address == "" {
		return "", errors.New("nobody said which address the node is reached by")
	}
	candidates, err := resolve(ctx, address)
	if err != nil {
		return "", err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("list addresses: %w", err)
	}
	for _, candidate := range candidates {
		for _, address := range own {
			prefix, err := netip.ParsePrefix(address.String())
			if err != nil {
				continue
			}
			// Every address of a loopback network is the node's own.
			if prefix.Addr() == candidate || (candidate.IsLoopback() && prefix.Contains(candidate)) {
				return prefix.Masked().String(), nil
			}
		}
	}
	return "", fmt.Errorf("no network interface of the node has the address %s", address)
}

func resolve(ctx context.Context, address string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(address); err == nil {
		return []netip.Addr{addr}, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", address)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", address, err)
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, nil
}
