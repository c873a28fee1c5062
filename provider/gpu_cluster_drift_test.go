// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// What somebody changes behind Terraform's back is in the next plan, and set back by the next apply.
func TestAccGPUCluster_drift(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		plan   string // what it shows
	}{
		"name": {func(s *scene) {
			s.updateNetwork(core.UpdateClusterNetworkDetails{DisplayName: ptr("mine")})
		}, `display_name +(= )?"mine" -> "train"`},
		"tags": {func(s *scene) {
			s.updateNetwork(core.UpdateClusterNetworkDetails{FreeformTags: map[string]string{"ocihpc-cluster": s.token(), "team": "b", "other": "x"}})
		}, `"team" += "b" -> "a"`},
		"configuration": {(*scene).launchOther, fmt.Sprintf(`image_id += %q -> %q`, acctest.OtherImageID, acctest.ImageID)},
		"lost node": {func(s *scene) {
			id := s.nodes()[0]
			if _, err := s.api.Compute.TerminateInstance(s.t.Context(), core.TerminateInstanceRequest{InstanceId: &id}); err != nil {
				s.t.Fatal(err)
			}
			acctest.Eventually(s.t, "the node is gone", func() bool { return s.region.Stats().Instances == 1 })
		}, `current_size += 1 -> 2`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ocisim.Scenario{KeepVacancies: true}, `freeform_tags = { team = "a" }`)
			t.Parallel()
			s.Apply()
			id := s.text("id")
			test.change(s)
			if plan := s.plan(); !regexp.MustCompile(test.plan).MatchString(plan) || !regexp.MustCompile("0 to add, 1 to change, 0 to destroy").MatchString(plan) {
				t.Errorf("the plan shows no %s:\n%s", test.plan, plan)
			}
			s.Apply()
			s.ExpectNoChanges()
			if s.text("id") != id || len(s.nodes()) != 2 {
				t.Errorf("%s became %s with %q", id, s.text("id"), s.nodes())
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// updateNetwork changes the cluster network behind Terraform's back.
func (s *scene) updateNetwork(details core.UpdateClusterNetworkDetails) {
	s.t.Helper()
	_, err := s.api.ComputeManagement.UpdateClusterNetwork(s.t.Context(),
		core.UpdateClusterNetworkRequest{ClusterNetworkId: ptr(s.text("id")), UpdateClusterNetworkDetails: details})
	if err != nil {
		s.t.Fatal(err)
	}
}

// configuration reads the cluster's present one.
func (s *scene) configuration() core.InstanceConfiguration {
	s.t.Helper()
	got, err := s.api.ComputeManagement.GetInstanceConfiguration(s.t.Context(),
		core.GetInstanceConfigurationRequest{InstanceConfigurationId: ptr(s.text("instance_configuration_id"))})
	if err != nil {
		s.t.Fatal(err)
	}
	return got.InstanceConfiguration
}

// token is the mark of the cluster's parts.
func (s *scene) token() string {
	s.t.Helper()
	return s.configuration().FreeformTags["ocihpc-cluster"]
}

// launchOther gives the pool another instance configuration, with another image.
func (s *scene) launchOther() {
	s.t.Helper()
	details, _ := s.configuration().InstanceDetails.(core.ComputeInstanceDetails)
	details.LaunchDetails.SourceDetails = core.InstanceConfigurationInstanceSourceViaImageDetails{ImageId: ptr(acctest.OtherImageID)}
	other, err := s.api.ComputeManagement.CreateInstanceConfiguration(s.t.Context(), core.CreateInstanceConfigurationRequest{
		CreateInstanceConfiguration: core.CreateInstanceConfigurationDetails{CompartmentId: ptr(acctest.CompartmentID), InstanceDetails: details}})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = s.api.ComputeManagement.UpdateInstancePool(s.t.Context(), core.UpdateInstancePoolRequest{
		InstancePoolId: ptr(s.text("instance_pool_id")), UpdateInstancePoolDetails: core.UpdateInstancePoolDetails{InstanceConfigurationId: other.Id}})
	if err != nil {
		s.t.Fatal(err)
	}
}
