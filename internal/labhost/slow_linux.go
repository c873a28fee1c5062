// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Slow gives what is sent to a host a lower rate, in bits a second: what another host sends to it and it sends to that one,
// or all that it is sent where to is empty. Hosts are known by their instances' OCIDs or their host names.
func (h *Hosts) Slow(name, to string, bitsPerSecond uint64) error {
	host, err := h.named(name)
	if err != nil {
		return err
	}
	if to == "" {
		return h.network.slow(host, nil, bitsPerSecond)
	}
	other, err := h.named(to)
	if err != nil {
		return err
	}
	if other == host {
		return fmt.Errorf("slow the link of %s: a host has no link to itself", name)
	}
	return errors.Join(h.network.slow(host, other, bitsPerSecond), h.network.slow(other, host, bitsPerSecond))
}

// Hasten ends what [Hosts.Slow] did to a host and its links.
func (h *Hosts) Hasten(name string) error {
	host, err := h.named(name)
	if err != nil {
		return err
	}
	return h.network.hasten(host)
}

func (h *Hosts) named(name string) (*host, error) {
	found := h.find(func(host *host) bool { return host.id == name || host.hostname == name })
	if found == nil {
		return nil, fmt.Errorf("find %q: %w", name, ErrNoHost)
	}
	return found, nil
}

// slowed is a way that packets go: to a host, from another one or, with the zero address, from all.
type slowed struct{ to, from netip.Addr }

func (n *network) slow(to, from *host, bitsPerSecond uint64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	way := slowed{to: to.address.Addr()}
	if from != nil {
		way.from = from.address.Addr()
	}
	n.rates[way] = bitsPerSecond
	return n.shape(to)
}

func (n *network) hasten(host *host) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var problems []error
	for way := range n.rates {
		if way.to != host.address.Addr() && way.from != host.address.Addr() {
			continue
		}
		delete(n.rates, way)
		if to := n.hosts[way.to]; to != nil {
			problems = append(problems, n.shape(to))
		}
	}
	return errors.Join(problems...)
}

// Handles of the queueing discipline on a host's link: classes of ways count from the second one.
const (
	shaper      = 1
	classOfAll  = 1
	classOfWays = 2
)

// shape gives the link to a host its rates anew: on the router's side, so that the host cannot undo it.
func (n *network) shape(host *host) error {
	link, err := netlink.LinkByName(host.veth)
	if err != nil {
		return fmt.Errorf("find the link of %s: %w", host.hostname, err)
	}
	index := link.Attrs().Index
	attributes := netlink.QdiscAttrs{LinkIndex: index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(shaper, 0)}
	queue := netlink.NewHtb(attributes) // what belongs to no class goes at full speed
	if err := netlink.QdiscDel(queue); err != nil && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("take away the rates of %s: %w", host.hostname, err)
	}
	all, hasAll := n.rates[slowed{to: host.address.Addr()}]
	if hasAll {
		queue.Defcls = classOfAll
	}
	added := false
	add := func(class uint16, rate uint64) error {
		if !added {
			if err := netlink.QdiscAdd(queue); err != nil {
				return err
			}
			added = true
		}
		return netlink.ClassAdd(netlink.NewHtbClass(netlink.ClassAttrs{
			LinkIndex: index, Parent: netlink.MakeHandle(shaper, 0), Handle: netlink.MakeHandle(shaper, class),
		}, netlink.HtbClassAttrs{Rate: rate}))
	}
	if hasAll {
		if err := add(classOfAll, all); err != nil {
			return explainShaper(host, err)
		}
	}
	class := uint16(classOfWays)
	for way, rate := range n.rates {
		if way.to != host.address.Addr() || !way.from.IsValid() {
			continue
		}
		err := add(class, rate)
		if err == nil {
			err = netlink.FilterAdd(fromAddress(index, class, way.from))
		}
		if err != nil {
			return explainShaper(host, err)
		}
		class++
	}
	return nil
}

func explainShaper(host *host, err error) error {
	return fmt.Errorf("give the link of %s a rate (the kernel needs sch_htb and cls_u32): %w", host.hostname, err)
}

// fromAddress puts packets from an address into a class.
func fromAddress(link int, class uint16, from netip.Addr) netlink.Filter {
	return &netlink.U32{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: link, Parent: netlink.MakeHandle(shaper, 0), Priority: 1, Protocol: unix.ETH_P_IP},
		ClassId:     netlink.MakeHandle(shaper, class),
		Sel: &netlink.TcU32Sel{
			Flags: netlink.TC_U32_TERMINAL, Nkeys: 1,
			Keys: []netlink.TcU32Key{{Mask: 0xffffffff, Val: binary.BigEndian.Uint32(from.AsSlice()), Off: int32(source)}},
		},
	}
}
