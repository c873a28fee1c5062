// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// TestPodman has its first set-up disturbed: one node waits for packages that somebody else installs, the other is reset
// while it installs Podman.
func TestPodman(t *testing.T) {
	t.Parallel()
	n := start(t, job.Podman)
	before := n.lists(t)
	secrets := n.watchSecrets(t)
	others := n.disturb(t)
	result := n.setUp(t, n.base)
	others(t)
	if passes(t, result) == 0 {
		t.Error("nothing was changed")
	}
	n.seesGPUs(t, result)
	n.unchanged(t, n.base)

	rootless := n.base
	rootless.RootlessUser = user
	result = n.setUp(t, rootless)
	passes(t, result)
	n.seesGPUs(t, result)
	n.unchanged(t, rootless)
	n.nowhere(t, secrets)

	for node := range n.ids {
		seen := n.as(t, node, "podman run --rm --memory=50m --device nvidia.com/gpu=all "+n.image+" nvidia-smi -L")
		if !strings.Contains(seen, gpuName) {
			t.Errorf("a rootless container sees %q", seen)
		}
	}
	n.removed(t, rootless, before)
}
