// SPDX-License-Identifier: MPL-2.0

package oci_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

const (
	authentication = "Compute HPC RDMA Authentication"
	configuration  = "Compute HPC RDMA Auto-Configuration"
	runCommand     = "Compute Instance Run Command"
)

// reserve holds hosts.
func reserve(t *testing.T, s *oci.Clusters, hosts int64) string {
	t.Helper()
	response, err := s.Compute.CreateComputeCapacityReservation(t.Context(), core.CreateComputeCapacityReservationRequest{
		CreateComputeCapacityReservationDetails: core.CreateComputeCapacityReservationDetails{
			CompartmentId: common.String(acctest.CompartmentID), AvailabilityDomain: common.String(acctest.AvailabilityDomain),
			InstanceReservationConfigs: []core.InstanceReservationConfigDetails{{InstanceShape: common.String(acctest.Shape), ReservedCount: &hosts}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for {
		got, err := s.Compute.GetComputeCapacityReservation(t.Context(), core.GetComputeCapacityReservationRequest{CapacityReservationId: response.Id})
		if err != nil {
			t.Fatal(err)
		}
		if got.LifecycleState == core.ComputeCapacityReservationLifecycleStateActive {
			return *response.Id
		}
	}
}

// instance is a cluster's first node as OCI has it.
func instance(t *testing.T, s *oci.Clusters, c oci.Cluster) core.Instance {
	t.Helper()
	nodes, err := s.Nodes(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.Compute.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: &nodes[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	return response.Instance
}

// plugins of an instance, on or off.
func plugins(i core.Instance) map[string]bool {
	all := map[string]bool{}
	for _, p := range i.AgentConfig.PluginsConfig {
		all[*p.Name] = p.DesiredState == core.InstanceAgentPluginConfigDetailsDesiredStateEnabled
	}
	return all
}

// What a user sets reaches the nodes and is read back, whatever joins them.
func TestLaunchDetails(t *testing.T) {
	t.Parallel()
	for _, interconnect := range interconnects {
		t.Run(string(interconnect), func(t *testing.T) {
			t.Parallel()
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, nil)
			want := spec(1)
			want.Interconnect = interconnect
			want.Launch.Metadata = map[string]string{"role": "worker"}
			want.Launch.BootVolumeSizeInGBs, want.Launch.BootVolumeVPUsPerGB = 200, 20
			want.Launch.CapacityReservationID = reserve(t, s, 1)
			want.Launch.Plugins = map[string]bool{configuration: false, runCommand: true}
			want.Launch.Platform = oci.Platform{NUMANodesPerSocket: "NPS2", SimultaneousMultithreading: common.Bool(false)}
			c := create(t, s, want)

			i := instance(t, s, c)
			platform, err := json.Marshal(i.PlatformConfig)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{`"type":"AMD_ROME_BM_GPU"`, `"numaNodesPerSocket":"NPS2"`, `"isSymmetricMultiThreadingEnabled":false`} {
				if !strings.Contains(string(platform), part) {
					t.Errorf("%s is not in the platform: %s", part, platform)
				}
			}
			if got := plugins(i); !maps.Equal(got, map[string]bool{authentication: true, configuration: false, runCommand: true}) {
				t.Errorf("plugins: %v", got)
			}
			if !*i.InstanceOptions.AreLegacyImdsEndpointsDisabled || *i.CapacityReservationId != want.Launch.CapacityReservationID {
				t.Errorf("instance: %v", i)
			}
			if i.FreeformTags[oci.LaunchTag] != want.LaunchDigest() || i.FreeformTags[oci.MarkerTag] != c.Token || *i.InstanceConfigurationId != c.ConfigurationID {
				t.Errorf("tags: %v", i.FreeformTags)
			}

			got, err := s.Get(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Launch, want.Launch) || got.LaunchDigest() != want.LaunchDigest() {
				t.Errorf("read back %+v, want %+v", got.Launch, want.Launch)
			}
			if !maps.Equal(got.FreeformTags, want.FreeformTags) || got.Placement.SubnetID != acctest.SubnetID {
				t.Errorf("read back %+v", got)
			}
		})
	}
}

// Whoever asks for nothing gets the RDMA plugins, and reads nothing back.
func TestPluginsAreOnByDefault(t *testing.T) {
	t.Parallel()
	rdma := map[string]bool{authentication: true, configuration: true}
	for name, test := range map[string]struct {
		shape        string
		interconnect oci.Interconnect
		want         map[string]bool
	}{
		"cluster network":          {acctest.Shape, oci.ClusterNetwork, rdma},
		"compute cluster":          {acctest.Shape, oci.ComputeCluster, rdma},
		"pool of an RDMA shape":    {acctest.Shape, oci.NoInterconnect, rdma},
		"pool of another shape":    {"BM.GPU.A10.4", oci.NoInterconnect, nil},
		"unknown shape":            {"BM.GPU.NEW.8", oci.ClusterNetwork, rdma},
		"pool of an unknown shape": {"BM.GPU.NEW.8", oci.NoInterconnect, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := spec(1)
			want.Interconnect, want.Launch.Shape = test.interconnect, test.shape
			if got := want.DefaultPlugins(); !maps.Equal(got, test.want) {
				t.Errorf("defaults %v", got)
			}
			if strings.Contains(test.shape, "NEW") {
				return // No region has it.
			}
			region := acctest.StartRegion(t, nil)
			s := clusters(t, region, nil)
			c := create(t, s, want)
			if got := plugins(instance(t, s, c)); !maps.Equal(got, test.want) {
				t.Errorf("plugins %v", got)
			}
			got, err := s.Get(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got.Launch.Plugins != nil || got.Launch.Platform != (oci.Platform{}) {
				t.Errorf("read back %+v", got.Launch)
			}
		})
	}
}

func TestUnofferedPlatformIsRefused(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	s := clusters(t, region, nil)
	for name, test := range map[string]struct {
		shape string
		text  string
	}{
		"another setting":    {acctest.Shape, "the shape BM.GPU4.8 does not offer NPS6 NUMA nodes per socket: it offers NPS4, NPS0, NPS1, NPS2"},
		"no settings":        {"VM.Standard.E5.Flex", "it offers no choice"},
		"shape not in there": {"BM.GPU.NEW.8", "the shape BM.GPU.NEW.8 has no platform settings in " + acctest.AvailabilityDomain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := spec(1)
			want.Launch.Shape = test.shape
			want.Launch.Platform.NUMANodesPerSocket = "NPS6"
			if _, _, err := s.Create(t.Context(), want); err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error is %v", err)
			}
		})
	}
	expectNothing(t, region)
}

// The digest changes with every setting of a launch, and with nothing else.
func TestLaunchDigest(t *testing.T) {
	t.Parallel()
	same := map[string]func(*oci.Spec){
		"nothing":              func(*oci.Spec) {},
		"tags":                 func(s *oci.Spec) { s.FreeformTags, s.DefinedTags = nil, oci.DefinedTags{"a": {"b": "c"}} },
		"size and name":        func(s *oci.Spec) { s.Size, s.DisplayName = 9, "other" },
		"order of NSGs":        func(s *oci.Spec) { s.Launch.NSGIDs = []string{"b", "a"} },
		"a default, by name":   func(s *oci.Spec) { s.Launch.Plugins = map[string]bool{authentication: true} },
		"empty for no setting": func(s *oci.Spec) { s.Launch.Metadata = map[string]string{} },
	}
	different := map[string]func(*oci.Spec){
		"shape":       func(s *oci.Spec) { s.Launch.Shape = "BM.GPU.B4.8" },
		"image":       func(s *oci.Spec) { s.Launch.ImageID = acctest.OtherImageID },
		"keys":        func(s *oci.Spec) { s.Launch.SSHAuthorizedKeys += "\nssh-ed25519 BBBB" },
		"user data":   func(s *oci.Spec) { s.Launch.UserData = "IyEvYmluL3NoCg==" },
		"metadata":    func(s *oci.Spec) { s.Launch.Metadata = map[string]string{"role": "worker"} },
		"NSGs":        func(s *oci.Spec) { s.Launch.NSGIDs = []string{"a"} },
		"boot size":   func(s *oci.Spec) { s.Launch.BootVolumeSizeInGBs = 200 },
		"boot VPUs":   func(s *oci.Spec) { s.Launch.BootVolumeVPUsPerGB = 20 },
		"reservation": func(s *oci.Spec) { s.Launch.CapacityReservationID = "ocid1.capacityreservation.oc1..a" },
		"plugins":     func(s *oci.Spec) { s.Launch.Plugins = map[string]bool{authentication: false} },
		"NUMA":        func(s *oci.Spec) { s.Launch.Platform.NUMANodesPerSocket = "NPS1" },
		"SMT":         func(s *oci.Spec) { s.Launch.Platform.SimultaneousMultithreading = common.Bool(true) },
	}
	base := func() oci.Spec {
		s := spec(1)
		s.Launch.NSGIDs = []string{"a", "b"}
		return s
	}
	// It must not change between releases either: every node would look stale.
	const released = "622e9e2d63b5"
	if got := base().LaunchDigest(); got != released {
		t.Errorf("digest is %s, was %s", got, released)
	}
	seen := map[string]string{}
	for name, change := range different {
		s := base()
		change(&s)
		if other, found := seen[s.LaunchDigest()]; found || s.LaunchDigest() == base().LaunchDigest() {
			t.Errorf("%s has the digest of %q", name, other)
		}
		seen[s.LaunchDigest()] = name
	}
	for name, change := range same {
		s := base()
		change(&s)
		if s.LaunchDigest() != base().LaunchDigest() {
			t.Errorf("%s changes the digest", name)
		}
	}
}
