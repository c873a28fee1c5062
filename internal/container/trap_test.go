// SPDX-License-Identifier: MPL-2.0

package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// nodeWith is a node's /proc, /run and /sys/module with these files.
func nodeWith(t *testing.T, files map[string]string) places {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return places{proc: root + "/proc", run: root + "/run", modules: root + "/sys/module"}
}

const mounts = `22 1 259:2 / / rw,relatime shared:1 - xfs /dev/nvme0n1p2 rw
30 22 0:31 / /home rw shared:20 - nfs4 10.0.0.5:/home rw
31 22 253:0 / /mnt/localdisk rw - xfs /dev/mapper/nvme-lvol0 rw
32 22 0:40 / /mnt/with\040space rw - overlay overlay rw
33 30 0:41 / /home/local rw - ext4 /dev/sdb rw
`

func TestTraps(t *testing.T) {
	t.Parallel()
	node := func(files map[string]string) places { return nodeWith(t, files) }
	mounted := node(map[string]string{"proc/self/mountinfo": mounts})
	for _, c := range []struct {
		name         string
		look         error
		says, advice string
	}{
		{"user namespaces off (RHEL)", node(map[string]string{"proc/sys/user/max_user_namespaces": "0\n"}).userNamespaces(t.Context()), "user.max_user_namespaces is 0", "sysctl --system"},
		{"user namespaces off (Debian)", node(map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n"}).userNamespaces(t.Context()), "kernel.unprivileged_userns_clone is 0", "unprivileged_userns_clone = 1"},
		{"user namespaces on", node(map[string]string{"proc/sys/user/max_user_namespaces": "63000\n"}).userNamespaces(t.Context()), "", ""},
		{"no systemd", node(nil).systemd(t.Context()), "systemd is not this node's init", "boots with systemd"},
		{"nouveau", node(map[string]string{"sys/module/nouveau/refcnt": "1"}).driver(t.Context()), "nouveau", "blacklist nouveau"},
		{"home on NFS", mounted.storage("/home/usera/.local/share/containerd", "storage")(t.Context()), "/home, a file system of the network (nfs4)", "/mnt/localdisk/containers"},
		{"on an overlay", mounted.storage("/mnt/with space/x", "storage")(t.Context()), "is on an overlay", "tmpfs"},
		{"local", mounted.storage("/home/local/usera", "storage")(t.Context()), "", ""},
		{"Docker without CDI", cdiInDocker("20.10.24+dfsg1"), "Docker 20.10.24+dfsg1 does not know CDI", "docker-ce"},
		{"Docker with CDI", cdiInDocker("28.5.1"), "", ""},
		{"other engine", (&plan{before: job.Docker, want: job.ContainerRuntime{Engine: job.Containerd}, record: &Record{}}).otherEngine(t.Context()), "docker was set up here before", `engine = "docker"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.says == "" {
				if c.look != nil {
					t.Errorf("trapped without reason: %v", c.look)
				}
				return
			}
			if !errors.Is(c.look, ErrTrap) || !strings.Contains(c.look.Error(), c.says) || !strings.Contains(setup.AdviceOf(c.look), c.advice) {
				t.Errorf("says %v; advice: %s", c.look, setup.AdviceOf(c.look))
			}
		})
	}
}

func TestDelegation(t *testing.T) {
	t.Parallel()
	node := nodeWith(t, map[string]string{
		"run/cgroup.controllers": "cpu memory pids\n",
		"run/user.slice/user-1.slice/user@1.service/cgroup.controllers": "memory pids\n",
		"run/user.slice/user-2.slice/user@2.service/cgroup.controllers": "cpuset cpu io memory pids\n",
	})
	if err := delegation(node.run, 1); !errors.Is(err, ErrTrap) || !strings.Contains(err.Error(), "controllers cpu are") {
		t.Errorf("without cpu: %v", err)
	}
	if err := delegation(node.run, 2); err != nil {
		t.Error(err)
	}
	if err := delegation(t.TempDir(), 1); err != nil {
		t.Errorf("cgroup v1: %v", err)
	}
}

func TestMemlockOf(t *testing.T) {
	t.Parallel()
	const limits = "Limit                     Soft Limit           Hard Limit           Units     \nMax locked memory         %s           %s           bytes     \n"
	for _, limit := range []string{"8388608", "unlimited"} {
		if got := memlockOf(strings.ReplaceAll(limits, "%s", limit)); got != limit {
			t.Errorf("%s is read as %s", limit, got)
		}
	}
	if got := memlockOf(""); got != "unknown" {
		t.Errorf("nothing is read as %s", got)
	}
}
