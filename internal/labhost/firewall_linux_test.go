// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestDisjoint(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ prefixes, want []string }{
		"one":      {[]string{"10.0.0.0/8"}, []string{"10.0.0.0/8"}},
		"apart":    {[]string{"10.1.0.0/16", "10.0.0.0/16"}, []string{"10.0.0.0/16", "10.1.0.0/16"}},
		"within":   {[]string{"10.0.3.4/32", "10.0.0.0/16", "10.0.3.0/24"}, []string{"10.0.0.0/16"}},
		"all":      {[]string{"10.0.0.0/8", "0.0.0.0/0", "192.0.2.1/32"}, []string{"0.0.0.0/0"}},
		"the same": {[]string{"10.0.0.1/32", "10.0.0.1/32"}, []string{"10.0.0.1/32"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var prefixes []netip.Prefix
			for _, p := range test.prefixes {
				prefixes = append(prefixes, netip.MustParsePrefix(p))
			}
			var got []string
			for _, p := range disjoint(prefixes) {
				got = append(got, p.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	elements := intervals([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("255.255.255.0/24")})
	want := []struct {
		key string
		end bool
	}{{"0.0.0.0", true}, {"10.0.0.0", false}, {"10.0.1.0", true}, {"255.255.255.0", false}} // the last one is open
	if len(elements) != len(want) {
		t.Fatalf("%d elements, want %d", len(elements), len(want))
	}
	for n, e := range elements {
		key, _ := netip.AddrFromSlice(e.Key)
		if key.String() != want[n].key || e.IntervalEnd != want[n].end {
			t.Errorf("element %d is %s, end %t; want %+v", n, key, e.IntervalEnd, want[n])
		}
	}
}

const withoutPrivileges = "OCIHPC_TEST_WITHOUT_PRIVILEGES"

// A lab whose kernel refuses to filter says why, and goes on.
func TestNoFirewall(t *testing.T) {
	t.Parallel()
	if os.Getenv(withoutPrivileges) == "" {
		if os.Geteuid() != 0 {
			t.Skip("only root can give up its privileges")
		}
		again := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestNoFirewall$")
		again.Env = append(os.Environ(), withoutPrivileges+"=1")
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}}
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	f := newFirewall()
	if f.unavailable == nil {
		t.Fatal("a process without privileges has a firewall")
	}
	t.Log(f.unavailable)
	for what, err := range map[string]error{
		"protect": f.protect([]ocisim.VnicRules{{HostID: "a"}}, nil), "open": f.open("a", "v0"), "shut": f.shut("a", "v0"),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// enterNetwork puts the test's thread into a network namespace of its own, which ends with the test.
func enterNetwork(t *testing.T) (namespace *os.File) {
	t.Helper()
	runtime.LockOSThread() // It is never unlocked, so that no other goroutine gets the thread.
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace to try the firewall in: %v", err)
	}
	namespace, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = namespace.Close() })
	return namespace
}

// What the kernel did not take is written with the next change, even where that changes something else.
func TestFirewallTriesAgain(t *testing.T) {
	t.Parallel()
	home := enterNetwork(t)
	f := newFirewall()
	if f.unavailable != nil {
		t.Skip(f.unavailable)
	}
	const host, other, link, group = "a", "b", "v0", "ocid1.networksecuritygroup.oc1..g"
	rules := func(groups ...string) ocisim.VnicRules {
		v := ocisim.VnicRules{HostID: host}
		for _, g := range groups {
			v.Ingress = append(v.Ingress, ocisim.TrafficRule{Protocol: unix.IPPROTO_TCP, Group: g})
		}
		return v
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		t.Helper()
		in, err := f.conn.GetRules(f.table, &nftables.Chain{Name: ingressChain(link)})
		must(err)
		return len(in)
	}
	must(f.protect([]ocisim.VnicRules{rules()}, nil))
	must(f.open(host, link))
	before := count()

	members := map[string][]netip.Addr{group: {netip.MustParseAddr("10.0.0.7")}}
	enterNetwork(t) // where there is no such firewall
	if err := f.protect([]ocisim.VnicRules{rules(group)}, members); err == nil {
		t.Fatal("a change of a firewall that is not there succeeds")
	}
	must(unix.Setns(int(home.Fd()), unix.CLONE_NEWNET))
	must(f.protect([]ocisim.VnicRules{rules(group), {HostID: other}}, members))
	if after := count(); after != before+1 {
		t.Errorf("%d rules became %d, want one more", before, after)
	}
	elements, err := f.conn.GetSetElements(f.groups[group].set)
	if err != nil || len(elements) != 1 {
		t.Errorf("the group has %d members (%v), want 1", len(elements), err)
	}
}
