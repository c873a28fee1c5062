// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestBadHostsAreReported(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, func(c *ocisim.Config) {
				c.TagNamespaces = map[string][]string{"ComputeInstanceHostActions": {"CustomerReportedHostStatus"}, "ops": {"rack"}}
			})
			var s *oci.Clusters
			reported := map[string]string{}
			var seen releases
			s = clusters(t, region, seen.between)
			first := spec(4)
			first.Interconnect, first.DefinedTags = interconnect, oci.DefinedTags{"ops": {"rack": "7"}}
			c := create(t, s, first)
			before := ids(t, s, c)
			seen.before = func(int) {
				for _, id := range before {
					response, err := s.Compute.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: &id})
					if err != nil {
						t.Error(err)
						return
					}
					status, _ := response.DefinedTags["ComputeInstanceHostActions"]["CustomerReportedHostStatus"].(string)
					rack, _ := response.DefinedTags["ops"]["rack"].(string)
					reported[id] = status + " " + rack
				}
				seen.before = nil // All are reported before the first goes.
			}
			want := first
			want.Size = 3
			c = update(t, s, c, oci.Change{Want: want, Remove: before[:1], Replace: before[1:2], ReportUnhealthy: true})
			expectNodes(t, s, c, 3)
			for i, id := range before {
				if bad := strings.HasPrefix(reported[id], "unhealthy"); bad != (i < 2) || !strings.HasSuffix(reported[id], " 7") {
					t.Errorf("node %d is reported as %q", i, reported[id])
				}
			}
		})
	}
}

func TestMissingTagStopsBeforeTermination(t *testing.T) {
	t.Parallel()
	for name, adjust := range map[string]func(*ocisim.Config){
		"no namespace": func(c *ocisim.Config) { c.TagNamespaces = map[string][]string{"ops": {"rack"}} },
		"no key":       func(c *ocisim.Config) { c.TagNamespaces = map[string][]string{"ComputeInstanceHostActions": {"Other"}} },
		"not allowed": func(c *ocisim.Config) {
			c.Faults = []ocisim.Fault{{Operation: "UpdateInstance", Effect: ocisim.EffectNotFound}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, adjust)
			s := clusters(t, region, nil)
			c := create(t, s, spec(3))
			before := ids(t, s, c)
			_, err := s.Update(t.Context(), c.ID, oci.Change{Want: spec(2), Remove: before[:1], Replace: before[1:], ReportUnhealthy: true})
			var failed *oci.ReportError
			if !errors.As(err, &failed) || !slices.Contains(before, failed.NodeID) {
				t.Fatalf("error is %v", err)
			}
			text := oci.Explain(err).String()
			for _, part := range []string{"ComputeInstanceHostActions.CustomerReportedHostStatus = unhealthy", "Create what is missing", "Request ID: "} {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in:\n%s", part, text)
				}
			}
			if after := ids(t, s, c); !slices.Equal(before, after) {
				t.Errorf("of %v there are left %v", before, after)
			}
		})
	}
}
