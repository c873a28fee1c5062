// SPDX-License-Identifier: MPL-2.0

package official

import (
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// TestGPUCluster has both providers in one graph: the network of OCI's own, the cluster of ours, read back
// by OCI's own.
func TestGPUCluster(t *testing.T) {
	t.Parallel()
	tf := startWith(t, lab.WayProxy, "gpu_cluster.tf", map[string]string{
		"oracle/oci":   acctest.OfficialProvider(t),
		acctest.Source: acctest.Provider(t),
	})
	life(t, tf)
}
