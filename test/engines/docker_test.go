// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// TestDocker has Debian's Docker, which is too old for CDI: with GPUs it is refused before it is installed, and without
// it is set up and runs containers.
func TestDocker(t *testing.T) {
	t.Parallel()
	n := start(t, job.Docker)
	result := n.setUp(t, n.base)
	if result.Outcome != job.Fail || !strings.Contains(result.Failure.Message, "does not know CDI, 25 is the first that does") || !strings.Contains(result.Failure.Advice, "podman") {
		t.Fatalf("%s: %+v", result.Outcome, result.Failure)
	}
	if found := containertest.Run(t, n.lab, n.ids[1], "command -v dockerd || true"); found != "" {
		t.Errorf("it was installed nevertheless: %s", found)
	}
	n.setShape(t, "VM.Standard.E4.Flex")
	secrets := n.watchArguments(t)
	if passes(t, n.setUp(t, n.base)) == 0 {
		t.Error("nothing was changed")
	}
	n.unchanged(t, n.base)
	secrets.nowhere(t)
	for _, id := range n.ids {
		if said := containertest.Run(t, n.lab, id, "docker run --rm --memory=50m "+n.image+" echo hello 2>/dev/null"); said != "hello\n" {
			t.Errorf("the container says %q", said)
		}
	}
}
