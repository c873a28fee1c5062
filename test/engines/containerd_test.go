// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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
	image := open.Push(t, "team/busybox:1", containertest.Image(t, 1))
	n.plant(t, "/etc/containerd/config.toml", "640", "root:adm", "# somebody's\n")
	proxied := n.proxy(t)
	before := n.lists(t)
	bare := n.base
	bare.Mirror = "http://mirror.example.com/" // which only the proxy reaches
	bare.Images, bare.InsecureRegistries = []string{image}, []string{open.Address}
	bare.Versions = map[string]string{"nerdctl": job.NoComponent}

	secrets := n.watchSecrets(t)
	t.Run("no such mirror", func(t *testing.T) {
		want := bare
		want.Mirror = "http://" + open.Address + "/nothing"
		refused(t, n.setUp(t, want), "read the manifest of mirror "+want.Mirror+": download "+want.Mirror+"/manifest.json: the server says 404", "whether the address is right")
		want.Mirror = "http://169.254.169.254:1"
		refused(t, n.setUp(t, want), "connection refused", "proxy (https_proxy in /etc/environment)")
	})
	t.Run("no such version", func(t *testing.T) {
		want := bare
		want.Versions = map[string]string{"nerdctl": job.NoComponent, "containerd": "2.99.0"}
		refused(t, n.setUp(t, want), "it has no containerd 2.99.0 for linux/", "versions")
	})
	t.Run("tampered", func(t *testing.T) { n.tampered(t, bare) })
	n.image = image
	result := n.setUp(t, bare)
	if passes(t, result) == 0 {
		t.Error("nothing was changed")
	}
	if proxied.Load() == 0 {
		t.Error("nothing was downloaded through the proxy")
	}
	n.seesGPUs(t, result)
	if got := result.Nodes[0].Setup.Versions; got["containerd"] == "" || got["runc"] == "" || got["cni_plugins"] == "" {
		t.Errorf("versions %v", got)
	}
	n.unchanged(t, bare)
	t.Run("another version", func(t *testing.T) { n.updated(t, bare) })
	t.Run("a login that ctr cannot keep secret", func(t *testing.T) {
		want := bare
		want.Images, want.InsecureRegistries = n.base.Images, n.base.InsecureRegistries
		refused(t, n.setUp(t, want), "ctr takes credentials of registries on its command line alone", "nerdctl")
	})

	if os.Getenv("NERDCTL_BINARY") == "" {
		n.nowhere(t, secrets)
		n.removed(t, bare, before)
		return
	}
	full := n.base
	full.Versions = map[string]string{}
	full.Mirror = bare.Mirror
	n.image = n.base.Images[0]
	for _, who := range []string{"", user} {
		full.RootlessUser = who
		result = n.setUp(t, full)
		passes(t, result)
		n.seesGPUs(t, result)
		n.unchanged(t, full)
	}
	n.nowhere(t, secrets)
	const all = "/usr/local/bin/nerdctl run --rm --gpus all "
	for node, id := range n.ids {
		if seen := containertest.Run(t, n.lab, id, all+n.image+" nvidia-smi -L"); strings.Count(seen, gpuName) != 4 {
			t.Errorf("a container of root's sees %q", seen)
		}
		if seen := n.as(t, node, all+n.image+" nvidia-smi -L"); strings.Count(seen, gpuName) != 4 {
			t.Errorf("a rootless container sees %q", seen)
		}
	}
	n.removed(t, full, before)
}

// proxyPassword is in the URL of the nodes' proxy, which /etc/environment holds by nature.
const proxyPassword = "sw0rdfish-of-the-proxy"

// proxy has the nodes reach what is outside through a proxy that asks for a password, and counts what it was asked for.
// Behind it is the mirror.
func (n *nodes) proxy(t *testing.T) *atomic.Int64 {
	t.Helper()
	var asked atomic.Int64
	files := http.FileServer(http.Dir(n.mirror))
	address := containertest.Serve(t, n.lab, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte("proxy-user:"+proxyPassword))
		if r.Header.Get("Proxy-Authorization") != want || r.URL.Host != "mirror.example.com" {
			http.Error(w, "not through this proxy", http.StatusProxyAuthRequired)
			return
		}
		asked.Add(1)
		files.ServeHTTP(w, r)
	}))
	n.runs(t, fmt.Sprintf("printf 'http_proxy=http://proxy-user:%s@%s/\\nno_proxy=169.254.169.254\\n' >>/etc/environment", proxyPassword, address), "")
	return &asked
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
	refused(t, result, "wrong SHA-256", "it was changed on its way or at its source, and is not used")
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

// updated installs another version of containerd, and then the first again, while a container runs.
func (n *nodes) updated(t *testing.T, want job.ContainerRuntime) {
	first := n.setUp(t, want).Nodes[0].Setup.Versions["containerd"]
	other := first[:len(first)-1] + "0" // such as 2.2.0 of 2.2.7
	containertest.AddVersion(t, n.mirror, "containerd", other)
	n.runs(t, "ctr run --detach "+n.image+" sleeper sleep 1000", "")
	changed := want
	changed.Versions = map[string]string{"nerdctl": job.NoComponent, "containerd": other}
	for _, step := range []struct {
		want    job.ContainerRuntime
		version string
	}{{changed, other}, {want, first}} {
		result := n.setUp(t, step.want)
		passes(t, result)
		for _, node := range result.Nodes {
			if got := node.Setup.Versions["containerd"]; got != step.version {
				t.Errorf("%s: %s after the update to %s", node.Name, got, step.version)
			}
		}
		n.runs(t, "ctr version | grep -c "+step.version, "2\n") // what runs, too
		n.runs(t, "ctr tasks list | grep -c 'sleeper.*RUNNING'", "1\n")
		n.unchanged(t, step.want)
	}
	gone := want
	gone.Remove, gone.Images = true, nil
	refused(t, n.setUp(t, gone), "1 containers run with ctr", "stop them first")
	n.runs(t, "ctr tasks kill -s KILL sleeper; until ctr containers rm sleeper 2>/dev/null; do sleep 0.1; done", "")
}
