// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// edited changes the answers about cluster networks whose state is one of those named.
func edited(edit func(r *http.Request, network map[string]any), states ...core.ClusterNetworkLifecycleStateEnum) func(common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
	return func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			response, err := next.Do(r)
			if err != nil || !strings.Contains(r.URL.Path, "/clusterNetworks") {
				return response, err
			}
			body, err := io.ReadAll(response.Body)
			var network map[string]any
			if json.Unmarshal(body, &network) == nil {
				for _, state := range states {
					if network["lifecycleState"] == string(state) {
						edit(r, network)
						body, err = json.Marshal(network)
					}
				}
			}
			response.Body = io.NopCloser(bytes.NewReader(body))
			return response, err
		})
	}
}

// bare leaves out what OCI's contract has as optional.
func bare(_ *http.Request, network map[string]any) {
	delete(network, "instancePools")
	delete(network, "placementConfiguration")
}

// A cluster network may be shown without its pool for a while after its create, and once it ends.
func TestNetworkWithoutItsPool(t *testing.T) {
	t.Parallel()
	t.Run("at first", func(t *testing.T) {
		t.Parallel()
		region := acctest.StartRegion(t, nil)
		var shown atomic.Int64
		s := clusters(t, region, edited(func(r *http.Request, network map[string]any) {
			if r.Method == http.MethodPost || shown.Add(1) < 4 {
				bare(r, network)
			}
		}, core.ClusterNetworkLifecycleStateProvisioning))
		operation, c, err := s.Create(t.Context(), spec(2))
		if err != nil || c.Size != 2 || c.ConfigurationID == "" || c.Placement.SubnetID != acctest.SubnetID || c.Placement.AvailabilityDomain != acctest.AvailabilityDomain {
			t.Fatalf("%+v, %v", c, err)
		}
		expectNodes(t, s, wait(t, operation), 2)
	})
	t.Run("while it ends", func(t *testing.T) {
		t.Parallel()
		region := acctest.StartRegion(t, nil)
		s := clusters(t, region, edited(bare, core.ClusterNetworkLifecycleStateTerminating, core.ClusterNetworkLifecycleStateTerminated))
		c := create(t, s, spec(2))
		if err := s.Delete(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), c.ID); !errors.Is(err, oci.ErrGone) {
			t.Error(err)
		}
		expectNothing(t, region)
	})
	t.Run("ended for want of hosts", func(t *testing.T) {
		t.Parallel()
		region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Scenario = one(ocisim.Scenario{}) })
		s := clusters(t, region, edited(bare, core.ClusterNetworkLifecycleStateTerminating, core.ClusterNetworkLifecycleStateTerminated))
		operation, _, err := s.Create(t.Context(), spec(2))
		if err != nil {
			t.Fatal(err)
		}
		_, err = operation.Wait(t.Context(), nil)
		expectFailure(t, err, oci.Capacity, "Insufficient capacity")
	})
	t.Run("when it should be there", func(t *testing.T) {
		t.Parallel()
		region := acctest.StartRegion(t, nil)
		c := create(t, clusters(t, region, nil), spec(1))
		s := clusters(t, region, edited(bare, core.ClusterNetworkLifecycleStateRunning))
		if _, err := s.Get(t.Context(), c.ID); err == nil || !strings.Contains(err.Error(), "has 0 instance pools") {
			t.Error(err)
		}
	})
}

// An answer that cannot be read says nothing about what was done: the cluster is found by its token.
func TestUnreadableAnswerLosesNoCluster(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, edited(func(r *http.Request, network map[string]any) {
		if r.Method == http.MethodPost {
			network["instancePools"] = "none"
		}
	}, core.ClusterNetworkLifecycleStateProvisioning))
	expectNodes(t, s, create(t, s, spec(2)), 2)
	if stats := region.Stats(); stats.ClusterNetworks != 1 || stats.InstanceConfigurations != 1 {
		t.Errorf("%+v", stats)
	}
}

// All answers to the first try of a detachment get lost: the second finds that it is done.
func TestLostAnswersToADetachment(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	var detachments atomic.Int64
	s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/actions/detachInstance") && detachments.Add(1) <= 8 {
				return lost(r, next)
			}
			return next.Do(r)
		})
	})
	want := spec(2)
	c := create(t, s, want)
	chosen := ids(t, s, c)[:1]
	want.Size = 1
	expectNodes(t, s, update(t, s, c, oci.Change{Want: want, Remove: chosen}), 1)
	if detachments.Load() <= 8 {
		t.Errorf("%d detachments", detachments.Load())
	}
}

// The answer to an update gets lost, and OCI refuses its repetition while it works on it, in a tenancy whose
// resources have tags of others.
func TestLostAnswerToAnUpdate(t *testing.T) {
	t.Parallel()
	for _, interconnect := range []oci.Interconnect{oci.ClusterNetwork, oci.NoInterconnect} {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			var gate acctest.Gate
			region := acctest.StartRegion(t, func(c *ocisim.Config) {
				c.Hosts = &gate
				c.TagDefaults = map[string]map[string]string{"Oracle-Tags": {"CreatedBy": "default/me"}}
			})
			var updates atomic.Int64
			s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
				return dispatch(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPut && updates.Add(1) == 1 {
						return lost(r, next)
					}
					return next.Do(r)
				})
			})
			want := spec(1)
			want.Interconnect = interconnect
			c := create(t, s, want)
			gate.Close()
			want.Size = 2
			operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want, Managed: oci.Tags{Freeform: want.FreeformTags}})
			gate.Open()
			if err != nil {
				t.Fatal(err)
			}
			expectNodes(t, s, wait(t, operation), 2)
		})
	}
}
