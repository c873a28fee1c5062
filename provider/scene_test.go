// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
	"github.com/ocihpc/terraform-provider-ocihpc/provider"
)

// scene is a region and a Terraform that works on it, by a provider that is quick to give up.
type scene struct {
	t      *testing.T
	region *acctest.Region
	api    *oci.Clients // what others do in the region
	*acctest.Terraform
}

// newScene starts a region with a scenario, and writes a cluster's configuration.
func newScene(t *testing.T, scenario ocisim.Scenario, lines ...string) *scene {
	t.Helper()
	return newSceneIn(t, acctest.StartRegion(t, func(c *ocisim.Config) { c.Scenario = scenario }), lines...)
}

func newSceneIn(t *testing.T, region *acctest.Region, lines ...string) *scene {
	t.Helper()
	api, err := oci.NewClients(region.Config())
	if err != nil {
		t.Fatal(err)
	}
	server := func() tfprotov6.ProviderServer { return providerserver.NewProtocol6(provider.NewHasty()())() }
	return &scene{t, region, api, acctest.NewTerraform(t, clusterHCL(region, lines...), acctest.Serve(t, server))}
}

// happen replaces the scenario of the region.
func (s *scene) happen(scenario ocisim.Scenario) {
	s.t.Helper()
	if err := s.region.SetScenario(scenario); err != nil {
		s.t.Fatal(err)
	}
}

// want writes another configuration of the cluster.
func (s *scene) want(lines ...string) {
	s.t.Helper()
	s.Configure(clusterHCL(s.region, lines...))
}

// Apply applies without asking, and fails the test unless the cluster is complete then.
func (s *scene) Apply() string {
	s.t.Helper()
	output := s.Terraform.Apply()
	if strings.Contains(output, "is not complete yet") {
		s.t.Fatal(output)
	}
	return output
}

// try applies without asking, whatever comes of it.
func (s *scene) try() (output string) {
	s.t.Helper()
	_, output = s.Run("apply", "-auto-approve", "-input=false")
	return plain(output)
}

// plan plans, whatever comes of it.
func (s *scene) plan() (output string) {
	s.t.Helper()
	_, output = s.Run("plan", "-input=false")
	return plain(output)
}

// value gives an attribute of the cluster.
func (s *scene) value(name string) any {
	s.t.Helper()
	recorded := s.State(clusterAddress)
	if recorded == nil {
		s.t.Fatal("the cluster is not in the state")
	}
	return recorded.Values[name]
}

func (s *scene) text(name string) string {
	s.t.Helper()
	text, _ := s.value(name).(string)
	return text
}

// nodes gives the OCIDs of the nodes in the order of the state.
func (s *scene) nodes() []string {
	s.t.Helper()
	return nodesOf(s.State(clusterAddress))
}

func nodesOf(cluster *acctest.StateResource) []string {
	var ids []string
	nodes, _ := cluster.Values["nodes"].([]any)
	for _, element := range nodes {
		node, _ := element.(map[string]any)
		id, _ := node["id"].(string)
		ids = append(ids, id)
	}
	return ids
}

// stale gives the OCIDs of the stale nodes.
func (s *scene) stale() []string {
	s.t.Helper()
	ids := []string{}
	list, _ := s.value("stale_nodes").([]any)
	for _, element := range list {
		id, _ := element.(string)
		ids = append(ids, id)
	}
	return ids
}

// instance reads a node as OCI has it.
func (s *scene) instance(id string) core.Instance {
	s.t.Helper()
	response, err := s.api.Compute.GetInstance(s.t.Context(), core.GetInstanceRequest{InstanceId: &id})
	if err != nil {
		s.t.Fatal(err)
	}
	return response.Instance
}

// resize changes the size of the cluster's pool behind Terraform's back, as an autoscaler does.
func (s *scene) resize(size int) {
	s.t.Helper()
	pool := s.text("instance_pool_id")
	_, err := s.api.ComputeManagement.UpdateInstancePool(s.t.Context(), core.UpdateInstancePoolRequest{
		InstancePoolId: &pool, UpdateInstancePoolDetails: core.UpdateInstancePoolDetails{Size: &size}})
	if err != nil {
		s.t.Fatal(err)
	}
	acctest.Eventually(s.t, "the pool has its new size", func() bool {
		response, err := s.api.ComputeManagement.GetInstancePool(s.t.Context(), core.GetInstancePoolRequest{InstancePoolId: &pool})
		return err == nil && response.LifecycleState == core.InstancePoolLifecycleStateRunning && s.region.Stats().Instances == size
	})
}

// detach takes a node out of the cluster's pool behind Terraform's back.
func (s *scene) detach(node string) {
	s.t.Helper()
	pool, yes := s.text("instance_pool_id"), true
	_, err := s.api.ComputeManagement.DetachInstancePoolInstance(s.t.Context(), core.DetachInstancePoolInstanceRequest{
		InstancePoolId: &pool, DetachInstancePoolInstanceDetails: core.DetachInstancePoolInstanceDetails{
			InstanceId: &node, IsDecrementSize: &yes, IsAutoTerminate: &yes}})
	if err != nil {
		s.t.Fatal(err)
	}
	acctest.Eventually(s.t, "the node is out of the pool", func() bool {
		now, err := s.api.ComputeManagement.GetInstancePool(s.t.Context(), core.GetInstancePoolRequest{InstancePoolId: &pool})
		return err == nil && now.LifecycleState == core.InstancePoolLifecycleStateRunning && s.instance(node).LifecycleState == core.InstanceLifecycleStateTerminated
	})
}

// end destroys the cluster, and expects that nothing is left.
func (s *scene) end() {
	s.t.Helper()
	s.Destroy()
	if err := nothingLeft(s.region); err != nil {
		s.t.Error(err)
	}
}
