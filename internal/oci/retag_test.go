// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

func tagsOf(t *testing.T, s *oci.Clusters, id string) map[string]string {
	t.Helper()
	response, err := s.Compute.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: &id})
	if err != nil {
		t.Fatal(err)
	}
	return response.FreeformTags
}

// usersTags gives the freeform tags of a node, without those of this package.
func usersTags(t *testing.T, s *oci.Clusters, id string) string {
	t.Helper()
	tags := tagsOf(t, s, id)
	if tags[oci.LaunchTag] == "" {
		t.Errorf("%s does not say how it was launched: %v", id, tags)
	}
	delete(tags, oci.LaunchTag)
	delete(tags, oci.MarkerTag)
	return fmt.Sprint(tags)
}

// New tags are set in place. No node is replaced for them, not even where stale nodes are.
func TestTagsReplaceNoNode(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, nil)
			first := spec(3)
			first.Interconnect = interconnect
			c := create(t, s, first)
			before := ids(t, s, c)
			tags := tagsOf(t, s, before[0])
			tags["rack"] = "7"
			_, err := s.Compute.UpdateInstance(t.Context(), core.UpdateInstanceRequest{
				InstanceId: &before[0], UpdateInstanceDetails: core.UpdateInstanceDetails{FreeformTags: tags},
			})
			if err != nil {
				t.Fatal(err)
			}

			want := spec(4)
			want.Interconnect = interconnect
			want.FreeformTags = map[string]string{"stage": "prod"}
			c = update(t, s, c, oci.Change{
				Want: want, Managed: oci.Tags{Freeform: map[string]string{"team": "research"}}, MaxUnavailable: 2,
			})
			expectNodes(t, s, c, 4)
			nodes, err := s.Nodes(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range nodes {
				if n.Stale || i < 3 && n.ID != before[i] {
					t.Errorf("node %d is %+v; from before are %v", i, n, before)
				}
				tags := "map[stage:prod]"
				if i == 0 {
					tags = "map[rack:7 stage:prod]"
				}
				if has := usersTags(t, s, n.ID); has != tags {
					t.Errorf("node %d has %s, want %s", i, has, tags)
				}
			}
			if stats := region.Stats(); stats.InstanceConfigurations != 1 || stats.Instances != 4 {
				t.Errorf("there are %+v", stats)
			}
		})
	}
}

// A pool that was made elsewhere has nodes that do not say how they were launched. New tags do not make
// them stale, and keep what its configuration says beyond what is known here.
func TestTagsOfAPoolMadeElsewhere(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	c := madeElsewhere(t, s)
	before := ids(t, s, c)
	want := c.Spec
	want.FreeformTags = map[string]string{"stage": "prod"}
	c = update(t, s, c, oci.Change{Want: want, MaxUnavailable: 2})
	if after := ids(t, s, c); !slices.Equal(before, after) {
		t.Errorf("%v have been replaced by %v", before, after)
	}
	for _, id := range before {
		if has := usersTags(t, s, id); has != "map[stage:prod]" {
			t.Errorf("%s has %s", id, has)
		}
	}
	response, err := s.ComputeManagement.GetInstanceConfiguration(t.Context(), core.GetInstanceConfigurationRequest{InstanceConfigurationId: &c.ConfigurationID})
	if err != nil {
		t.Fatal(err)
	}
	details, ok := response.InstanceDetails.(core.ComputeInstanceDetails)
	if !ok || *details.LaunchDetails.IsPvEncryptionInTransitEnabled != true || details.LaunchDetails.FreeformTags["stage"] != "prod" {
		t.Errorf("launched by %+v", details.LaunchDetails)
	}
}

// Volumes that a configuration of others has are in the one that takes its place.
func TestTagsKeepVolumes(t *testing.T) {
	t.Parallel()
	const volumes = `"blockVolumes":[{"volumeId":"ocid1.volume.oc1..x"}]` // which the region itself does not simulate
	var kept atomic.Bool
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
		return dispatch(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/instanceConfigurations") {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				kept.Store(strings.Contains(string(body), "ocid1.volume.oc1..x"))
				return fault(http.StatusBadRequest, "InvalidParameter")(r, next)
			}
			response, err := next.Do(r)
			if err == nil && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/instanceConfigurations/") {
				var body []byte
				body, err = io.ReadAll(response.Body)
				response.Body = io.NopCloser(strings.NewReader(strings.Replace(string(body), `"blockVolumes":null`, volumes, 1)))
			}
			return response, err
		})
	})
	c := madeElsewhere(t, clusters(t, region, nil))
	want := c.Spec
	want.FreeformTags = map[string]string{"stage": "prod"}
	if _, err := s.Update(t.Context(), c.ID, oci.Change{Want: want}); err == nil || !kept.Load() {
		t.Errorf("kept: %v; %v", kept.Load(), err)
	}
}

// madeElsewhere makes an instance pool with two nodes as the console would.
func madeElsewhere(t *testing.T, s *oci.Clusters) oci.Cluster {
	t.Helper()
	ad, compartment, subnet, shape, image, yes := acctest.AvailabilityDomain, acctest.CompartmentID, acctest.SubnetID, acctest.Shape, acctest.ImageID, true
	configuration, err := s.ComputeManagement.CreateInstanceConfiguration(t.Context(), core.CreateInstanceConfigurationRequest{
		CreateInstanceConfiguration: core.CreateInstanceConfigurationDetails{CompartmentId: &compartment, InstanceDetails: core.ComputeInstanceDetails{
			LaunchDetails: &core.InstanceConfigurationLaunchInstanceDetails{
				CompartmentId: &compartment, AvailabilityDomain: &ad, Shape: &shape, IsPvEncryptionInTransitEnabled: &yes,
				SourceDetails: core.InstanceConfigurationInstanceSourceViaImageDetails{ImageId: &image},
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	size := 2
	pool, err := s.ComputeManagement.CreateInstancePool(t.Context(), core.CreateInstancePoolRequest{CreateInstancePoolDetails: core.CreateInstancePoolDetails{
		CompartmentId: &compartment, InstanceConfigurationId: configuration.Id, Size: &size,
		PlacementConfigurations: []core.CreateInstancePoolPlacementConfigurationDetails{{
			AvailabilityDomain: &ad, PrimaryVnicSubnets: &core.InstancePoolPlacementPrimarySubnet{SubnetId: &subnet},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Get(t.Context(), *pool.Id)
	if err != nil {
		t.Fatal(err)
	}
	return update(t, s, c, oci.Change{Want: c.Spec})
}
