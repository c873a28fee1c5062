// SPDX-License-Identifier: MPL-2.0

package containertest_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// fromMirror installs containerd of the mirror $1 as a service, and the toolkit, on a host with systemd; then
// containers of image $2 show the GPUs: of containerd and Docker for root, of Podman for root and for opc.
const fromMirror = `
export DEBIAN_FRONTEND=noninteractive
mkdir -p /tmp/mirror /opt/cni/bin
cd /tmp/mirror
for file in $(curl -fsS "$1/manifest.json" | sed -n 's/.*"file": "\(.*\)",/\1/p'); do curl -fsSO "$1/$file"; done
tar -C /usr/local -xf containerd-*.tar.gz
install -D runc.* /usr/local/sbin/runc
tar -C /opt/cni/bin -xf cni-plugins-*.tgz
tar -C /usr/local/bin -xf rootlesskit-*.tar.gz
tar -C /usr/local -xf bypass4netns-*.tar.gz
tar -xf nvidia-container-toolkit_*.tar.gz
apt-get install -qq -y $(find "$PWD" -name '*.deb') </dev/null >/dev/null 2>&1
printf '[Service]\nType=notify\nExecStart=/usr/local/bin/containerd\nDelegate=yes\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/containerd.service
systemctl daemon-reload
systemctl enable -q --now containerd
nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml
ctr image pull --plain-http "$2" >/dev/null
for program in containerd runc rootlesskit; do echo "$program: $($program --version | head -n 1)"; done
echo "nvidia-ctk: $(nvidia-ctk --version | head -n 1)"
echo "node:"
nvidia-smi -L
echo "ctr:"
ctr run --rm --device nvidia.com/gpu=all "$2" test nvidia-smi -L
echo "ctr, one GPU:"
ctr run --rm --device nvidia.com/gpu=3 "$2" test nvidia-smi -L
mkdir -p /etc/docker
echo "{\"insecure-registries\": [\"${2%%/*}\"], \"features\": {\"cdi\": true}}" >/etc/docker/daemon.json
apt-get install -qq -y --no-install-recommends docker.io docker-cli </dev/null >/dev/null 2>&1
echo "docker:"
docker run --quiet --rm --device nvidia.com/gpu=all "$2" nvidia-smi -L
apt-get install -qq -y --no-install-recommends podman slirp4netns fuse-overlayfs </dev/null >/dev/null 2>&1
echo "podman:"
podman run --quiet --rm --tls-verify=false --device nvidia.com/gpu=all "$2" nvidia-smi -L
echo "opc's podman:"
ssh -q -i /root/key -o StrictHostKeyChecking=no opc@localhost "podman run --quiet --rm --tls-verify=false --device nvidia.com/gpu=all $2 nvidia-smi -L"`

// TestReleases installs the mirror's programs on a host as their vendors say, and shows a host's GPUs in containers
// of root and of a user, by CDI.
func TestReleases(t *testing.T) {
	t.Parallel()
	dir, files := containertest.Releases(t)
	l := containertest.StartLab(t, lab.Config{Init: lab.InitSystemd})
	node := containertest.Launch(t, l, 1, "")[0].ID
	containertest.AddRepository(t, l, node)
	registry := containertest.StartRegistry(t, l, containertest.Credentials{})
	image := registry.Push(t, "test/busybox:1", containertest.Image(t, 1))
	key, err := os.ReadFile(l.Info.SSHPrivateKeyPath)
	if err != nil {
		t.Fatal(err)
	}
	containertest.Run(t, l, node, fmt.Sprintf("umask 077; cat >/root/key <<'E'\n%sE", key))
	out := containertest.Run(t, l, node, fmt.Sprintf("set -- %s %s\n%s", containertest.ServeDir(t, l, dir), image, fromMirror))
	said, shown, _ := strings.Cut(out, "node:\n")
	for _, f := range files {
		program := map[string]string{"containerd": "containerd", "runc": "runc", "rootlesskit": "rootlesskit", "nvidia_container_toolkit": "nvidia-ctk"}[f.Component]
		_, line, _ := strings.Cut("\n"+said, "\n"+program+": ")
		line, _, _ = strings.Cut(line, "\n")
		if program != "" && !strings.Contains(line, f.Version) {
			t.Errorf("%s says %q, and the mirror has %s", f.Component, line, f.Version)
		}
	}
	parts := regexp.MustCompile(`(?m)^(ctr|ctr, one GPU|docker|podman|opc's podman):\n`).Split(shown, -1)
	if len(parts) != 6 || strings.Count(parts[0], "GPU ") != 8 {
		t.Fatalf("no 8 GPUs, or fewer containers:\n%s", out)
	}
	for i, want := range []string{parts[0], strings.SplitAfter(parts[0], "\n")[3], parts[0], parts[0], parts[0]} {
		if parts[i+1] != want {
			t.Errorf("container %d saw %q, want %q", i, parts[i+1], want)
		}
	}
}
