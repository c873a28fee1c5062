// SPDX-License-Identifier: MPL-2.0

package official

import (
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// TestCompute goes by the proxy alone: the official provider's work request client takes no override.
func TestCompute(t *testing.T) {
	t.Parallel()
	life(t, start(t, lab.WayProxy, "compute.tf"))
}
