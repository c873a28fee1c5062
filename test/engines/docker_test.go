// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// TestDocker has two versions of Docker: one of them is too old for CDI, is set up where there are no GPUs, refused
// where there are, and then updated in place.
func TestDocker(t *testing.T) {
	t.Parallel()
	n := start(t, job.Docker)
	n.plant(t, "/etc/docker/daemon.json", "600", "root:root", `{"log-level": "warn"}`)
	before := n.lists(t)
	old := n.base
	old.Versions = map[string]string{"docker": "20.10.24"}
	refused(t, n.setUp(t, old), "Docker 20.10.24 does not know CDI, 25 is the first that does", "podman")
	if found := containertest.Run(t, n.lab, n.ids[1], "command -v dockerd || true"); found != "" {
		t.Errorf("it was installed nevertheless: %s", found)
	}
	secrets := n.watchSecrets(t)
	n.setShape(t, "")
	n.runs(t, "mv /usr/bin/nvidia-smi /usr/bin/nvidia-smi.away", "") // without a known shape the driver decides
	passes(t, n.setUp(t, old))
	n.runs(t, "docker run --rm --memory=50m "+n.image+" echo hello 2>/dev/null", "hello\n")

	n.runs(t, "mv /usr/bin/nvidia-smi.away /usr/bin/nvidia-smi", "")
	n.setShape(t, shapeName)
	refused(t, n.setUp(t, n.base), "Docker 20.10.24", "podman") // it is installed, and nobody has asked for another
	newer := n.base
	newer.Versions = map[string]string{"docker": "26.1.5"}
	result := n.setUp(t, newer)
	passes(t, result)
	n.seesGPUs(t, result)
	if got := result.Nodes[1].Setup.Versions["docker"]; !strings.HasPrefix(got, "26.1.5") {
		t.Errorf("it was updated to %q", got)
	}
	n.unchanged(t, newer)
	if kept := containertest.Run(t, n.lab, n.ids[1], "cat /etc/docker/daemon.json"); !strings.Contains(kept, `"log-level": "warn"`) {
		t.Errorf("settings of others are lost: %s", kept)
	}

	newer.RootlessUser = user
	result = n.setUp(t, newer)
	passes(t, result)
	n.seesGPUs(t, result)
	n.unchanged(t, newer)
	n.nowhere(t, secrets)
	n.removed(t, newer, before)
}

// runs expects that a line of root's says this on every node.
func (n *nodes) runs(t *testing.T, line, says string) {
	t.Helper()
	for _, id := range n.ids {
		if said := containertest.Run(t, n.lab, id, line); said != says {
			t.Errorf("%s says %q", line, said)
		}
	}
}
