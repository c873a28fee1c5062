// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"context"
	"errors"
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

// A deletion that was interrupted, or that somebody else began, is followed to its end.
func TestDeletionIsFollowed(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
				return dispatch(func(r *http.Request) (*http.Response, error) {
					response, err := next.Do(r)
					if r.Method == http.MethodDelete {
						cancel()
					}
					return response, err
				})
			})
			want := spec(3)
			want.Interconnect = interconnect
			c := create(t, s, want)
			err := s.Delete(ctx, c, nil)
			single := interconnect == oci.ComputeCluster // which is deleted once its nodes are gone
			if oci.KindOf(err) != oci.Interrupted || !single && !strings.Contains(err.Error(), "OCI goes on with") {
				t.Errorf("error is %v", err)
			}
			if err := s.Delete(t.Context(), c, nil); err != nil {
				t.Fatal(err)
			}
			expectNothing(t, region)
			asked := region.Stats().Operations["TerminateClusterNetwork"] + region.Stats().Operations["TerminateInstancePool"]
			if !single && asked != 1 {
				t.Errorf("asked %d times for the termination", asked)
			}
		})
	}
}

func TestDeletionThatTakesTooLong(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, spec(1))
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if err := s.Delete(ctx, c, nil); oci.KindOf(err) != oci.TimedOut || !strings.Contains(oci.Explain(err).String(), "timeouts attribute") {
		t.Errorf("error is %v", err)
	}
	if err := s.Delete(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	expectNothing(t, region)
}

// A configuration that was not made here may serve other pools, too. It is left to them.
func TestDeletionLeavesASharedConfiguration(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := madeElsewhere(t, s)
	ad, subnet, size := acctest.AvailabilityDomain, acctest.SubnetID, 1
	other, err := s.ComputeManagement.CreateInstancePool(t.Context(), core.CreateInstancePoolRequest{CreateInstancePoolDetails: core.CreateInstancePoolDetails{
		CompartmentId: &c.CompartmentID, InstanceConfigurationId: &c.ConfigurationID, Size: &size,
		PlacementConfigurations: []core.CreateInstancePoolPlacementConfigurationDetails{{
			AvailabilityDomain: &ad, PrimaryVnicSubnets: &core.InstancePoolPlacementPrimarySubnet{SubnetId: &subnet},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{c.ID, *other.Id} {
		c.ID = id
		if err := s.Delete(t.Context(), c, nil); err != nil {
			t.Error(err)
		}
	}
	expectNothing(t, region)
}

// stop stops the pool of a cluster, or its single nodes, and waits until it is seen.
func stop(t *testing.T, s *oci.Clusters, c oci.Cluster) {
	t.Helper()
	var err error
	if c.PoolID != "" {
		_, err = s.ComputeManagement.StopInstancePool(t.Context(), core.StopInstancePoolRequest{InstancePoolId: &c.PoolID})
	}
	if c.PoolID == "" {
		for _, id := range ids(t, s, c) {
			_, err = s.Compute.InstanceAction(t.Context(), core.InstanceActionRequest{InstanceId: &id, Action: core.InstanceActionActionStop})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	acctest.Eventually(t, "the cluster is stopped", func() bool {
		now, err := s.Get(t.Context(), c.ID)
		return err == nil && now.State == "STOPPED"
	})
}

// A compute cluster that others have launched nodes into cannot be deleted, and the user reads why.
func TestDeletionThatIsRefused(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	want := spec(1)
	want.Interconnect = oci.ComputeCluster
	host := create(t, s, want)
	guest := want
	guest.DisplayName, guest.Placement.ComputeClusterID = "guest", host.ID
	inside := create(t, s, guest)

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // its own node ends long before that
	defer cancel()
	err := s.Delete(ctx, host, nil)
	if !errors.Is(err, context.DeadlineExceeded) || oci.KindOf(err) != oci.Conflict || oci.Explain(err).Operation != "DeleteComputeCluster" {
		t.Errorf("error is %v", err)
	}
	for _, c := range []oci.Cluster{inside, host} {
		if err := s.Delete(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
	}
	expectNothing(t, region)
}

// A stopped cluster cannot be changed, and says so; it can be deleted.
func TestStoppedCluster(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, nil)
			want := spec(2)
			want.Interconnect = interconnect
			c := create(t, s, want)
			stop(t, s, c)
			want.Size = 3
			operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: want})
			if err == nil { // Single nodes are launched beside the stopped ones.
				_, err = operation.Wait(t.Context(), nil)
			}
			expectFailure(t, err, oci.Other, "is stopped. Start")
			if err := s.Delete(t.Context(), c, nil); err != nil {
				t.Fatal(err)
			}
			expectNothing(t, region)
		})
	}
}

// Somebody makes the cluster smaller while it is waited for.
func TestChangeBySomebodyElse(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, spec(2))
	operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: spec(3)})
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, c, oci.Change{Want: spec(1)})
	_, err = operation.Wait(t.Context(), nil)
	expectFailure(t, err, oci.Other, "its size is 1, not 3")
}

// A node that somebody has stopped is named.
func TestStoppedNode(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := create(t, s, spec(2))
	id := ids(t, s, c)[1]
	stopNode(t, s, id)
	operation, err := s.Update(t.Context(), c.ID, oci.Change{Want: spec(2)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = operation.Wait(t.Context(), nil)
	expectFailure(t, err, oci.Other, id+") is STOPPED")
}

// A place that somebody has made vacant is filled again.
func TestVacancyIsFilled(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, func(c *ocisim.Config) { c.KeepVacancies = true })
			s := clusters(t, region, nil)
			want := spec(3)
			want.Interconnect = interconnect
			c := create(t, s, want)
			id := ids(t, s, c)[1]
			if _, err := s.Compute.TerminateInstance(t.Context(), core.TerminateInstanceRequest{InstanceId: &id}); err != nil {
				t.Fatal(err)
			}
			acctest.Eventually(t, "the node is gone", func() bool { return len(region.Instances()) == 2 })
			expectNodes(t, s, update(t, s, c, oci.Change{Want: want}), 3)
		})
	}
}
