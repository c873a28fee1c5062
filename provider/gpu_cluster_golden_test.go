// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/core"

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
		"hang":                           {fault("GetClusterNetwork", ocisim.EffectHang), []string{`timeouts = { create = "5s" }`}},
		"not_authorised":                 {fault("CreateClusterNetwork", ocisim.EffectNotFound), nil},
		"credentials_rejected":           {fault("CreateInstanceConfiguration", ocisim.EffectNotAuthentic), nil},
		"platform_not_offered":           {ocisim.Scenario{}, []string{`platform_config = { numa_nodes_per_socket = "NPS6" }`}},
		"platform_of_virtual_machine":    {ocisim.Scenario{}, []string{`shape = "VM.Standard.E5.Flex"`, `platform_config = { numa_nodes_per_socket = "NPS1" }`}},
		"unknown_image":                  {ocisim.Scenario{}, []string{`image_id = "ocid1.image.oc1.us-lab-1.none"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, test.scenario, test.lines...)
			t.Parallel()
			golden(t, name, s.try())
		})
	}
}

// What users read of a cluster that exists, in a plan or an apply, one file a scenario. Each begins with a
// cluster of two nodes.
func TestAccGPUCluster_changes(t *testing.T) {
	otherImage := fmt.Sprintf("image_id = %q", acctest.OtherImageID)
	for name, test := range map[string]func(*scene) string{
		"import_of_nothing": func(s *scene) string {
			s.Must("state", "rm", clusterAddress)
			_, output := s.Run("import", clusterAddress, "ocid1.clusternetwork.oc1..x")
			return output
		},
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
		"replacement_by_nothing": func(s *scene) string {
			nothing := `"ocid1.%s.oc1.us-lab-1.none"`
			s.want(`shape = "BM.GPU.A100-v2.8"`, "subnet_id = "+fmt.Sprintf(nothing, "subnet"), "image_id = "+fmt.Sprintf(nothing, "image"),
				"nsg_ids = ["+fmt.Sprintf(nothing, "networksecuritygroup")+"]", "capacity_reservation_id = "+fmt.Sprintf(nothing, "capacityreservation"),
				`platform_config = { numa_nodes_per_socket = "NPS6" }`)
			return s.plan()
		},
		"adoption_of_nothing": func(s *scene) string {
			s.want(`compute_cluster_id = "ocid1.computecluster.oc1.us-lab-1.none"`)
			return s.plan()
		},
		"rolling_to_nothing": func(s *scene) string {
			s.want(`update_strategy = "rolling"`, `image_id = "ocid1.image.oc1.us-lab-1.none"`)
			return s.plan()
		},
		"remove_nodes": func(s *scene) string {
			s.want("size = 1", fmt.Sprintf("remove_nodes = [%q]", s.nodes()[0]))
			return s.plan()
		},
		"remove_nodes_and_more": func(s *scene) string {
			s.want("size = 4")
			s.Apply()
			s.want("size = 1", fmt.Sprintf("remove_nodes = [%q]", s.nodes()[0]))
			return s.plan()
		},
		"remove_nodes_same_size": func(s *scene) string {
			s.want(fmt.Sprintf("remove_nodes = [%q]", s.nodes()[0]))
			return s.plan()
		},
		"remove_nodes_too_late": func(s *scene) string {
			s.want("size = 1", fmt.Sprintf("remove_nodes = [%q]", s.nodes()[0]))
			s.Must("plan", "-out=plan", "-input=false")
			s.detach(s.nodes()[1])
			_, output := s.Run("apply", "-input=false", "plan")
			return output
		},
		"remove_and_replace": func(s *scene) string {
			node := s.nodes()[0]
			s.want("size = 1", fmt.Sprintf("remove_nodes = [%q]", node), fmt.Sprintf("replace_nodes = [%q]", node))
			return s.plan()
		},
		"replace_nodes": func(s *scene) string {
			s.want(fmt.Sprintf("replace_nodes = [%q]", s.nodes()[0]))
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
		"preflight_unanswered": func(s *scene) string {
			s.happen(fault("CreateComputeCapacityReport", ocisim.EffectHang))
			s.want("size = 4", "preflight = true")
			return s.plan()
		},
		"unhealthy_without_tag_namespace": func(s *scene) string {
			before := s.nodes()
			s.want(fmt.Sprintf("replace_nodes = [%q]", before[0]), "report_unhealthy = true")
			output := s.try()
			s.Must("apply", "-refresh-only", "-auto-approve", "-input=false")
			if now := s.nodes(); !slices.Equal(now, before) {
				s.t.Errorf("%q became %q", before, now)
			}
			return output
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
		"stopped_outside": func(s *scene) string {
			pool := s.text("instance_pool_id")
			_, err := s.api.ComputeManagement.StopInstancePool(s.t.Context(), core.StopInstancePoolRequest{InstancePoolId: &pool})
			if err != nil {
				s.t.Fatal(err)
			}
			acctest.Eventually(s.t, "the pool is stopped", func() bool {
				now, err := s.api.ComputeManagement.GetInstancePool(s.t.Context(), core.GetInstancePoolRequest{InstancePoolId: &pool})
				return err == nil && now.LifecycleState == core.InstancePoolLifecycleStateStopped
			})
			return s.try()
		},
		"timeout_update": func(s *scene) string {
			s.happen(ocisim.Scenario{Capacity: map[string]int{acctest.Shape: 2}, Faults: []ocisim.Fault{{Operation: "ListWorkRequests", Effect: ocisim.EffectHang}}})
			s.want("size = 3", `timeouts = { update = "5s" }`)
			return s.try()
		},
		"update_refused": func(s *scene) string {
			s.happen(fault("UpdateClusterNetwork", ocisim.EffectNotFound))
			s.want("size = 3")
			return s.try()
		},
		"relaunch_refused": func(s *scene) string {
			s.happen(fault("UpdateClusterNetwork", ocisim.EffectNotFound))
			s.want(otherImage)
			output := s.try()
			if n := s.region.Stats().InstanceConfigurations; n != 1 {
				s.t.Errorf("%d instance configurations", n)
			}
			return output
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

// What users read of a configuration that can only fail: the plan refuses it, before anything is changed.
func TestAccGPUCluster_refused(t *testing.T) {
	for name, lines := range map[string][]string{
		"wrong_ocid":                   {`subnet_id = "ocid1.vcn.oc1..x"`},
		"user_data_not_base64":         {`user_data = "#cloud-config"`},
		"no_public_key":                {`ssh_authorized_keys = "my key"`},
		"oversize_metadata":            {`user_data = base64encode(join("", [for i in range(1000) : "12345678901234567890123456789012"]))`},
		"no_nodes":                     {`size = 0`},
		"wrong_domain":                 {`availability_domain = "AD-1"`},
		"misspelt_shape":               {`shape = "BM.GPU4-8"`},
		"unknown_shape":                {`shape = "BM.GPU.NEXT.8"`},
		"amd":                          {`shape = "BM.GPU.MI300X.8"`},
		"memory_cluster":               {`shape = "BM.GPU.GB200.4"`},
		"memory_cluster_of_gb300":      {`shape = "BM.GPU.GB300.4"`},
		"no_rdma":                      {`shape = "BM.GPU.A10.4"`, `interconnect = "compute_cluster"`},
		"placement_of_pool":            {`interconnect = "none"`, `hpc_island_id = "ocid1.hpcisland.oc1..x"`},
		"placement_of_adopted":         {`compute_cluster_id = "ocid1.computecluster.oc1..x"`, `placement_constraint = "SINGLE_TIER"`},
		"two_interconnects":            {`compute_cluster_id = "ocid1.computecluster.oc1..x"`, `interconnect = "cluster_network"`},
		"blocks_without_island":        {`network_block_ids = ["ocid1.networkblock.oc1..x"]`},
		"no_block":                     {`hpc_island_id = "ocid1.hpcisland.oc1..x"`, `network_block_ids = ["x"]`},
		"no_time":                      {`timeouts = { create = "0s", update = "-5m" }`},
		"two_images":                   {`image = { operating_system = "Oracle Linux" }`},
		"no_image":                     {`image_id = null`},
		"no_suitable_image":            {`image_id = null`, `image = { operating_system = "Solaris", name_pattern = "GPU" }`},
		"image_of_hidden_compartment":  {`image_id = null`, `image = { operating_system = "Oracle Linux", compartment_id = "ocid1.compartment.oc1..hidden" }`},
		"bad_pattern":                  {`image_id = null`, `image = { operating_system = "Oracle Linux", name_pattern = "(" }`},
		"reserved_metadata":            {`metadata = { user_data = "x" }`},
		"tag_without_namespace":        {`defined_tags = { key = "x" }`},
		"reserved_tag":                 {`freeform_tags = { ocihpc-cluster = "x" }`},
		"max_unavailable_without_roll": {`max_unavailable = 2`},
		"empty_platform":               {`platform_config = {}`},
		"placement_of_default_pool":    {`shape = "BM.GPU.A10.4"`, `placement_constraint = "SINGLE_TIER"`},
		"too_many_tags":                {`freeform_tags = { for n in range(9) : "tag${n}" => "x" }`},
		"tag_without_value":            {`freeform_tags = { team = null }`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{}, lines...)
			t.Parallel()
			golden(t, "refused_"+name, s.plan())
			if n := s.region.Stats().InstanceConfigurations; n != 0 {
				t.Errorf("the plan made %d instance configurations", n)
			}
		})
	}
}

// A roll that is interrupted says how far it came, and the next apply carries on with it.
func TestAccGPUCluster_interruptedRoll(t *testing.T) {
	var gate acctest.Gate
	s := newSceneIn(t, acctest.StartRegion(t, func(c *ocisim.Config) { c.Hosts = &gate }), "size = 3")
	t.Parallel()
	s.Apply()
	before := s.nodes()
	gate.Close()
	s.want("size = 3", fmt.Sprintf("image_id = %q", acctest.OtherImageID), `update_strategy = "rolling"`)
	apply := s.Start("apply", "-auto-approve", "-input=false")
	acctest.Eventually(t, "the first node is being replaced", func() bool {
		now := s.region.Instances()
		return slices.ContainsFunc(now, func(i ocisim.InstanceState) bool { return !slices.Contains(before, i.ID) })
	})
	looks := s.region.Stats().Operations["ListWorkRequests"]
	acctest.Eventually(t, "the cluster network was looked at", func() bool { return s.region.Stats().Operations["ListWorkRequests"] > looks })
	apply.Interrupt()
	_, output := apply.Wait()
	// Between the detachment of a node and the launch of the next, OCI counts one less.
	golden(t, "interrupted_roll", regexp.MustCompile(`with \d of 3 nodes`).ReplaceAllString(output, "with … of 3 nodes"))
	gate.Open()
	for _, refresh := range []string{"-refresh=false", "-refresh=true"} {
		if plan := s.Must("plan", "-no-color", refresh); !strings.Contains(plan, "0 to add, 1 to change, 0 to destroy") {
			t.Errorf("the next plan does not carry on:\n%s", plan)
		}
	}
	s.Apply()
	s.ExpectNoChanges()
	if now := s.nodes(); len(now) != 3 || slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) }) || len(s.stale()) != 0 {
		t.Errorf("%q became %q; stale are %q", before, now, s.stale())
	}
}
