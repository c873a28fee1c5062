// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestPreflight(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scenario ocisim.Scenario
		shape    string
		more     int
		want     []oci.Finding
	}{
		"enough of all": {ocisim.Scenario{}, acctest.Shape, 4, nil},
		"nothing more":  {ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 0}}, acctest.Shape, 0, nil},
		"just enough":   {ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 2}, Limits: map[string]int{acctest.Shape: 2}}, acctest.Shape, 2, nil},
		"few hosts": {ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 1}}, acctest.Shape, 2,
			[]oci.Finding{{Kind: oci.NoCapacity, Text: acctest.AvailabilityDomain + " has 1 free hosts of BM.GPU4.8 at the moment; 2 more are needed."}}},
		"no hosts": {ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 0}}, acctest.Shape, 2,
			[]oci.Finding{{Kind: oci.NoCapacity, Text: acctest.AvailabilityDomain + " has no free hosts of BM.GPU4.8 at the moment; 2 more are needed."}}},
		"limit": {ocisim.Scenario{Limits: map[string]int{acctest.Shape: 1}}, acctest.Shape, 2,
			[]oci.Finding{{Kind: oci.LimitTooLow, Text: "The limit gpu4-count leaves 8 in " + acctest.AvailabilityDomain + "; 2 more nodes of BM.GPU4.8 need 16."}}},
		"no such shape": {ocisim.Scenario{}, "BM.GPU.NEW.8", 1,
			[]oci.Finding{{Kind: oci.NotOffered, Text: "The shape BM.GPU.NEW.8 is not offered in " + acctest.AvailabilityDomain + "."}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, func(c *ocisim.Config) { c.Scenario = test.scenario })
			s := clusters(t, region, nil)
			want := spec(test.more)
			want.Launch.Shape = test.shape
			got := s.Preflight(t.Context(), want, test.more)
			if len(got) != len(test.want) {
				t.Fatalf("findings: %v", got)
			}
			for i := range got {
				if got[i] != test.want[i] {
					t.Errorf("finding %+v, want %+v", got[i], test.want[i])
				}
			}
			want.Launch.CapacityReservationID = "ocid1.capacityreservation.oc1..a"
			if got := s.Preflight(t.Context(), want, test.more); len(got) > 0 && got[0].Kind != oci.NotOffered {
				t.Errorf("with a reservation: %v", got)
			}
		})
	}
}

// What cannot be asked is said, and is no error.
func TestPreflightWithoutAnswers(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	refuse := func(paths ...string) *oci.Clusters {
		meddle := func(next common.HTTPRequestDispatcher) common.HTTPRequestDispatcher {
			return dispatch(func(r *http.Request) (*http.Response, error) {
				for _, path := range paths {
					if strings.Contains(r.URL.Path, path) {
						return fault(http.StatusNotFound, "NotAuthorizedOrNotFound")(r, next)
					}
				}
				return next.Do(r)
			})
		}
		s := clusters(t, region, meddle)
		s.Limits.HTTPClient = meddle(s.Limits.HTTPClient)
		return s
	}
	for name, test := range map[string]struct {
		refused []string
		want    int
	}{
		"shapes": {[]string{"/shapes"}, 1}, "report": {[]string{"/computeCapacityReports"}, 1}, "limits": {[]string{"/limits/"}, 1},
		"report and limits": {[]string{"/computeCapacityReports", "/limits/"}, 2},
	} {
		got := refuse(test.refused...).Preflight(t.Context(), spec(1), 1)
		if len(got) != test.want {
			t.Errorf("%s: %v", name, got)
		}
		for _, f := range got {
			if f.Kind != oci.Unchecked || !strings.Contains(f.Text, "OCI answered 404 NotAuthorizedOrNotFound") {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := refuse().Preflight(ended, spec(1), 1); len(got) != 1 || got[0].Kind != oci.Unchecked {
		t.Errorf("without time: %v", got)
	}
}
