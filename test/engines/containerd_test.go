// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// TestContainerd installs releases of a mirror: without nerdctl, whose source is not at hand everywhere, images are
// pulled by ctr, which has no safe way to take credentials.
func TestContainerd(t *testing.T) {
	t.Parallel()
	n := start(t, job.Containerd)
	open := containertest.StartRegistry(t, n.lab, containertest.Credentials{})
	n.image = open.Push(t, "team/busybox:1", containertest.Image(t, 1))
	bare := n.base
	bare.Images, bare.InsecureRegistries = []string{n.image}, []string{open.Address}
	bare.Versions = map[string]string{"nerdctl": job.NoComponent}

	t.Run("tampered", func(t *testing.T) { n.tampered(t, bare) })
	result := n.setUp(t, bare)
	if passes(t, result) == 0 {
		t.Error("nothing was changed")
	}
	n.seesGPUs(t, result)
	if got := result.Nodes[0].Setup.Versions; got["containerd"] == "" || got["runc"] == "" || got["cni_plugins"] == "" {
		t.Errorf("versions %v", got)
	}
	n.unchanged(t, bare)

	if os.Getenv("NERDCTL_BINARY") == "" {
		return
	}
	full := n.base
	full.Versions = map[string]string{}
	secrets := n.watchArguments(t)
	n.image = n.base.Images[0]
	for _, who := range []string{"", user} {
		full.RootlessUser = who
		result = n.setUp(t, full)
		passes(t, result)
		n.seesGPUs(t, result)
		n.unchanged(t, full)
	}
	secrets.nowhere(t)
}

// tampered changes an archive of the mirror after its manifest was made: it is refused, and nothing of it is installed.
func (n *nodes) tampered(t *testing.T, want job.ContainerRuntime) {
	archives, err := filepath.Glob(filepath.Join(n.mirror, "cni-plugins-*"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("%v, %v", archives, err)
	}
	good, err := os.ReadFile(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	write := func(content []byte) {
		if err := os.WriteFile(archives[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(bad)
	defer write(good)
	result := n.setUp(t, want)
	if result.Outcome != job.Fail || result.Failure.Kind != job.KindStepFailed {
		t.Fatalf("%s: %+v", result.Outcome, result.Failure)
	}
	for _, node := range result.Nodes {
		for _, sum := range []string{digest(good), digest(bad)} {
			if !strings.Contains(node.Setup.Failure.Message, sum) {
				t.Errorf("%s: %q does not name %s", node.Name, node.Setup.Failure.Message, sum)
			}
		}
	}
	if left := containertest.Run(t, n.lab, n.ids[1], "ls -A /opt/cni/bin /var/lib/ocihpc/downloads 2>/dev/null || true"); strings.Contains(left, "bridge") || strings.Contains(left, "cni") && strings.Contains(left, ".tgz") {
		t.Errorf("left on the node: %s", left)
	}
}
