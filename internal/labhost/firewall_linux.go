// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// firewall keeps the rules of VNICs in the kernel, in the lab's network namespace: a host cannot undo them.
//
// A packet between hosts passes a chain of its sender's VNIC, which returns or drops, then one of its
// receiver's, which accepts or drops. Each VNIC remembers in the connection's mark that a stateful rule of
// its own has let the connection through, for each side filters by itself on OCI. A packet's mark is its
// sender's VCN.
type firewall struct {
	unavailable error // why this kernel cannot filter

	mu      sync.Mutex
	conn    *nftables.Conn
	table   *nftables.Table
	egress  *nftables.Set // link to chain
	ingress *nftables.Set
	rules   map[string]ocisim.VnicRules // by host
	links   map[string]string           // of running hosts, by host
	vcns    map[string]uint32           // marks, by OCID
	groups  map[string]*group           // by OCID
	queued  int                         // messages of the transaction that is being put together
	failed  bool                        // the last change did, so that nobody knows what the kernel has
}

// group has the addresses of a network security group's members, for all rules that name it.
type group struct {
	set     *nftables.Set
	members []netip.Addr
}

// maxQueued messages go into one transaction, more or less: the kernel acknowledges each, and drops
// acknowledgements that do not fit into the socket's buffer.
const maxQueued = 128

// socketBuffer in bytes is for a VNIC with hundreds of rules: they go into one transaction.
const socketBuffer = 4 << 20

// Bits of a connection's mark: which of its two VNICs has let it through statefully.
const (
	initiatorTracks uint32 = 1 << iota
	responderTracks
)

// Marks of packets.
const (
	markInternet uint32 = iota // sent by the router for a client outside
	markEverywhere
	markFirstVCN
)

func newFirewall() *firewall {
	f := &firewall{
		rules: map[string]ocisim.VnicRules{}, links: map[string]string{}, vcns: map[string]uint32{}, groups: map[string]*group{},
	}
	var err error
	if f.conn, err = nftables.New(nftables.WithSockOptions(widen)); err == nil {
		err = f.setUp()
	}
	if err != nil {
		f.unavailable = fmt.Errorf("the kernel cannot filter with nf_tables: %w", err)
	}
	return f
}

// widen gives a socket large buffers, as far as its owner may.
func widen(conn *netlink.Conn) error {
	return errors.Join(conn.SetReadBuffer(socketBuffer), conn.SetWriteBuffer(socketBuffer))
}

// setUp makes the chains that dispatch to those of VNICs, and tries what these will need.
func (f *firewall) setUp() error {
	f.table = f.conn.AddTable(&nftables.Table{Name: "lab", Family: nftables.TableFamilyIPv4})
	chainOf := func(name string) *nftables.Set {
		return &nftables.Set{Table: f.table, Name: name, IsMap: true, KeyType: nftables.TypeIFName, DataType: nftables.TypeVerdict}
	}
	f.egress, f.ingress = chainOf("egress"), chainOf("ingress")
	for _, set := range []*nftables.Set{f.egress, f.ingress} {
		if err := f.conn.AddSet(set, nil); err != nil {
			return err
		}
	}
	from, to := dispatch(expr.MetaKeyIIFNAME, f.egress), dispatch(expr.MetaKeyOIFNAME, f.ingress)

	// What a stateful rule lets through goes to one of these.
	f.add(f.chain(passEgress), slices.Concat(toResponder, track(initiatorTracks)), leave)
	f.add(f.chain(passIngress), slices.Concat(toResponder, track(responderTracks)), accept)

	// Between hosts.
	f.add(f.hook("forward", nftables.ChainHookForward, nftables.ChainPolicyDrop), from, to)
	// From clients outside, by way of this process. The link-local services and the router's ICMP are free.
	f.add(f.hook("output", nftables.ChainHookOutput, nftables.ChainPolicyAccept), slices.Concat(address(source, ocisim.Internet), to))
	// To the link-local services; and the answers to clients outside.
	input := f.hook("input", nftables.ChainHookInput, nftables.ChainPolicyDrop)
	f.add(input,
		slices.Concat(equal(&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1}, interfaceName("lo")), accept),
		slices.Concat(address(destination, linkLocal), accept),
		slices.Concat(protocol(unix.IPPROTO_ICMP), accept),
		slices.Concat(address(destination, ocisim.Internet), from),
		slices.Concat(address(destination, ocisim.Internet), established, accept),
	)
	if err := f.flush(); err != nil {
		return err
	}
	const probe = "probe"
	f.rules[probe] = ocisim.VnicRules{Ingress: []ocisim.TrafficRule{{
		Protocol: unix.IPPROTO_TCP, DestinationPorts: ocisim.PortRange{Min: 1, Max: 2},
		Peers: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("10.0.2.0/24")},
	}}}
	if err := f.open(probe, probe); err != nil {
		return err
	}
	delete(f.rules, probe)
	return f.shut(probe, probe)
}

func (f *firewall) hook(name string, hook *nftables.ChainHook, policy nftables.ChainPolicy) *nftables.Chain {
	return f.conn.AddChain(&nftables.Chain{
		Name: name, Table: f.table, Hooknum: hook, Type: nftables.ChainTypeFilter, Priority: nftables.ChainPriorityFilter, Policy: &policy,
	})
}

func (f *firewall) chain(name string) *nftables.Chain {
	return f.conn.AddChain(&nftables.Chain{Table: f.table, Name: name})
}

func (f *firewall) add(chain *nftables.Chain, rules ...[]expr.Any) {
	for _, rule := range rules {
		f.conn.AddRule(&nftables.Rule{Table: f.table, Chain: chain, Exprs: rule})
	}
	f.queued += len(rules)
}

// flush carries the transaction out.
func (f *firewall) flush() error {
	f.queued = 0
	return f.conn.Flush()
}

// protect replaces the rules of all hosts, and the members of all groups.
func (f *firewall) protect(vnics []ocisim.VnicRules, groups map[string][]netip.Addr) error {
	if f.unavailable != nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.replace(vnics, groups)
	f.failed = err != nil // The next call then tries all of it again.
	return err
}

func (f *firewall) replace(vnics []ocisim.VnicRules, groups map[string][]netip.Addr) error {
	for id := range f.groups {
		if err := f.enrol(id, groups[id]); err != nil {
			return err
		}
	}
	for id, members := range groups {
		if err := f.enrol(id, members); err != nil {
			return err
		}
	}
	old := f.rules
	f.rules = map[string]ocisim.VnicRules{}
	for _, v := range vnics {
		f.rules[v.HostID] = v
	}
	for host, link := range f.links {
		if !f.failed && reflect.DeepEqual(old[host], f.rules[host]) {
			continue
		}
		if err := f.write(host, link); err != nil {
			return err
		}
		if f.queued > maxQueued {
			if err := f.flush(); err != nil {
				return fmt.Errorf("change the firewall of host %s: %w", host, err)
			}
		}
	}
	if err := f.flush(); err != nil {
		return fmt.Errorf("change the firewall of hosts: %w", err)
	}
	return nil
}

// enrol gives a group its members.
func (f *firewall) enrol(id string, members []netip.Addr) error {
	g, known := f.groups[id]
	if !known {
		g = &group{set: &nftables.Set{Table: f.table, Name: fmt.Sprintf("group%d", len(f.groups)), KeyType: nftables.TypeIPAddr}}
		f.groups[id] = g
	}
	if !known || f.failed {
		if err := f.conn.AddSet(g.set, nil); err != nil {
			return fmt.Errorf("make a group of the firewall: %w", err)
		}
		f.queued++
	}
	if !f.failed && slices.Equal(g.members, members) {
		return nil
	}
	f.conn.FlushSet(g.set)
	elements := make([]nftables.SetElement, len(members))
	for n, a := range members {
		elements[n].Key = a.AsSlice()
	}
	if err := f.conn.SetAddElements(g.set, elements); err != nil {
		return fmt.Errorf("change a group of the firewall: %w", err)
	}
	g.members = slices.Clone(members)
	f.queued += 2
	return nil
}

// open lets traffic of a host's new link pass by the host's rules.
func (f *firewall) open(host, link string) error {
	if f.unavailable != nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.write(host, link); err != nil {
		return err
	}
	f.links[host] = link
	for set, chain := range map[*nftables.Set]string{f.egress: egressChain(link), f.ingress: ingressChain(link)} {
		if err := f.conn.SetAddElements(set, jump(link, chain)); err != nil {
			return err
		}
	}
	if err := f.flush(); err != nil {
		return fmt.Errorf("make the firewall of the host: %w", err)
	}
	return nil
}

// shut forgets a link; one that was never opened is no error.
func (f *firewall) shut(host, link string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.links[host] != link || f.unavailable != nil {
		return nil
	}
	delete(f.links, host)
	for set, chain := range map[*nftables.Set]string{f.egress: egressChain(link), f.ingress: ingressChain(link)} {
		if err := f.conn.SetDeleteElements(set, jump(link, chain)); err != nil {
			return err
		}
		c := &nftables.Chain{Table: f.table, Name: chain}
		f.conn.FlushChain(c)
		f.conn.DelChain(c)
	}
	if err := f.flush(); err != nil {
		return fmt.Errorf("remove the firewall of the host: %w", err)
	}
	return nil
}

// write makes both chains of a link anew, in the transaction that is being put together.
func (f *firewall) write(host, link string) error {
	rules := f.rules[host]
	for _, direction := range []struct {
		chain               string
		peer                peer
		rules               []ocisim.TrafficRule
		head                [][]expr.Any
		stateless, stateful []expr.Any // what a rule does
	}{
		{egressChain(link), destination, rules.Egress, [][]expr.Any{
			setMark(f.markOf(rules)),
			slices.Concat(tracked(toInitiator, responderTracks), leave),
			slices.Concat(tracked(toResponder, initiatorTracks), leave),
		}, leave, goTo(passEgress)},
		{ingressChain(link), source, rules.Ingress, [][]expr.Any{
			slices.Concat(tracked(toInitiator, initiatorTracks), accept),
			slices.Concat(tracked(toResponder, responderTracks), accept),
			slices.Concat(f.markOfOthers(rules), drop),
		}, accept, goTo(passIngress)},
	} {
		chain := f.chain(direction.chain)
		f.conn.FlushChain(chain)
		f.add(chain, direction.head...)
		// Where a stateless and a stateful rule match, the stateless one does, as on OCI.
		var stateless, stateful [][]expr.Any
		for _, rule := range direction.rules {
			if f.groups[rule.Group] == nil && len(rule.Peers) == 0 {
				continue // It matches nothing.
			}
			match, err := f.match(rule, direction.peer)
			if err != nil {
				return fmt.Errorf("make the firewall of host %s: %w", host, err)
			}
			if rule.Stateless {
				stateless = append(stateless, slices.Concat(match, direction.stateless))
			} else {
				stateful = append(stateful, slices.Concat(match, direction.stateful))
			}
		}
		f.add(chain, slices.Concat(stateless, stateful, [][]expr.Any{drop})...)
	}
	return nil
}

func (f *firewall) match(rule ocisim.TrafficRule, who peer) ([]expr.Any, error) {
	var match []expr.Any
	if rule.Protocol != ocisim.AllProtocols {
		match = protocol(byte(rule.Protocol)) // #nosec G115 -- checked where it comes from
	}
	peers, err := f.peers(rule, who)
	if err != nil {
		return nil, err
	}
	return slices.Concat(match, peers, ports(sourcePort, rule.SourcePorts), ports(destinationPort, rule.DestinationPorts),
		icmp(0, rule.ICMPType), icmp(1, rule.ICMPCode)), nil
}

// peers matches an address with a rule's group or networks.
func (f *firewall) peers(rule ocisim.TrafficRule, who peer) ([]expr.Any, error) {
	if rule.Group != "" {
		return among(who, f.groups[rule.Group].set), nil
	}
	networks := disjoint(rule.Peers)
	if networks[0].Bits() == 0 {
		return nil, nil
	}
	set := &nftables.Set{Table: f.table, Anonymous: true, Constant: true, Interval: true, KeyType: nftables.TypeIPAddr}
	if err := f.conn.AddSet(set, intervals(networks)); err != nil {
		return nil, err
	}
	f.queued += 2
	return among(who, set), nil
}

// markOf the packets of a host.
func (f *firewall) markOf(rules ocisim.VnicRules) uint32 {
	if rules.Everywhere {
		return markEverywhere
	}
	return f.vcn(rules.VCN)
}

// markOfOthers matches packets that do not come from where a host can be reached from.
func (f *firewall) markOfOthers(rules ocisim.VnicRules) []expr.Any {
	known := []uint32{f.vcn(rules.VCN), markEverywhere}
	if rules.Public {
		known = append(known, markInternet)
	}
	match := []expr.Any{&expr.Meta{Key: expr.MetaKeyMARK, Register: 1}}
	for _, mark := range known {
		match = append(match, &expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: binaryutil.NativeEndian.PutUint32(mark)})
	}
	return match
}

func (f *firewall) vcn(id string) uint32 {
	if _, known := f.vcns[id]; !known {
		f.vcns[id] = markFirstVCN + uint32(len(f.vcns)) // #nosec G115 -- few
	}
	return f.vcns[id]
}

// Names of chains. A link's are in the maps egress and ingress.
const (
	passEgress  = "pass-egress"
	passIngress = "pass-ingress"
)

func egressChain(link string) string  { return "from-" + link }
func ingressChain(link string) string { return "to-" + link }
