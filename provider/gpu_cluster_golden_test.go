// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// oneHost is a region in which only one host is left.
func oneHost(c ocisim.Scenario) ocisim.Scenario {
	c.Capacity = map[string]int{acctest.Shape: 1}
	return c
}

func fault(operation string, effect ocisim.Effect) ocisim.Scenario {
	return ocisim.Scenario{Faults: []ocisim.Fault{{Operation: operation, Effect: effect}}}
}

// What users read when a create fails, one file a scenario.
func TestAccGPUCluster_createFails(t *testing.T) {
	pool, computeCluster := `interconnect = "none"`, `interconnect = "compute_cluster"`
	for name, test := range map[string]struct {
		scenario ocisim.Scenario
		lines    []string
	}{
		"capacity_reservation":           {oneHost(ocisim.Scenario{}), nil},
		"capacity_reservation_errors":    {oneHost(ocisim.Scenario{ReservationShortage: ocisim.ReservationErrors}), nil},
		"capacity_reservation_logs":      {oneHost(ocisim.Scenario{ReservationShortage: ocisim.ReservationLogs}), nil},
		"capacity_unnoticed":             {oneHost(ocisim.Scenario{ReservationShortage: ocisim.ReservationUnnoticed}), nil},
		"capacity_pool_waits":            {oneHost(ocisim.Scenario{}), []string{pool}},
		"capacity_pool_runs_short":       {oneHost(ocisim.Scenario{Shortage: ocisim.ShortageRunsShort}), []string{pool}},
		"capacity_pool_terminates":       {oneHost(ocisim.Scenario{Shortage: ocisim.ShortageTerminates}), []string{pool}},
		"capacity_compute_cluster":       {oneHost(ocisim.Scenario{}), []string{computeCluster}},
		"capacity_compute_cluster_later": {oneHost(ocisim.Scenario{LaunchShortage: ocisim.LaunchFails}), []string{computeCluster}},
		"capacity_at_once":               {fault("CreateClusterNetwork", ocisim.EffectOutOfCapacity), nil},
		"limit":                          {ocisim.Scenario{Limits: map[string]int{acctest.Shape: 1}}, nil},
		"limit_at_once":                  {fault("CreateClusterNetwork", ocisim.EffectLimitExceeded), nil},
		"quota":                          {ocisim.Scenario{Quotas: map[string]int{acctest.Shape: 1}}, []string{pool}},
		"throttled":                      {fault("CreateClusterNetwork", ocisim.EffectThrottle), nil},
		"internal_error":                 {fault("CreateInstanceConfiguration", ocisim.EffectInternalError), nil},
		"proxy":                          {fault("CreateInstanceConfiguration", ocisim.EffectHTML), nil},
		"reset":                          {fault("CreateInstanceConfiguration", ocisim.EffectResetBefore), nil},
		"hang":                           {fault("GetClusterNetwork", ocisim.EffectHang), []string{`timeouts = { create = "1s" }`}},
		"not_authorised":                 {fault("CreateClusterNetwork", ocisim.EffectNotFound), nil},
		"credentials_rejected":           {fault("CreateInstanceConfiguration", ocisim.EffectNotAuthentic), nil},
		"unknown_image":                  {ocisim.Scenario{}, []string{`image_id = "ocid1.image.oc1.us-lab-1.none"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, test.scenario, test.lines...)
			t.Parallel()
			golden(t, name, s.try())
		})
	}
}
