// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// reserve reserves hosts, and gives the OCID of the reservation.
func (s *scene) reserve(hosts int64) string {
	s.t.Helper()
	compartment, domain, shape := acctest.CompartmentID, acctest.AvailabilityDomain, acctest.Shape
	response, err := s.api.Compute.CreateComputeCapacityReservation(s.t.Context(), core.CreateComputeCapacityReservationRequest{
		CreateComputeCapacityReservationDetails: core.CreateComputeCapacityReservationDetails{
			CompartmentId: &compartment, AvailabilityDomain: &domain,
			InstanceReservationConfigs: []core.InstanceReservationConfigDetails{{InstanceShape: &shape, ReservedCount: &hosts}},
		}})
	if err != nil {
		s.t.Fatal(err)
	}
	acctest.Eventually(s.t, "the reservation is active", func() bool {
		now, err := s.api.Compute.GetComputeCapacityReservation(s.t.Context(), core.GetComputeCapacityReservationRequest{CapacityReservationId: response.Id})
		return err == nil && now.LifecycleState == core.ComputeCapacityReservationLifecycleStateActive
	})
	return *response.Id
}

// securityGroup makes a network security group, and gives its OCID.
func (s *scene) securityGroup() string {
	s.t.Helper()
	compartment, subnet := acctest.CompartmentID, acctest.SubnetID
	of, err := s.api.VirtualNetwork.GetSubnet(s.t.Context(), core.GetSubnetRequest{SubnetId: &subnet})
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := s.api.VirtualNetwork.CreateNetworkSecurityGroup(s.t.Context(), core.CreateNetworkSecurityGroupRequest{
		CreateNetworkSecurityGroupDetails: core.CreateNetworkSecurityGroupDetails{CompartmentId: &compartment, VcnId: of.VcnId}})
	if err != nil {
		s.t.Fatal(err)
	}
	return *response.Id
}

// bootVolume reads the boot volume of a node.
func (s *scene) bootVolume(node core.Instance) core.BootVolume {
	s.t.Helper()
	attached, err := s.api.Compute.ListBootVolumeAttachments(s.t.Context(), core.ListBootVolumeAttachmentsRequest{
		AvailabilityDomain: node.AvailabilityDomain, CompartmentId: node.CompartmentId, InstanceId: node.Id})
	if err != nil || len(attached.Items) != 1 {
		s.t.Fatalf("%d boot volumes, error %v", len(attached.Items), err)
	}
	volumes := core.BlockstorageClient{BaseClient: s.api.Compute.BaseClient}
	response, err := volumes.GetBootVolume(s.t.Context(), core.GetBootVolumeRequest{BootVolumeId: attached.Items[0].BootVolumeId})
	if err != nil {
		s.t.Fatal(err)
	}
	return response.BootVolume
}

// groups gives the security groups of a node's primary VNIC.
func (s *scene) groups(node core.Instance) []string {
	s.t.Helper()
	attached, err := s.api.Compute.ListVnicAttachments(s.t.Context(), core.ListVnicAttachmentsRequest{CompartmentId: node.CompartmentId, InstanceId: node.Id})
	if err != nil || len(attached.Items) != 1 {
		s.t.Fatalf("%d VNICs, error %v", len(attached.Items), err)
	}
	vnic, err := s.api.VirtualNetwork.GetVnic(s.t.Context(), core.GetVnicRequest{VnicId: attached.Items[0].VnicId})
	if err != nil {
		s.t.Fatal(err)
	}
	return vnic.NsgIds
}

// plugins of a node's agent, by name.
func plugins(node core.Instance) map[string]string {
	states := map[string]string{}
	for _, plugin := range node.AgentConfig.PluginsConfig {
		states[*plugin.Name] = string(plugin.DesiredState)
	}
	return states
}

// rdmaPlugins are on for RDMA shapes.
func rdmaPlugins() map[string]string {
	return map[string]string{"Compute HPC RDMA Authentication": "ENABLED", "Compute HPC RDMA Auto-Configuration": "ENABLED"}
}

func legacyEndpoints(node core.Instance) bool {
	return node.InstanceOptions == nil || node.InstanceOptions.AreLegacyImdsEndpointsDisabled == nil || !*node.InstanceOptions.AreLegacyImdsEndpointsDisabled
}

// All that a user says of the launch reaches the node, on every launch path, and so do what RDMA needs and
// what is safe without being asked for.
func TestAccGPUCluster_launch(t *testing.T) {
	tagged := ocisim.Scenario{TagNamespaces: map[string][]string{"Costs": {"Project"}}}
	for name, interconnect := range interconnects {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, tagged)
			t.Parallel()
			group, reservation := s.securityGroup(), s.reserve(1)
			s.want(interconnect, "size = 1", fmt.Sprintf("capacity_reservation_id = %q", reservation), fmt.Sprintf("nsg_ids = [%q]", group),
				`platform_config = { numa_nodes_per_socket = "NPS2", is_symmetric_multi_threading_enabled = false }`,
				"boot_volume_size_in_gbs = 250", "boot_volume_vpus_per_gb = 20", `metadata = { role = "gpu" }`,
				`agent_plugins = { "Compute HPC RDMA Auto-Configuration" = false, "Bastion" = true }`,
				`freeform_tags = { team = "research" }`, `defined_tags = { "Costs.Project" = "llm" }`)
			s.Apply()
			s.ExpectNoChanges()
			node := s.instance(s.nodes()[0])
			if *node.ImageId != acctest.ImageID || *node.Shape != acctest.Shape || *node.CapacityReservationId != reservation {
				t.Errorf("the node is %v", node)
			}
			if groups := s.groups(node); !slices.Equal(groups, []string{group}) {
				t.Errorf("the security groups are %q", groups)
			}
			platform, err := json.Marshal(node.PlatformConfig)
			if err != nil || !strings.Contains(string(platform), `"numaNodesPerSocket":"NPS2"`) || !strings.Contains(string(platform), `"isSymmetricMultiThreadingEnabled":false`) {
				t.Errorf("the platform is %s (%v)", platform, err)
			}
			if volume := s.bootVolume(node); *volume.SizeInGBs != 250 || *volume.VpusPerGB != 20 {
				t.Errorf("the boot volume is %v", volume)
			}
			metadata := map[string]string{"role": "gpu", "ssh_authorized_keys": publicKey, "user_data": base64.StdEncoding.EncodeToString([]byte("#cloud-config\n"))}
			if !maps.Equal(node.Metadata, metadata) {
				t.Errorf("the metadata is %v", node.Metadata)
			}
			want := map[string]string{"Compute HPC RDMA Authentication": "ENABLED", "Compute HPC RDMA Auto-Configuration": "DISABLED", "Bastion": "ENABLED"}
			if has := plugins(node); !maps.Equal(has, want) {
				t.Errorf("plugins are %v, want %v", has, want)
			}
			if legacyEndpoints(node) {
				t.Error("the legacy metadata endpoints are on")
			}
			if node.FreeformTags["team"] != "research" || node.DefinedTags["Costs"]["Project"] != "llm" {
				t.Errorf("the tags are %v and %v", node.FreeformTags, node.DefinedTags)
			}
			s.want(interconnect, "size = 1", fmt.Sprintf("capacity_reservation_id = %q", reservation))
			s.Apply()
			s.ExpectNoChanges()
			if tags := s.instance(*node.Id); len(tags.DefinedTags["Costs"]) != 0 || tags.FreeformTags["team"] != "" {
				t.Errorf("the tags are still %v and %v", tags.FreeformTags, tags.DefinedTags)
			}
		})
	}
}

// A change of anything that nodes are launched with makes another configuration, rolls the nodes to it, and
// leaves no former one.
func TestAccGPUCluster_everyLaunchDetail(t *testing.T) {
	s := newScene(t, ocisim.Scenario{}, "size = 1", `update_strategy = "rolling"`)
	t.Parallel()
	s.Apply()
	lines := []string{"size = 1", `update_strategy = "rolling"`}
	for _, line := range []string{
		fmt.Sprintf("image_id = %q", acctest.OtherImageID),
		`user_data = base64encode("#cloud-config\npackages: [jq]\n")`,
		fmt.Sprintf("ssh_authorized_keys = %q", publicKey+" of another"),
		`metadata = { role = "gpu" }`,
		fmt.Sprintf("nsg_ids = [%q]", s.securityGroup()),
		"boot_volume_size_in_gbs = 250",
		"boot_volume_vpus_per_gb = 20",
		`agent_plugins = { "Bastion" = true }`,
		`platform_config = { numa_nodes_per_socket = "NPS2" }`,
		`platform_config = { numa_nodes_per_socket = "NPS2", is_symmetric_multi_threading_enabled = false }`,
		fmt.Sprintf("capacity_reservation_id = %q", s.reserve(2)),
	} {
		node, configuration := s.nodes(), s.text("instance_configuration_id")
		lines = append(lines, line)
		s.want(lines...)
		s.Apply()
		if now := s.nodes(); len(now) != 1 || now[0] == node[0] || s.text("instance_configuration_id") == configuration || len(s.stale()) != 0 {
			t.Errorf("after %s there is %q, before %q; stale are %q", line, now, node, s.stale())
		}
		if stats := s.region.Stats(); stats.InstanceConfigurations != 1 || stats.Instances != 1 {
			t.Errorf("after %s there are %+v", line, stats)
		}
	}
	s.ExpectNoChanges()
	s.end()
}
