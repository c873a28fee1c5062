// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// shortages are all the forms in which OCI says that hosts are missing, for a cluster of two where there
// is only one.
var shortages = map[string]struct {
	interconnect oci.Interconnect
	scenario     ocisim.Scenario
	kind         oci.Kind
	text         string
	ended        bool
}{
	"reservation": {oci.ClusterNetwork, one(ocisim.Scenario{}), oci.Capacity, "Insufficient capacity for cluster network", true},
	"reservation, in the errors only": {oci.ClusterNetwork, one(ocisim.Scenario{ReservationShortage: ocisim.ReservationErrors}),
		oci.Capacity, "error OutOfCapacity: Insufficient capacity", true},
	"reservation, in the log only": {oci.ClusterNetwork, one(ocisim.Scenario{ReservationShortage: ocisim.ReservationLogs}),
		oci.Capacity, "log: Insufficient capacity", true},
	"launches after the reservation": {oci.ClusterNetwork, one(ocisim.Scenario{ReservationShortage: ocisim.ReservationUnnoticed}),
		oci.Capacity, "LaunchInstancesInPool is IN_PROGRESS", false},
	"pool that waits for hosts": {oci.NoInterconnect, one(ocisim.Scenario{}), oci.Capacity, "Out of host capacity.", false},
	"pool that runs with what it got": {oci.NoInterconnect, one(ocisim.Scenario{Shortage: ocisim.ShortageRunsShort}),
		oci.Capacity, "Out of host capacity.", false},
	"pool that is terminated by itself": {oci.NoInterconnect, one(ocisim.Scenario{Shortage: ocisim.ShortageTerminates}),
		oci.Capacity, "Out of host capacity.", true},
	"service limit": {oci.NoInterconnect, ocisim.Scenario{Limits: map[string]int{acctest.Shape: 1}}, oci.Limit, "error LimitExceeded", false},
	"quota":         {oci.NoInterconnect, ocisim.Scenario{Quotas: map[string]int{acctest.Shape: 1}}, oci.Limit, "error QuotaExceeded", false},
}

// one gives a scenario in which there is one host.
func one(s ocisim.Scenario) ocisim.Scenario {
	s.Capacity = map[string]int{acctest.Shape: 1}
	return s
}

func TestCapacityFailureSaysWhy(t *testing.T) {
	t.Parallel()
	for name, test := range shortages {
		for _, pages := range []string{"", ", after empty pages"} {
			t.Run(name+pages, func(t *testing.T) {
				t.Parallel()
				region := acctest.StartRegion(t, func(c *ocisim.Config) {
					c.Scenario = test.scenario
					c.EmptyPages = pages != ""
				})
				s := clusters(t, region, nil)
				want := spec(2)
				want.Interconnect = test.interconnect
				operation, _, err := s.Create(t.Context(), want)
				if err != nil {
					t.Fatal(err)
				}
				last, err := operation.Wait(t.Context(), nil)
				expectFailure(t, err, test.kind, test.text)
				var failure *oci.FailureError
				if !errors.As(err, &failure) || failure.Ended() != test.ended || failure.Accepted.RequestID == "" || !strings.Contains(err.Error(), failure.Accepted.RequestID) {
					t.Errorf("ended: %v, accepted %+v; %v", failure.Ended(), failure.Accepted, err)
				}
				if named := failure.Accepted.WorkRequestID != ""; named != (test.interconnect == oci.ClusterNetwork) {
					t.Errorf("work request of the create: %+v", failure.Accepted)
				}
				if err := s.Delete(t.Context(), last, nil); err != nil {
					t.Fatal(err)
				}
				expectNothing(t, region)
			})
		}
	}
}

// Work requests that may not be seen hide the reason of a failure, and nothing else.
func TestWorkRequestsThatMayNotBeSeen(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"ListWorkRequests", "ListWorkRequestErrors", "ListWorkRequestLogs"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, func(c *ocisim.Config) {
				c.Scenario = ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 3}, Shortage: ocisim.ShortageRunsShort,
					Faults: []ocisim.Fault{{Operation: operation, Effect: ocisim.EffectNotFound}}}
			})
			s := clusters(t, region, nil)
			want := spec(2)
			c := create(t, s, want)
			want.Size = 3
			expectNodes(t, s, update(t, s, c, oci.Change{Want: want}), 3)
			want.Size = 4
			growing, err := s.Update(t.Context(), c.ID, oci.Change{Want: want})
			if err != nil {
				t.Fatal(err)
			}
			_, err = growing.Wait(t.Context(), nil)
			expectFailure(t, err, oci.Other, "has 3 of 4 nodes, and OCI launches no more.\n\nWhy cannot be said: ")
		})
	}
}

func expectFailure(t *testing.T, err error, kind oci.Kind, text string) {
	t.Helper()
	var failure *oci.FailureError
	if !errors.As(err, &failure) {
		t.Fatalf("error is %v", err)
	}
	if oci.KindOf(err) != kind || !strings.Contains(oci.Explain(err).String(), text) {
		t.Errorf("kind %d: %v", oci.KindOf(err), err)
	}
}

// A cluster that grows goes on with what it has, and says why that is less.
func TestGrowthWithoutCapacity(t *testing.T) {
	t.Parallel()
	for name, shortage := range map[string]ocisim.Shortage{
		"waits": ocisim.ShortageWaits, "runs short": ocisim.ShortageRunsShort, "terminates": ocisim.ShortageTerminates,
	} {
		for _, interconnect := range interconnects {
			if interconnect == oci.ComputeCluster && shortage != ocisim.ShortageWaits {
				continue // A shortage of pools.
			}
			t.Run(name+"/"+string(interconnect), func(t *testing.T) {
				t.Parallel()
				region := acctest.StartRegion(t, func(c *ocisim.Config) {
					c.Scenario = ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 3}, Shortage: shortage}
				})
				s := clusters(t, region, nil)
				want := spec(2)
				want.Interconnect = interconnect
				c := create(t, s, want)
				want.Size = 5
				operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want})
				if err != nil {
					t.Fatal(err)
				}
				last, err := operation.Wait(t.Context(), nil)
				expectFailure(t, err, oci.Capacity, "has 3 of 5 nodes")
				if last.CurrentSize != 3 {
					t.Errorf("there are %d nodes", last.CurrentSize)
				}
				region.SetCapacity(acctest.Shape, 5)
				expectNodes(t, s, update(t, s, c, oci.Change{Want: want}), 5)
			})
		}
	}
}

// While a work request still runs, its log alone may say that nodes will not come.
func TestReasonInTheLogOfAnUnfinishedWorkRequest(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Scenario = one(ocisim.Scenario{}) })
	s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			response, err := next.Do(r)
			if err == nil && strings.HasSuffix(r.URL.Path, "/errors") {
				err = response.Body.Close()
				response.Body = io.NopCloser(strings.NewReader("[]"))
			}
			return response, err
		})
	})
	want := spec(2)
	want.Interconnect = oci.NoInterconnect
	operation, _, err := s.Create(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	_, err = operation.Wait(t.Context(), nil)
	expectFailure(t, err, oci.Capacity, "log: Out of host capacity.")
}

// That an earlier operation lacked hosts says nothing about one that follows, also when an interrupt has left that
// to be carried on with.
func TestFormerShortageIsNoReasonToStop(t *testing.T) {
	t.Parallel()
	for name, interrupted := range map[string]bool{"at once": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			growAfterShortage(t, interrupted)
		})
	}
}

func growAfterShortage(t *testing.T, interrupted bool) {
	t.Helper()
	var gate acctest.Gate
	region := acctest.StartRegion(t, func(c *ocisim.Config) {
		c.Hosts, c.Scenario = &gate, one(ocisim.Scenario{Shortage: ocisim.ShortageRunsShort})
	})
	s := clusters(t, region, nil)
	s.Grace = 100 * time.Millisecond
	want := spec(1)
	want.Interconnect = oci.NoInterconnect
	c := create(t, s, want)
	want.Size = 2
	grow := func() *oci.Operation {
		operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want})
		if err != nil {
			t.Fatal(err)
		}
		return operation
	}
	_, err := grow().Wait(t.Context(), nil)
	expectFailure(t, err, oci.Capacity, "has 1 of 2 nodes")

	region.SetCapacity(acctest.Shape, 2)
	gate.Close()
	growing := grow()
	if interrupted {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := growing.Wait(ctx, func(p oci.Progress) {
			if p.Cluster.State == string(core.InstancePoolLifecycleStateScaling) {
				cancel()
			}
		})
		if oci.KindOf(err) != oci.Interrupted {
			t.Fatal(err)
		}
		growing = grow()
	}
	before := region.Stats().Operations["ListWorkRequests"]
	go func() {
		// So many looks at the unchanged cluster take longer than the grace.
		for region.Stats().Operations["ListWorkRequests"] < before+40 {
			time.Sleep(time.Millisecond)
		}
		gate.Open()
	}()
	expectNodes(t, s, wait(t, growing), 2)
}
