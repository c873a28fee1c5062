// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
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

// expectOrphan creates a cluster that is there already, and gives it as imported by what the error names.
func expectOrphan(t *testing.T, region *acctest.Region, s *oci.Clusters, want oci.Spec) oci.Cluster {
	t.Helper()
	before := region.Stats()
	_, c, err := s.Create(t.Context(), want)
	var orphan *oci.OrphanError
	if !errors.As(err, &orphan) || c.ID != "" {
		t.Fatalf("error is %v, cluster %+v", err, c)
	}
	if orphan.Interconnect != want.Interconnect || orphan.DisplayName != want.DisplayName || orphan.State == "" || orphan.TimeCreated.IsZero() ||
		!strings.Contains(err.Error(), orphan.ID) {
		t.Errorf("orphan: %+v", orphan)
	}
	after := region.Stats()
	if after.InstanceConfigurations != before.InstanceConfigurations || after.ClusterNetworks+after.ComputeClusters+after.InstancePools != before.ClusterNetworks+before.ComputeClusters+before.InstancePools {
		t.Errorf("something was created or deleted: %+v, then %+v", before, after)
	}
	c, err = s.Get(t.Context(), orphan.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A process is killed right after it has made a cluster. The next create finds it, and changes nothing;
// its import leads to the wanted cluster.
func TestOrphanIsFound(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, nil)
			want := spec(2)
			want.Interconnect = interconnect
			if _, _, err := s.Create(t.Context(), want); err != nil { // and nobody waits for it
				t.Fatal(err)
			}
			c := expectOrphan(t, region, s, want)
			c = update(t, s, c, oci.Change{Want: want})
			expectNodes(t, s, c, 2)

			other := want
			other.DisplayName = "another"
			create(t, s, other)
			expectNodes(t, s, c, 2)
			if err := s.Delete(t.Context(), c, nil); err != nil {
				t.Fatal(err)
			}
			create(t, s, want) // The name is free again.
		})
	}
}

// Lists may show for a while what is gone already: that is no orphan.
func TestWhatIsGoneIsNoOrphan(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			late := strings.NewReplacer(`"lifecycleState":"TERMINATED"`, `"lifecycleState":"RUNNING"`, `"lifecycleState":"DELETED"`, `"lifecycleState":"ACTIVE"`)
			s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
				return dispatch(func(r *http.Request) (*http.Response, error) {
					response, err := next.Do(r)
					list := strings.HasSuffix(r.URL.Path, "/clusterNetworks") || strings.HasSuffix(r.URL.Path, "/instancePools") || strings.HasSuffix(r.URL.Path, "/computeClusters")
					if err != nil || r.Method != http.MethodGet || !list {
						return response, err
					}
					body, err := io.ReadAll(response.Body)
					response.Body = io.NopCloser(strings.NewReader(late.Replace(string(body))))
					return response, err
				})
			})
			want := spec(1)
			want.Interconnect = interconnect
			if err := s.Delete(t.Context(), create(t, s, want), nil); err != nil {
				t.Fatal(err)
			}
			expectNodes(t, s, create(t, s, want), 1)
		})
	}
}

func TestOrphanInAnAdoptedComputeCluster(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	want := singles(2)
	want.Placement.ComputeClusterID = adopted(t, s)

	// Killed before a node was launched: only a configuration is left, and swept away.
	if _, _, err := s.Create(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	c := create(t, s, want)
	if stats := region.Stats(); stats.InstanceConfigurations != 1 {
		t.Errorf("%d configurations", stats.InstanceConfigurations)
	}
	// Killed after that.
	if got := expectOrphan(t, region, s, want); got.ID != c.ID {
		t.Errorf("found %s, not %s", got.ID, c.ID)
	}
}

// Killed between configuration and cluster: the next create takes the configuration away, and no other.
func TestLeftoverConfigurationsAreSwept(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	killed := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/clusterNetworks") || r.Method == http.MethodDelete {
				return fault(http.StatusBadRequest, "InvalidParameter")(r, next)
			}
			return next.Do(r)
		})
	})
	if _, left, err := killed.Create(t.Context(), spec(1)); err == nil || left.ConfigurationID == "" {
		t.Fatalf("left is %+v, error %v", left, err)
	}
	// These were renamed after they had been made, so their configurations have the name that is looked for.
	for _, interconnect := range interconnects {
		want := spec(1)
		want.Interconnect = interconnect
		c := create(t, s, want)
		want.DisplayName = "renamed " + string(interconnect)
		update(t, s, c, oci.Change{Want: want})
	}
	if stats := region.Stats(); stats.InstanceConfigurations != 3 {
		t.Errorf("%d instance configurations, want 3", stats.InstanceConfigurations)
	}
	create(t, s, spec(1))
	if stats := region.Stats(); stats.InstanceConfigurations != 4 {
		t.Errorf("%d instance configurations, want 4", stats.InstanceConfigurations)
	}
}

// Two creates of one name at the same time: the later one does not take the other's configuration away
// before its cluster shows, and then tells of that.
func TestCreateThatIsUnderWayIsNoLeftover(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			want := spec(1)
			want.Interconnect = interconnect
			looks, errs := make(chan struct{}, 100), make(chan error, 1)
			later := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
				return dispatch(func(r *http.Request) (*http.Response, error) {
					response, err := next.Do(r)
					if r.Method == http.MethodGet && strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/instances") {
						looks <- struct{}{} // at the nodes, having seen the configuration alone
					}
					return response, err
				})
			})
			later.Grace = time.Minute
			earlier := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
				return dispatch(func(r *http.Request) (*http.Response, error) {
					group := strings.HasSuffix(r.URL.Path, "/clusterNetworks") || strings.HasSuffix(r.URL.Path, "/computeClusters") || strings.HasSuffix(r.URL.Path, "/instancePools")
					if r.Method == http.MethodPost && group {
						go func() {
							_, _, err := later.Create(t.Context(), want)
							errs <- err
						}()
						for range 2 {
							select {
							case <-looks:
							case err := <-errs: // It looks no more.
								errs <- err
							}
						}
					}
					return next.Do(r)
				})
			})
			create(t, earlier, want)
			var orphan *oci.OrphanError
			if err := <-errs; !errors.As(err, &orphan) {
				t.Errorf("the later create gives %v", err)
			}
			if stats := region.Stats(); stats.InstanceConfigurations != 1 || stats.Instances != 1 {
				t.Errorf("there are %+v", stats)
			}
		})
	}
}

// A compute cluster without nodes does not protect its configuration. It has another name than that.
func TestConfigurationOfAnEmptyComputeClusterStays(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Capacity = map[string]int{acctest.Shape: 0} })
	s := clusters(t, region, nil)
	operation, c, err := s.Create(t.Context(), singles(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operation.Wait(t.Context(), nil); oci.KindOf(err) != oci.Capacity {
		t.Fatalf("error is %v", err)
	}
	want := singles(1)
	want.DisplayName = "renamed"
	if _, err := s.Update(t.Context(), c.ID, oci.Change{Want: want}); err != nil {
		t.Fatal(err)
	}
	region.SetCapacity(acctest.Shape, 2)
	create(t, s, spec(1))
	expectNodes(t, s, update(t, s, c, oci.Change{Want: want}), 1)
}

func TestWhatOthersMadeIsNoOrphan(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	if _, err := s.Compute.CreateComputeCluster(t.Context(), core.CreateComputeClusterRequest{
		CreateComputeClusterDetails: core.CreateComputeClusterDetails{
			CompartmentId: common.String(acctest.CompartmentID), AvailabilityDomain: common.String(acctest.AvailabilityDomain),
			DisplayName: common.String("train"),
		},
	}); err != nil {
		t.Fatal(err)
	}
	create(t, s, singles(1))
}

// A user who may not see clusters of one kind can make those of another.
func TestOrphansThatMayNotBeSeen(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/computeClusters") {
				return fault(http.StatusNotFound, "NotAuthorizedOrNotFound")(r, next)
			}
			return next.Do(r)
		})
	})
	create(t, s, spec(1))
}

// The pool of a cluster network is changed by way of that.
func TestPoolOfAClusterNetworkIsRefused(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, spec(1))
	if _, err := s.Get(t.Context(), c.PoolID); err == nil || !strings.Contains(err.Error(), c.ID) {
		t.Errorf("error is %v", err)
	}
}

func TestInterconnectOf(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]oci.Interconnect{
		"ocid1.clusternetwork.oc1.iad.a":         oci.ClusterNetwork,
		"ocid1.computecluster.oc1.iad.a":         oci.ComputeCluster,
		"ocid1.computecluster.oc1.iad.a/0b7c-11": oci.ComputeCluster,
		"ocid1.instancepool.oc1.iad.a":           oci.NoInterconnect,
		"ocid1.instance.oc1.iad.a":               "",
		"":                                       "",
	} {
		got, err := oci.InterconnectOf(id)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", id, got, err)
		}
	}
}
