// SPDX-License-Identifier: MPL-2.0

package containertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// engines run a container with the real engine, as root and as opc, on a host without systemd. $1 is an image of
// a registry without TLS.
var engines = map[string]struct{ packages, run string }{
	"containerd": {"containerd", `
		containerd >/var/log/containerd.log 2>&1 &
		until ctr version >/dev/null 2>&1; do kill -0 $!; sleep 0.1; done
		ctr image pull --plain-http "$1" >/dev/null
		ctr run --rm "$1" test echo "root: hello"`},
	"docker": {"docker.io docker-cli", `
		mkdir -p /etc/docker
		echo "{\"insecure-registries\": [\"${1%%/*}\"]}" >/etc/docker/daemon.json
		dockerd >/var/log/docker.log 2>&1 &
		until docker info >/dev/null 2>&1; do kill -0 $!; sleep 0.1; done
		docker run --rm --memory 100m "$1" echo "root: hello" 2>/dev/null`},
	"podman": {"podman slirp4netns fuse-overlayfs", `
		run="podman --cgroup-manager cgroupfs --events-backend file run --quiet --rm --tls-verify=false $1"
		$run echo "root: hello"
		su - opc -c "$run echo 'opc: hello'"`},
}

// TestEngines installs each container engine of the distribution on a host of its own lab, and runs a container.
func TestEngines(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := containertest.StartLab(t, lab.Config{})
			containertest.AddRepository(t, l, "bastion")
			registry := containertest.StartRegistry(t, l, containertest.Credentials{})
			image := registry.Push(t, "test/busybox:1", containertest.Image(t, 1))
			began := time.Now()
			if out := containertest.Run(t, l, "bastion", "command -v runc containerd dockerd podman || true"); out != "" {
				t.Errorf("the host has engines already: %s", out)
			}
			containertest.Run(t, l, "bastion", "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "+engine.packages+" </dev/null 2>&1")
			t.Logf("installed in %s", time.Since(began).Round(time.Millisecond))
			out := containertest.Run(t, l, "bastion", "set -- "+image+"\n"+engine.run)
			t.Logf("ran after %s: %s", time.Since(began).Round(time.Millisecond), out)
			for _, user := range []string{"root", "opc"} {
				if strings.Contains(engine.run, user+": hello") && !strings.Contains(out, user+": hello") {
					t.Errorf("no container ran for %s: %s", user, out)
				}
			}
			if registry.BlobsSent() == 0 {
				t.Error("the image was not pulled")
			}
		})
	}
}
