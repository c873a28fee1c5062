// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
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

// firstNode is the oldest node's OCID, as the state has it.
func (s *scene) firstNode() string {
	s.t.Helper()
	nodes, _ := s.State(clusterAddress).Values["nodes"].([]any)
	node, _ := nodes[0].(map[string]any)
	id, _ := node["id"].(string)
	return id
}

// What users read of a cluster that exists, in a plan or an apply, one file a scenario. Each begins with a
// cluster of two nodes.
func TestAccGPUCluster_changes(t *testing.T) {
	otherImage := fmt.Sprintf("image_id = %q", acctest.OtherImageID)
	for name, test := range map[string]func(*scene) string{
		"shrink": func(s *scene) string {
			s.want("size = 1")
			return s.plan()
		},
		"destroy": func(s *scene) string {
			_, output := s.Run("plan", "-destroy", "-input=false")
			return output
		},
		"replacement": func(s *scene) string {
			s.want(`shape = "BM.GPU.A100-v2.8"`)
			return s.plan()
		},
		"remove_nodes": func(s *scene) string {
			s.want("size = 1", fmt.Sprintf("remove_nodes = [%q]", s.firstNode()))
			return s.plan()
		},
		"remove_nodes_same_size": func(s *scene) string {
			s.want(fmt.Sprintf("remove_nodes = [%q]", s.firstNode()))
			return s.plan()
		},
		"remove_and_replace": func(s *scene) string {
			node := s.firstNode()
			s.want("size = 1", fmt.Sprintf("remove_nodes = [%q]", node), fmt.Sprintf("replace_nodes = [%q]", node))
			return s.plan()
		},
		"replace_nodes": func(s *scene) string {
			s.want(fmt.Sprintf("replace_nodes = [%q]", s.firstNode()))
			return s.plan()
		},
		"stale_nodes": func(s *scene) string {
			s.want(otherImage)
			return s.plan()
		},
		"stale_nodes_left": func(s *scene) string {
			s.want(otherImage)
			s.Apply()
			return s.plan()
		},
		"rolling": func(s *scene) string {
			s.want(otherImage, `update_strategy = "rolling"`)
			return s.plan()
		},
		"no_capacity_to_grow": func(s *scene) string {
			s.happen(ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 3}, ReservationShortage: ocisim.ReservationUnnoticed})
			s.want("size = 4")
			return s.try()
		},
		"preflight": func(s *scene) string {
			s.happen(ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 3}, Limits: map[string]int{acctest.Shape: 2}})
			s.want("size = 4", "preflight = true")
			return s.plan()
		},
		"unhealthy_without_tag_namespace": func(s *scene) string {
			s.want(fmt.Sprintf("replace_nodes = [%q]", s.firstNode()), "report_unhealthy = true")
			return s.try()
		},
		"orphan": func(s *scene) string {
			s.Must("state", "rm", clusterAddress)
			return s.try()
		},
		"deleted_outside": func(s *scene) string {
			deleteAll(s.t, s.region)
			return s.plan()
		},
		"credentials_lost": func(s *scene) string {
			s.happen(fault("", ocisim.EffectNotAuthentic))
			return s.plan()
		},
		"unavailable": func(s *scene) string {
			s.happen(fault("", ocisim.EffectUnavailable))
			return s.plan()
		},
		"update_refused": func(s *scene) string {
			s.happen(fault("UpdateClusterNetwork", ocisim.EffectNotFound))
			s.want("size = 3")
			return s.try()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{})
			t.Parallel()
			s.Apply()
			golden(t, name, test(s))
		})
	}
}
