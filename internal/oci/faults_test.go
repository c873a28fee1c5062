// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// impatient gives up a request after a moment, as the SDK does after a minute.
func impatient(common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
	return &http.Client{Timeout: 500 * time.Millisecond, Transport: http.DefaultTransport}
}

// Whatever happens to some of the requests, a cluster goes through its whole life, and nothing happens to
// it twice.
func TestLifeUnderFaults(t *testing.T) {
	t.Parallel()
	on := func(operation string, effect ocisim.Effect) ocisim.Fault {
		return ocisim.Fault{Operation: operation, Effect: effect, Every: 2}
	}
	for name, scenario := range map[string]ocisim.Scenario{
		"a burst of throttling": {Faults: []ocisim.Fault{
			{Operation: "*", Effect: ocisim.EffectThrottle, Skip: 5, Times: 7}, {Operation: "*", Effect: ocisim.EffectThrottle, Skip: 40, Times: 7},
		}},
		"pages of a proxy": {Faults: []ocisim.Fault{on("*", ocisim.EffectHTML)}},
		"no answers":       {Faults: []ocisim.Fault{{Operation: "*", Effect: ocisim.EffectHang, Every: 40}}},
		"lost requests":    {Faults: []ocisim.Fault{on("*", ocisim.EffectResetBefore)}},
		"lost answers": {Faults: []ocisim.Fault{
			on("Create*", ocisim.EffectResetAfter), on("Update*", ocisim.EffectResetAfter), on("Terminate*", ocisim.EffectResetAfter),
			on("Delete*", ocisim.EffectResetAfter), on("Detach*", ocisim.EffectResetAfter), on("Launch*", ocisim.EffectResetAfter),
			on("Get*", ocisim.EffectResetAfter), on("List*", ocisim.EffectResetAfter),
		}},
		"busy":        {Faults: []ocisim.Fault{on("Update*", ocisim.EffectIncorrectState), on("Detach*", ocisim.EffectIncorrectState)}},
		"empty pages": {EmptyPages: true},
		"stale reads": {StaleReads: ocisim.StaleReads{AfterCreate: 3, AfterChange: 3}},
	} {
		for _, interconnect := range interconnects {
			if interconnect != oci.ClusterNetwork && name != "lost answers" && name != "stale reads" && name != "empty pages" {
				continue // The others go the same way.
			}
			t.Run(name+"/"+string(interconnect), func(t *testing.T) {
				t.Parallel()
				region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Scenario = scenario })
				s := clusters(t, region, impatient)
				s.Grace = time.Minute // The faults are counted, not timed.
				live(t, region, s, interconnect)
				if happened := region.Stats().Faults; len(scenario.Faults) > 0 && len(happened) == 0 {
					t.Error("no fault happened")
				}
			})
		}
	}
}

// A request that hangs is given up at once when the user interrupts, unless it changes something.
func TestInterruptDuringAHang(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, spec(1))
	ctx, cancel := context.WithCancel(t.Context())
	if err := region.SetScenario(ocisim.Scenario{Faults: []ocisim.Fault{{Operation: "GetClusterNetwork", Effect: ocisim.EffectHang}}}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for region.Stats().Faults["GetClusterNetwork"] == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := s.Update(ctx, c.ID, oci.Change{Want: spec(2)}); oci.KindOf(err) != oci.Interrupted || strings.Contains(err.Error(), "Client.Timeout") {
		t.Errorf("error is %v", err)
	}
}

// live takes a cluster through all that can happen to it.
func live(t *testing.T, region *acctest.Region, s *oci.Clusters, interconnect oci.Interconnect) {
	t.Helper()
	expect := func(c oci.Cluster, count int) []string {
		t.Helper()
		expectNodes(t, s, c, count)
		if there := region.Stats(); there.Instances != count || there.InstanceConfigurations != 1 {
			t.Errorf("%d instances and %d configurations, want %d and 1", there.Instances, there.InstanceConfigurations, count)
		}
		return ids(t, s, c)
	}
	want := spec(2)
	want.Interconnect = interconnect
	c := create(t, s, want)
	expect(c, 2)

	want.Size, want.FreeformTags = 4, map[string]string{"stage": "prod"}
	c = update(t, s, c, oci.Change{Want: want, Managed: oci.Tags{Freeform: map[string]string{"team": "research"}}})
	nodes := expect(c, 4)

	want.Size = 3
	c = update(t, s, c, oci.Change{Want: want, Remove: nodes[1:2], Replace: nodes[:1]})
	expect(c, 3)

	want.Launch.ImageID = acctest.OtherImageID
	c = update(t, s, c, oci.Change{Want: want, Relaunch: true, MaxUnavailable: 2})
	expect(c, 3)

	if err := s.Delete(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	expectNothing(t, region)
}
