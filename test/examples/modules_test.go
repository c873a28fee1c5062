// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// TestModules runs the modules' own tests, each file in the region that it is for.
func TestModules(t *testing.T) {
	skipUnlessAsked(t)
	if !acctest.IsTerraform(t, "1.6") {
		t.Skip("`terraform test` comes with 1.6")
	}
	for file, is := range map[string]struct {
		module   string
		hosts    lab.HostMode
		official bool // needs OCI's own provider
	}{
		"cluster":  {module: "gpu-cluster", hosts: lab.HostsNone},
		"measured": {module: "gpu-cluster", hosts: lab.HostsLinux},
		"network":  {module: "network", hosts: lab.HostsNone, official: true},
	} {
		t.Run(file, func(t *testing.T) {
			providers := ours(t)
			if is.official {
				providers["oracle/oci"] = acctest.OfficialProvider(t)
			}
			l := startLab(t, is.hosts)
			env, err := l.Info.OfficialEnviron(lab.WayProxy, "")
			if err != nil {
				t.Fatal(err)
			}
			tf := acctest.NewTerraformOf(t, "../../modules", is.module, providers, append(l.Info.Environ(), env...)...)
			t.Log(tf.Must("test", "-no-color", "-filter=tests/"+file+".tftest.hcl"))
			expectNothingLeft(t, l)
		})
	}
}

// startLab starts a region for as long as the test.
func startLab(t *testing.T, hosts lab.HostMode) *lab.Lab {
	t.Helper()
	l, err := lab.Start(t.Context(), lab.Config{Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// expectNothingLeft fails the test where the region holds anything of a cluster's, or was asked what it does not know.
func expectNothingLeft(t *testing.T, l *lab.Lab) {
	t.Helper()
	status, err := l.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.Instances+status.ClusterNetworks+status.InstancePools+status.InstanceConfigurations+len(status.Unknown) != 0 {
		t.Errorf("left in the region, or unknown to it: %+v", status)
	}
}
