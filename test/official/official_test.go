// SPDX-License-Identifier: MPL-2.0

// Package official runs OCI's own Terraform provider, unmodified, against the lab: what it applies must
// plan empty, change, and be destroyed. Its binary is given by OCI_PROVIDER_BINARY.
package official

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// start starts a lab without hosts, and gives a Terraform that uses it by the official provider. When the
// test ends, the lab must have known every request.
func start(t *testing.T, way lab.Way, configuration string) *acctest.Terraform {
	t.Helper()
	return startWith(t, way, configuration, map[string]string{"oracle/oci": acctest.OfficialProvider(t)})
}

// startWith is start with more providers: the folder of each one's binary by its source address.
func startWith(t *testing.T, way lab.Way, configuration string, providers map[string]string) *acctest.Terraform {
	t.Helper()
	l, err := lab.Start(t.Context(), lab.Config{Hosts: lab.HostsNone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		status, err := l.Status(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		for operation, count := range status.Unknown {
			t.Errorf("the lab does not know %s (asked %d times)", operation, count)
		}
		t.Logf("%d requests: %v", status.Requests, status.Operations)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	env, err := l.Info.OfficialEnviron(way, "")
	if err != nil {
		t.Fatal(err)
	}
	hcl, err := os.ReadFile(configuration)
	if err != nil {
		t.Fatal(err)
	}
	return acctest.NewTerraformWith(t, providers, string(hcl), append(l.Info.Environ(), env...)...)
}

// life applies a configuration, changes it by var.generation, and destroys it. After each step, a plan finds
// nothing to do.
func life(t *testing.T, tf *acctest.Terraform) {
	t.Helper()
	for _, generation := range []string{"1", "2"} {
		tf.Setenv("TF_VAR_generation", generation)
		tf.Apply()
		tf.ExpectNoChanges()
	}
	tf.Destroy()
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, way := range []lab.Way{lab.WayHTTP, lab.WayProxy} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			tf := start(t, way, "network.tf")
			tf.Setenv("TF_VAR_work_requests", strconv.FormatBool(way == lab.WayProxy))
			life(t, tf)
		})
	}
}
