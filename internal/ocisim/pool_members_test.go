// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"testing"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// The oldest of the fullest fault domain goes first, and then the next one of what is left.
func TestVictims(t *testing.T) {
	t.Parallel()
	s := testServer(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &pool{InstancePool: core.InstancePool{Id: ptr("pool")}}
	for n, domain := range []string{"2", "1", "1", "2", "1", "3", "1"} {
		id := string(rune('a' + n))
		s.store.instances.add(id, &instance{PoolID: "pool", Instance: core.Instance{
			Id: &id, CompartmentId: &s.cfg.CompartmentID, Shape: ptr("shape"), AvailabilityDomain: ptr("AD-1"), FaultDomain: &domain,
			LifecycleState: core.InstanceLifecycleStateRunning}})
	}
	for size, want := range map[int]string{8: "", 7: "", 6: "b", 5: "bc", 4: "bca", 3: "bcae", 0: "bcaedfg"} {
		p.Size = &size
		var got []byte
		for _, i := range s.victims(p) {
			got = append(got, *i.Id...)
		}
		if string(got) != want {
			t.Errorf("of a pool with size %d go %q, want %q", size, got, want)
		}
	}
}

// A cluster network is shown with its pool, and must not outlast it.
func TestNetworkEndsBeforeItsPool(t *testing.T) {
	t.Parallel()
	s := testServer(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &pool{NetworkID: "network", InstancePool: core.InstancePool{Id: ptr("pool"), CompartmentId: &s.cfg.CompartmentID}}
	n := &clusterNetwork{PoolID: "pool", ClusterNetwork: core.ClusterNetwork{Id: ptr("network"), CompartmentId: &s.cfg.CompartmentID}}
	s.store.pools.add("pool", p)
	s.store.networks.add("network", n)
	s.setState(p, core.InstancePoolLifecycleStateTerminated)
	if n.expiry.Due > p.expiry.Due || n.expiry.Until.After(p.expiry.Until) {
		t.Errorf("the network is kept until %v, its pool until %v", n.expiry, p.expiry)
	}
}
