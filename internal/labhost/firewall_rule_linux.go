// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// peer is the offset of an address in the IPv4 header.
type peer uint32

const (
	source      peer = 12
	destination peer = 16
)

// port is the offset of a port in the headers of TCP and UDP.
type port uint32

const (
	sourcePort      port = 0
	destinationPort port = 2
)

var (
	accept = []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}
	drop   = []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}}
	leave  = []expr.Any{&expr.Verdict{Kind: expr.VerdictReturn}} // the chain

	// The packet's direction in its connection.
	toResponder = equal(&expr.Ct{Key: expr.CtKeyDIRECTION, Register: 1}, []byte{0})
	toInitiator = equal(&expr.Ct{Key: expr.CtKeyDIRECTION, Register: 1}, []byte{1})

	established = hasBits(&expr.Ct{Key: expr.CtKeySTATE, Register: 1}, expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED)
)

// equal matches what an expression loads into register 1.
func equal(load expr.Any, value []byte) []expr.Any {
	return []expr.Any{load, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: value}}
}

// hasBits matches when any of the bits is set.
func hasBits(load expr.Any, bits uint32) []expr.Any {
	return []expr.Any{
		load,
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(bits), Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: make([]byte, 4)},
	}
}

// tracked matches a packet of an established connection that a stateful rule has let through.
func tracked(direction []expr.Any, bit uint32) []expr.Any {
	return slices.Concat(established, direction, hasBits(&expr.Ct{Key: expr.CtKeyMARK, Register: 1}, bit))
}

// track remembers that a stateful rule has let a connection through.
func track(bit uint32) []expr.Any {
	return []expr.Any{
		&expr.Ct{Key: expr.CtKeyMARK, Register: 1},
		&expr.Bitwise{
			SourceRegister: 1, DestRegister: 1, Len: 4,
			Mask: binaryutil.NativeEndian.PutUint32(^bit), Xor: binaryutil.NativeEndian.PutUint32(bit),
		},
		&expr.Ct{Key: expr.CtKeyMARK, Register: 1, SourceRegister: true},
	}
}

// setMark marks the packet.
func setMark(mark uint32) []expr.Any {
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: binaryutil.NativeEndian.PutUint32(mark)},
		&expr.Meta{Key: expr.MetaKeyMARK, SourceRegister: true, Register: 1},
	}
}

func load(who peer) expr.Any {
	return &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: uint32(who), Len: 4}
}

func address(who peer, a netip.Addr) []expr.Any { return equal(load(who), a.AsSlice()) }

func among(who peer, set *nftables.Set) []expr.Any {
	return []expr.Any{load(who), &expr.Lookup{SourceRegister: 1, SetName: set.Name, SetID: set.ID}}
}

func protocol(number byte) []expr.Any {
	return equal(&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, []byte{number})
}

func ports(which port, r ocisim.PortRange) []expr.Any {
	if r == (ocisim.PortRange{}) {
		return nil
	}
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: uint32(which), Len: 2},
		&expr.Range{Op: expr.CmpOpEq, Register: 1, FromData: binary.BigEndian.AppendUint16(nil, r.Min), ToData: binary.BigEndian.AppendUint16(nil, r.Max)},
	}
}

// icmp matches a byte of the ICMP header.
func icmp(offset uint32, value *int) []expr.Any {
	if value == nil {
		return nil
	}
	return equal(&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: 1},
		[]byte{byte(*value)}) // #nosec G115 -- checked where it comes from
}

// dispatch jumps to the chain of the packet's link.
func dispatch(key expr.MetaKey, chains *nftables.Set) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: key, Register: 1},
		&expr.Lookup{SourceRegister: 1, DestRegister: 0, IsDestRegSet: true, SetName: chains.Name, SetID: chains.ID},
	}
}

func goTo(chain string) []expr.Any {
	return []expr.Any{&expr.Verdict{Kind: expr.VerdictGoto, Chain: chain}}
}

func jump(link, chain string) []nftables.SetElement {
	return []nftables.SetElement{{Key: interfaceName(link), VerdictData: &expr.Verdict{Kind: expr.VerdictJump, Chain: chain}}}
}

// interfaceName as the kernel compares it.
func interfaceName(name string) []byte { return append([]byte(name), make([]byte, 16-len(name))...) }

// disjoint leaves out prefixes that others contain. The widest comes first.
func disjoint(prefixes []netip.Prefix) []netip.Prefix {
	var kept []netip.Prefix
	for _, p := range slices.SortedFunc(slices.Values(prefixes), netip.Prefix.Compare) {
		if len(kept) == 0 || !kept[len(kept)-1].Overlaps(p) {
			kept = append(kept, p.Masked())
		}
	}
	return kept
}

// intervals are the elements of a set of prefixes that do not overlap, in ascending order.
func intervals(prefixes []netip.Prefix) []nftables.SetElement {
	elements := []nftables.SetElement{{Key: make([]byte, 4), IntervalEnd: true}}
	for _, p := range prefixes {
		first := binary.BigEndian.Uint32(p.Addr().AsSlice())
		elements = append(elements, nftables.SetElement{Key: p.Addr().AsSlice()})
		if end := first + 1<<(32-p.Bits()); end != 0 { // 0: the set is open at its end
			elements = append(elements, nftables.SetElement{Key: binary.BigEndian.AppendUint32(nil, end), IntervalEnd: true})
		}
	}
	return elements
}
