// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// clusters gives the clusters of a region, at the region's speed. Meddle, if any, sits between the SDK
// and the network.
func clusters(t *testing.T, region *acctest.Region, meddle func(common.HTTPRequestDispatcher) common.HTTPRequestDispatcher) *oci.Clusters {
	t.Helper()
	clients, err := oci.NewClients(region.Config())
	if err != nil {
		t.Fatal(err)
	}
	clients.Retry = oci.Retry{Attempts: 8, First: time.Millisecond, Max: 10 * time.Millisecond}
	if meddle != nil {
		for _, base := range []*common.BaseClient{
			&clients.ComputeManagement.BaseClient, &clients.Compute.BaseClient,
			&clients.VirtualNetwork.BaseClient, &clients.WorkRequest.BaseClient,
		} {
			base.HTTPClient = meddle(base.HTTPClient)
		}
	}
	c := oci.NewClusters(clients)
	c.Waiter = oci.Waiter{First: 5 * time.Millisecond, Max: 20 * time.Millisecond, Faults: 4}
	c.Grace = time.Second
	return c
}

func spec(size int) oci.Spec {
	return oci.Spec{
		CompartmentID: acctest.CompartmentID,
		DisplayName:   "train",
		Interconnect:  oci.ClusterNetwork,
		Size:          size,
		Placement:     oci.Placement{AvailabilityDomain: acctest.AvailabilityDomain, SubnetID: acctest.SubnetID},
		Launch:        oci.Launch{Shape: acctest.Shape, ImageID: acctest.ImageID, SSHAuthorizedKeys: "ssh-ed25519 AAAA", UserData: "I2Nsb3VkLWNvbmZpZwo="},
		FreeformTags:  map[string]string{"team": "research"},
	}
}

// create makes a complete cluster.
func create(t *testing.T, s *oci.Clusters, want oci.Spec) oci.Cluster {
	t.Helper()
	operation, _, err := s.Create(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	return wait(t, operation)
}

func wait(t *testing.T, operation *oci.Operation) oci.Cluster {
	t.Helper()
	c, err := operation.Wait(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := operation.CleanUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func expectNothing(t *testing.T, region *acctest.Region) {
	t.Helper()
	if s := region.Stats(); s.InstanceConfigurations+s.ClusterNetworks+s.ComputeClusters+s.InstancePools+s.Instances != 0 {
		t.Errorf("left over: %+v", s)
	}
}

func TestLifeCycle(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, nil)
			want := spec(2)
			want.Interconnect = interconnect
			c := create(t, s, want)
			expectNodes(t, s, c, 2)

			got, err := s.Get(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got.Launch.UserData != want.Launch.UserData || got.FreeformTags["team"] != "research" || got.FreeformTags[oci.MarkerTag] != "" || got.Interconnect != interconnect {
				t.Errorf("read back: %+v", got)
			}

			for _, size := range []int{5, 1} {
				want.Size = size
				operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want})
				if err != nil {
					t.Fatal(err)
				}
				c = wait(t, operation)
				expectNodes(t, s, c, size)
			}

			before := c.ConfigurationID
			want.Launch.ImageID, want.DisplayName = acctest.OtherImageID, "renamed"
			operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want, Relaunch: true})
			if err != nil {
				t.Fatal(err)
			}
			if c = wait(t, operation); c.ConfigurationID == before || c.DisplayName != "renamed" {
				t.Errorf("not relaunched or renamed: %+v", c)
			}
			if stats := region.Stats(); stats.InstanceConfigurations != 1 {
				t.Errorf("%d instance configurations", stats.InstanceConfigurations)
			}

			if err := s.Delete(t.Context(), c, nil); err != nil {
				t.Fatal(err)
			}
			expectNothing(t, region)
			if _, err := s.Get(t.Context(), c.ID); !errors.Is(err, oci.ErrGone) {
				t.Errorf("reading a deleted cluster: %v", err)
			}
			if err := s.Delete(t.Context(), c, nil); err != nil {
				t.Errorf("deleting again: %v", err)
			}
			if unknown := region.Stats().Unknown; len(unknown) != 0 {
				t.Errorf("requests that the region does not know: %v", unknown)
			}
		})
	}
}

func expectNodes(t *testing.T, s *oci.Clusters, c oci.Cluster, count int) {
	t.Helper()
	nodes, err := s.Nodes(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes) != count || c.CurrentSize != count || !c.Complete() {
		t.Errorf("%d nodes, current size %d, state %s; want %d", len(nodes), c.CurrentSize, c.State, count)
	}
	addresses := map[string]bool{}
	for _, n := range nodes {
		addresses[n.PrivateIP] = true
		if n.State != "RUNNING" || n.Hostname != n.DisplayName || n.PrivateIP == "" || n.FaultDomain == "" {
			t.Errorf("node %+v", n)
		}
	}
	if len(addresses) != count {
		t.Errorf("%d different addresses for %d nodes", len(addresses), count)
	}
}

// A cluster that cannot get all its nodes can still be made as small as it is.
func TestShrinkWhatCannotGrow(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{acctest.Shape: 2} })
	s := clusters(t, region, nil)
	want := spec(1)
	want.Interconnect = oci.NoInterconnect
	c := create(t, s, want)

	want.Size = 4
	operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operation.Wait(t.Context(), nil); oci.KindOf(err) != oci.Capacity {
		t.Fatalf("error is %v", err)
	}
	region.SetCapacity(acctest.Shape, 4)
	operation, err = s.Update(t.Context(), c.ID, oci.Change{Want: want})
	if err != nil {
		t.Fatal(err)
	}
	expectNodes(t, s, wait(t, operation), 4)
}

func TestRefusedCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	want := spec(2)
	want.Placement.AvailabilityDomain = "Lab1:NOWHERE-AD-1"
	_, c, err := s.Create(t.Context(), want)
	if service := oci.Explain(err); err == nil || service.Status/100 != 4 || service.RequestID == "" {
		t.Errorf("error is %v", err)
	}
	if c.ConfigurationID != "" {
		t.Errorf("to be recorded: %+v", c)
	}
	expectNothing(t, region)
}

// dispatch is a dispatcher in the form of a function.
type dispatch func(*http.Request) (*http.Response, error)

func (d dispatch) Do(r *http.Request) (*http.Response, error) { return d(r) }

// everyOther answers every other request itself.
func everyOther(answer func(*http.Request, common.HTTPRequestDispatcher) (*http.Response, error)) func(common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
	var count atomic.Int64
	return func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			if count.Add(1)%2 == 1 {
				return answer(r, next)
			}
			return next.Do(r)
		})
	}
}

// fault is an answer of the service that has nothing to do with the request.
func fault(status int, code string) func(*http.Request, common.HTTPRequestDispatcher) (*http.Response, error) {
	return func(r *http.Request, _ common.HTTPRequestDispatcher) (*http.Response, error) {
		body := fmt.Sprintf(`{"code": %q, "message": "a fault"}`, code)
		return &http.Response{StatusCode: status, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// lost passes a request on and loses the answer.
func lost(r *http.Request, next common.HTTPRequestDispatcher) (*http.Response, error) {
	response, err := next.Do(r)
	if err != nil {
		return nil, err
	}
	return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: errors.Join(io.ErrUnexpectedEOF, response.Body.Close())}
}

// Requests whose answers get lost are sent again, and nothing is created twice.
func TestFaultyService(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*http.Request, common.HTTPRequestDispatcher) (*http.Response, error){
		"throttling":      fault(http.StatusTooManyRequests, "TooManyRequests"),
		"internal errors": fault(http.StatusInternalServerError, "InternalServerError"),
		"lost answers":    lost,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, everyOther(answer))
			c := create(t, s, spec(2))
			if stats := region.Stats(); stats.InstanceConfigurations != 1 || stats.ClusterNetworks != 1 || stats.Instances != 2 {
				t.Errorf("created: %+v", stats)
			}
			expectNodes(t, s, c, 2)
			if err := s.Delete(t.Context(), c, nil); err != nil {
				t.Fatal(err)
			}
			expectNothing(t, region)
		})
	}
}

func TestInterruptBetweenTheStepsLeavesNothing(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			response, err := next.Do(r)
			if strings.HasSuffix(r.URL.Path, "/instanceConfigurations") {
				cancel() // The user interrupts while the configuration is being made.
			}
			return response, err
		})
	})
	if _, _, err := s.Create(ctx, spec(2)); oci.KindOf(err) != oci.Interrupted {
		t.Errorf("error is %v", err)
	}
	expectNothing(t, region)
}

// The answer to the create gets lost just when the user interrupts: the cluster is found by its token.
func TestInterruptAndLostAnswerLoseNoCluster(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/clusterNetworks") {
				cancel()
				return lost(r, next)
			}
			return next.Do(r)
		})
	})
	_, c, err := s.Create(ctx, spec(2))
	if err != nil || c.ID == "" {
		t.Fatalf("cluster %+v, error %v", c, err)
	}
	if err := s.Delete(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	expectNothing(t, region)
}

func TestInterruptedWaitIsContinued(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	ctx, cancel := context.WithCancel(t.Context())
	operation, c, err := s.Create(ctx, spec(3))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := operation.Wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	operation, err = s.Update(t.Context(), c.ID, oci.Change{Want: spec(3)})
	if err != nil {
		t.Fatal(err)
	}
	expectNodes(t, s, wait(t, operation), 3)
	if stats := region.Stats(); stats.Instances != 3 || stats.ClusterNetworks != 1 {
		t.Errorf("there are %+v", stats)
	}
}

// After an interrupt between two steps of a relaunch there is one configuration too many. The next
// update or the deletion finds it by its tag.
func TestLeftoverConfigurationIsFound(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, spec(1))
	want := spec(1)
	want.Launch.ImageID = acctest.OtherImageID
	operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want, Relaunch: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operation.Wait(t.Context(), nil); err != nil { // and killed before CleanUp
		t.Fatal(err)
	}
	if stats := region.Stats(); stats.InstanceConfigurations != 2 {
		t.Fatalf("%d instance configurations; the test needs 2", stats.InstanceConfigurations)
	}
	if err := s.Delete(t.Context(), oci.Cluster{ID: c.ID, Spec: oci.Spec{CompartmentID: c.CompartmentID}}, nil); err != nil {
		t.Fatal(err)
	}
	expectNothing(t, region)
}

func TestOnlyTheUsersTagsChange(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	first := spec(1)
	first.FreeformTags = map[string]string{"team": "research", "by": "others"}
	c := create(t, s, first)

	want := spec(1)
	want.FreeformTags = map[string]string{"stage": "prod"}
	operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want, Managed: oci.Tags{Freeform: map[string]string{"team": "research"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := wait(t, operation)
	if fmt.Sprint(got.FreeformTags) != "map[by:others stage:prod]" || got.Token != c.Token {
		t.Errorf("tags are %v, token %q", got.FreeformTags, got.Token)
	}
}

// The calls for the addresses of nodes grow with pages, not with nodes.
func TestNodesCostFewCalls(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, spec(40))
	before := region.Stats().Requests
	nodes, err := s.Nodes(t.Context(), c)
	if err != nil || len(nodes) != 40 {
		t.Fatalf("%d nodes, error %v", len(nodes), err)
	}
	if calls := region.Stats().Requests - before; calls != 3 {
		t.Errorf("%d calls for 40 nodes, want 3", calls)
	}
}
