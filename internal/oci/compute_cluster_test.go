// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// singles is a cluster of single nodes in a compute cluster.
func singles(size int) oci.Spec {
	want := spec(size)
	want.Interconnect = oci.ComputeCluster
	return want
}

// adopted is a compute cluster that somebody else has made.
func adopted(t *testing.T, s *oci.Clusters) string {
	t.Helper()
	response, err := s.Compute.CreateComputeCluster(t.Context(), core.CreateComputeClusterRequest{
		CreateComputeClusterDetails: core.CreateComputeClusterDetails{
			CompartmentId: common.String(acctest.CompartmentID), AvailabilityDomain: common.String(acctest.AvailabilityDomain),
			DisplayName: common.String("theirs"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return *response.Id
}

func names(t *testing.T, s *oci.Clusters, c oci.Cluster) string {
	t.Helper()
	nodes, err := s.Nodes(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, n := range nodes {
		all = append(all, n.DisplayName)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// A node that cannot be launched, at once or later, does not keep the others from running. The next update
// launches what is missing.
func TestSingleNodesFailAlone(t *testing.T) {
	t.Parallel()
	const noHost = "Out of host capacity."
	for name, test := range map[string]struct {
		scenario ocisim.Scenario
		kind     oci.Kind
		there    int
		reasons  int
		texts    []string
	}{
		"refused at once": {ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 3}}, oci.Capacity, 3, 1,
			[]string{"has 3 of 5 nodes", "2 nodes could not be launched: OCI answered 500 InternalError: " + noHost, "Request ID: "}},
		"failed later": {ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 3}, LaunchShortage: ocisim.LaunchFails}, oci.Capacity, 3, 1,
			[]string{"has 3 of 5 nodes", "2 nodes could not be launched: Work request LaunchInstance is FAILED", noHost}},
		"limit": {ocisim.Scenario{Limits: map[string]int{acctest.Shape: 4}}, oci.Limit, 4, 1,
			[]string{"has 4 of 5 nodes", "1 node could not be launched: OCI answered 400 LimitExceeded"}},
		"limit and a bad host": {ocisim.Scenario{Limits: map[string]int{acctest.Shape: 4}, Nodes: []ocisim.NodeFault{{Times: 1, Effect: ocisim.NodeBootFails}}}, oci.Limit, 3, 2,
			[]string{"has 3 of 5 nodes", "1 node could not be launched: OCI answered 400 LimitExceeded", "1 node could not be launched: Work request LaunchInstance"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, func(c *ocisim.Config) {
				c.Scenario = test.scenario
				if len(test.scenario.Nodes) > 0 {
					c.TimeScale = 250 // All are asked for before the bad one gives its place back.
				}
			})
			s := clusters(t, region, nil)
			operation, _, err := s.Create(t.Context(), singles(5))
			if err != nil {
				t.Fatal(err)
			}
			c, err := operation.Wait(t.Context(), nil)
			var failure *oci.FailureError
			if !errors.As(err, &failure) || failure.Ended() || oci.KindOf(err) != test.kind {
				t.Fatalf("error is %v", err)
			}
			for _, text := range test.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
			if reasons := strings.Count(err.Error(), "could not be launched"); reasons != test.reasons {
				t.Errorf("%d reasons: %v", reasons, err)
			}
			if c.Size != test.there || c.State != "RUNNING" {
				t.Errorf("%d nodes, %s", c.Size, c.State)
			}
			if err := region.SetScenario(ocisim.Scenario{}); err != nil {
				t.Fatal(err)
			}
			c = update(t, s, c, oci.Change{Want: singles(5)})
			expectNodes(t, s, c, 5)
			if got := names(t, s, c); got != "train-1 train-2 train-3 train-4 train-5" {
				t.Errorf("nodes are %s", got)
			}
			if err := s.Delete(t.Context(), c, nil); err != nil {
				t.Fatal(err)
			}
			expectNothing(t, region)
		})
	}
}

// All hosts are in use, so that a replacement finds one only when the old node has left.
// In a subnet without DNS, nodes have no host names of their own.
func TestSingleNodesWithoutDNS(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Subnets[0].DNSLabel = "" })
	s := clusters(t, region, nil)
	want := spec(2)
	want.Interconnect = oci.ComputeCluster
	expectNodes(t, s, create(t, s, want), 2)
}

func TestReplaceASingleNode(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{acctest.Shape: 3} })
	s := clusters(t, region, nil)
	c := create(t, s, singles(3))
	before, err := s.Nodes(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	c = update(t, s, c, oci.Change{Want: singles(3), Replace: []string{before[1].ID}})
	expectNodes(t, s, c, 3)
	after, err := s.Nodes(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if after[0].ID != before[0].ID || after[1].ID != before[2].ID || after[2].DisplayName != before[1].DisplayName {
		t.Errorf("before: %+v\nafter: %+v", before, after)
	}

	c = update(t, s, c, oci.Change{Want: singles(2), Remove: []string{after[0].ID}})
	expectNodes(t, s, c, 2)
	if got := names(t, s, c); strings.Contains(got, after[0].DisplayName) {
		t.Errorf("nodes are %s without %s", got, after[0].DisplayName)
	}
}

// Shrinking takes the nodes that were launched otherwise first, then the newest.
func TestShrinkTakesStaleNodesFirst(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, singles(2))
	want := singles(2)
	want.FreeformTags["stage"] = "prod" // Tags alone make no node stale.
	c = update(t, s, c, oci.Change{Want: want, Relaunch: true})
	want.Size = 3
	c = update(t, s, c, oci.Change{Want: want})
	want.Size = 2
	c = update(t, s, c, oci.Change{Want: want})
	if got := names(t, s, c); got != "train-1 train-2" {
		t.Errorf("nodes are %s; the newest should have gone", got)
	}
	want.Launch.ImageID, want.Size = acctest.OtherImageID, 3
	c = update(t, s, c, oci.Change{Want: want, Relaunch: true})
	want.Size = 1
	c = update(t, s, c, oci.Change{Want: want})
	if got := names(t, s, c); got != "train-3" {
		t.Errorf("node is %s; the stale ones should have gone", got)
	}
}

func TestTwoClustersInOneComputeCluster(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	theirs := adopted(t, s)
	wants := []oci.Spec{singles(2), singles(3)}
	var both []oci.Cluster
	for i := range wants {
		wants[i].DisplayName = []string{"a", "b"}[i]
		wants[i].Placement.ComputeClusterID = theirs
		both = append(both, create(t, s, wants[i]))
	}
	for i, c := range both {
		expectNodes(t, s, c, 2+i)
		got, err := s.Get(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != theirs+"/"+c.Token || got.Placement.ComputeClusterID != theirs || got.DisplayName != wants[i].DisplayName ||
			got.Placement.SubnetID != acctest.SubnetID || len(got.FreeformTags) != 1 || got.FreeformTags["team"] != "research" {
			t.Errorf("read back: %+v", got)
		}
	}
	if _, err := s.Get(t.Context(), theirs); err == nil || !strings.Contains(err.Error(), both[0].ID) || !strings.Contains(err.Error(), both[1].ID) {
		t.Errorf("the shared compute cluster itself: %v", err)
	}

	wants[0].DisplayName, wants[0].FreeformTags = "renamed", map[string]string{"team": "other"}
	c := update(t, s, both[0], oci.Change{Want: wants[0], Managed: oci.Tags{Freeform: map[string]string{"team": "research"}}})
	if c.DisplayName != "renamed" || c.FreeformTags["team"] != "other" {
		t.Errorf("changed: %+v", c)
	}
	expectNodes(t, s, c, 2)

	if err := s.Delete(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), c.ID); !errors.Is(err, oci.ErrGone) {
		t.Errorf("reading a deleted cluster: %v", err)
	}
	expectNodes(t, s, both[1], 3)
	if err := s.Delete(t.Context(), both[1], nil); err != nil {
		t.Fatal(err)
	}
	if stats := region.Stats(); stats.ComputeClusters != 1 || stats.Instances != 0 || stats.InstanceConfigurations != 0 {
		t.Errorf("left over: %+v", stats)
	}
	untouched, err := s.Compute.GetComputeCluster(t.Context(), core.GetComputeClusterRequest{ComputeClusterId: &theirs})
	if err != nil || *untouched.DisplayName != "theirs" || untouched.FreeformTags[oci.MarkerTag] != "" {
		t.Errorf("the adopted compute cluster: %v, error %v", untouched.ComputeCluster, err)
	}
}

func TestForeignComputeCluster(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	theirs := adopted(t, s)
	if _, err := s.Get(t.Context(), theirs); err == nil || !strings.Contains(err.Error(), oci.MarkerTag) {
		t.Errorf("error is %v", err)
	}
	want := singles(1)
	want.Placement.ComputeClusterID = "ocid1.computecluster.oc1.us-lab-1.nowhere"
	if _, _, err := s.Create(t.Context(), want); oci.KindOf(err) != oci.NotFound {
		t.Errorf("error is %v", err)
	}
	if stats := region.Stats(); stats.InstanceConfigurations != 0 {
		t.Errorf("left over: %+v", stats)
	}
}

// Killed while nodes are launched: the next process finds what is there and launches the rest.
func TestInterruptedLaunchesAreContinued(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var launches atomic.Int32
	s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/actions/launch") && launches.Add(1) == 4 {
				cancel()
			}
			return next.Do(r)
		})
	})
	operation, c, err := s.Create(ctx, singles(30))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operation.Wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	if there := region.Stats().Instances; there < 4 || there >= 30 {
		t.Fatalf("%d instances: the test needs some", there)
	}
	c = update(t, s, c, oci.Change{Want: singles(30)})
	expectNodes(t, s, c, 30)
	if stats := region.Stats(); stats.Instances != 30 || stats.ComputeClusters != 1 {
		t.Errorf("there are %+v", stats)
	}
}

// Killed while nodes are terminated: the next deletion goes on with it.
func TestInterruptedDeletionIsContinued(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		region := acctest.StartRegion(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
			return dispatch(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodDelete {
					cancel()
				}
				return next.Do(r)
			})
		})
		want := singles(3)
		if shared {
			want.Placement.ComputeClusterID = adopted(t, s)
		}
		c := create(t, s, want)
		if err := s.Delete(ctx, c, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		if err := s.Delete(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
		if stats := region.Stats(); stats.Instances+stats.InstanceConfigurations != 0 || stats.ComputeClusters == 1 != shared {
			t.Errorf("left over: %+v", stats)
		}
	}
}

// Somebody deletes the configuration, which OCI does not refuse. The next update makes another; the nodes
// are not stale for that.
func TestLostConfigurationIsMadeAgain(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, singles(1))
	if _, err := s.ComputeManagement.DeleteInstanceConfiguration(t.Context(), core.DeleteInstanceConfigurationRequest{
		InstanceConfigurationId: &c.ConfigurationID,
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), c.ID); err != nil || got.ConfigurationID != "" || got.Size != 1 {
		t.Fatalf("read back %+v, error %v", got, err)
	}
	c = update(t, s, c, oci.Change{Want: singles(2)})
	expectNodes(t, s, c, 2)
	nodes, err := s.Nodes(t.Context(), c)
	if err != nil || nodes[0].Stale || nodes[1].Stale {
		t.Errorf("nodes %+v, error %v", nodes, err)
	}
}

// Answers get lost, and nothing is launched twice.
func TestSingleNodesWithAFaultyService(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, everyOther(lost))
	c := create(t, s, singles(4))
	if stats := region.Stats(); stats.InstanceConfigurations != 1 || stats.ComputeClusters != 1 || stats.Instances != 4 {
		t.Errorf("created: %+v", stats)
	}
	if err := s.Delete(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	expectNothing(t, region)
}

// Reads and lists lag behind, and no node is launched or terminated for that.
func TestSingleNodesWithStaleReads(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, func(c *ocisim.Config) { c.StaleReads = ocisim.StaleReads{AfterCreate: 3, AfterChange: 3} })
	s := clusters(t, region, nil)
	c := create(t, s, singles(3))
	for _, size := range []int{5, 2} {
		c = update(t, s, c, oci.Change{Want: singles(size)})
		if launched := region.Stats().Operations["LaunchInstanceConfiguration"]; launched != 5 {
			t.Errorf("%d launches for 5 nodes", launched)
		}
		if nodes := ids(t, s, c); len(nodes) != size || region.Stats().Instances != size {
			t.Errorf("%d nodes, want %d; there are %+v", len(nodes), size, region.Stats())
		}
	}
	if ended := region.Stats().Operations["TerminateInstance"]; ended != 3 {
		t.Errorf("%d terminations for 3 nodes", ended)
	}
	if err := s.Delete(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	expectNothing(t, region)
}

// What a refresh costs grows with pages, not with nodes.
func TestSingleNodesCostFewCalls(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, singles(40))
	before := region.Stats().Requests
	c, err := s.Get(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := s.Nodes(t.Context(), c)
	if err != nil || len(nodes) != 40 {
		t.Fatalf("%d nodes, error %v", len(nodes), err)
	}
	if calls := region.Stats().Requests - before; calls != 7 {
		t.Errorf("%d calls for 40 nodes, want 7: cluster, configurations, launch, and instances twice, VNICs, addresses", calls)
	}
}
