// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// ids of a cluster's nodes, oldest first.
func ids(t *testing.T, s *oci.Clusters, c oci.Cluster) []string {
	t.Helper()
	nodes, err := s.Nodes(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// update changes a cluster and waits until it is done.
func update(t *testing.T, s *oci.Clusters, c oci.Cluster, change oci.Change) oci.Cluster {
	t.Helper()
	operation, err := s.Update(t.Context(), c.ID, change)
	if err != nil {
		t.Fatal(err)
	}
	return wait(t, operation)
}

// interconnects that can be tested alike.
var interconnects = []oci.Interconnect{oci.ClusterNetwork, oci.ComputeCluster, oci.NoInterconnect}

// stopNode stops a node, as somebody does who has found it broken.
func stopNode(t *testing.T, s *oci.Clusters, id string) {
	t.Helper()
	_, err := s.Compute.InstanceAction(t.Context(), core.InstanceActionRequest{InstanceId: &id, Action: core.InstanceActionActionStop})
	if err != nil {
		t.Fatal(err)
	}
	acctest.Eventually(t, "the node is stopped", func() bool {
		response, err := s.Compute.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: &id})
		return err == nil && response.LifecycleState == core.InstanceLifecycleStateStopped
	})
}

// That a node is stopped is a reason to replace or remove it, and no hindrance.
func TestStoppedNodesGo(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, nil)
			want := spec(3)
			want.Interconnect = interconnect
			c := create(t, s, want)
			before := ids(t, s, c)

			stopNode(t, s, before[1])
			c = update(t, s, c, oci.Change{Want: want, Replace: before[1:2]})
			expectNodes(t, s, c, 3)
			now := ids(t, s, c)
			if slices.Contains(now, before[1]) || !slices.Contains(now, before[0]) || !slices.Contains(now, before[2]) {
				t.Errorf("the second of %v was to be replaced; now there are %v", before, now)
			}

			stopNode(t, s, now[2])
			want.Size = 2
			c = update(t, s, c, oci.Change{Want: want, Remove: now[2:]})
			expectNodes(t, s, c, 2)
			if left := ids(t, s, c); !slices.Equal(left, now[:2]) {
				t.Errorf("the last of %v was to go; now there are %v", now, left)
			}
		})
	}
}

func TestChosenNodesGo(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, nil)
			want := spec(6)
			want.Interconnect = interconnect
			c := create(t, s, want)
			before := ids(t, s, c)

			// Two are named, a third is OCI's choice, and one has gone long ago.
			want.Size = 3
			chosen := []string{before[2], before[5], "ocid1.instance.oc1.us-lab-1.gone"}
			c = update(t, s, c, oci.Change{Want: want, Remove: chosen})
			left := ids(t, s, c)
			expectNodes(t, s, c, 3)
			for _, id := range left {
				if slices.Contains(chosen, id) || !slices.Contains(before, id) {
					t.Errorf("%s is left; it should have gone, or is new", id)
				}
			}

			// The size stays; all but the named ones stay, too.
			c = update(t, s, c, oci.Change{Want: want, Replace: []string{left[0], left[2], before[2]}})
			expectNodes(t, s, c, 3)
			now := ids(t, s, c)
			if slices.Contains(now, left[0]) || slices.Contains(now, left[2]) || !slices.Contains(now, left[1]) {
				t.Errorf("of %v the first and the last were to be replaced; now there are %v", left, now)
			}
			// What is done needs no further request.
			update(t, s, c, oci.Change{Want: want, Remove: chosen, Replace: left[:1]})
			if again := ids(t, s, c); !slices.Equal(again, now) {
				t.Errorf("replaced once more: %v, then %v", now, again)
			}

			// All at once: another launch, fewer nodes, a chosen one among them, and another replaced.
			want.Size, want.Launch.ImageID, want.DisplayName = 2, acctest.OtherImageID, "renamed"
			c = update(t, s, c, oci.Change{Want: want, Relaunch: true, Remove: now[1:2], Replace: now[:1]})
			expectNodes(t, s, c, 2)
			nodes, err := s.Nodes(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if nodes[0].ID != now[2] || nodes[1].ConfigurationID != c.ConfigurationID || c.DisplayName != "renamed" {
				t.Errorf("of %v: %+v", now, nodes)
			}
			if stats := region.Stats(); stats.Instances != 2 || stats.InstanceConfigurations != 1 {
				t.Errorf("there are %+v", stats)
			}
		})
	}
}

func TestRemovalOfTooManyIsRefused(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, spec(3))
	before := ids(t, s, c)
	for _, size := range []int{2, 3, 4} {
		want := spec(size)
		want.Launch.ImageID = acctest.OtherImageID
		var refused *oci.RemovalError
		_, err := s.Update(t.Context(), c.ID, oci.Change{Want: want, Relaunch: true, Remove: before[:2]})
		if !errors.As(err, &refused) || refused.Named != 2 || refused.Fewer != 3-size {
			t.Errorf("to %d: %v", size, err)
		}
	}
	if after := ids(t, s, c); !slices.Equal(before, after) || region.Stats().InstanceConfigurations != 1 {
		t.Errorf("something was done: %v, then %v, %+v", before, after, region.Stats())
	}
}

// An interrupt after the first of several nodes: the next update goes on with the others.
func TestInterruptedRemovalIsContinued(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	var interrupt context.CancelFunc
	s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			response, err := next.Do(r)
			if strings.HasSuffix(r.URL.Path, "/detachInstance") && interrupt != nil {
				interrupt()
			}
			return response, err
		})
	})
	c := create(t, s, spec(5))
	before := ids(t, s, c)
	ctx, cancel := context.WithCancel(t.Context())
	interrupt = cancel
	change := oci.Change{Want: spec(3), Remove: before[:2], Replace: before[3:4]}
	operation, err := s.Update(ctx, c.ID, change)
	if err == nil {
		_, err = operation.Wait(ctx, nil)
	}
	if oci.KindOf(err) != oci.Interrupted {
		t.Fatalf("error is %v", err)
	}
	interrupt = nil
	c = update(t, s, c, change)
	expectNodes(t, s, c, 3)
	if after := ids(t, s, c); after[0] != before[2] || after[1] != before[4] || slices.Contains(after, before[3]) {
		t.Errorf("of %v there are left %v", before, after)
	}
}
