// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// trap is a state of a host in which containers would not work; a set-up names it, and what to do, or would put it right.
type trap struct {
	step, make, undo string
	outcome          job.StepOutcome
	says, advises    string
}

// networkHome has the home directory on a file system of the network, whose server is gone. The machine may know no NFS:
// the kernel's FUSE, under sshfs's name, is one that it takes for its kind.
const networkHome = `python3 -c "
import ctypes, os
kernel = ctypes.CDLL(None, use_errno=True)
options = b'fd=%d,rootmode=40000,user_id=0,group_id=0' % os.open('/dev/fuse', os.O_RDWR)
raise SystemExit(kernel.mount(b'filer:/home', b'/home/opc', b'fuse.sshfs', 0, options) and os.strerror(ctypes.get_errno()))"`

var traps = []trapRound{
	{[]string{"--engine", "containerd", "--rootless-user", "opc"}, []trap{
		{"check-systemd", "", "", job.StepFailed, "systemd is not this node's init", "boots with systemd"},
		{"check-user-namespaces", "echo 0 > /run/zero; mount --bind /run/zero /proc/sys/user/max_user_namespaces", "umount /proc/sys/user/max_user_namespaces", job.StepFailed, "user namespaces are off: user.max_user_namespaces is 0", "sysctl --system"},
		{"check-storage", networkHome, "umount /home/opc", job.StepFailed, "/home/opc/.local/share/containerd (the storage of opc's engine) is on /home/opc, a file system of the network (fuse.sshfs)", "data_root to a directory on a local disk"},
		{"check-nvidia-driver", "mv /etc/ocihpc-lab-gpus /etc/keep", "mv /etc/keep /etc/ocihpc-lab-gpus", job.StepFailed, "the NVIDIA driver does not answer: ", "dmesg"},
		{"sudo-path", "echo 'Defaults secure_path = \"/sbin:/bin:/usr/sbin:/usr/bin\"' > /etc/sudoers.d/99-oracle", "rm /etc/sudoers.d/99-oracle", job.StepWouldChange, "it lacks /usr/local/bin and /usr/local/sbin", ""},
		{"containerd-unit", "", "", job.StepWouldChange, "it is not there", ""},
		{"rootless-memlock", "", "", job.StepWouldChange, "it is not there", ""},
		{"rootless-linger", "", "", job.StepWouldChange, "they end with the last session", ""}, // su and sudo make no session
		{"rootless-sub-ids", "mount --bind /dev/null /etc/subuid", "umount /etc/subuid", job.StepWouldChange, "opc", ""},
	}},
	{[]string{"--engine", "containerd", "--data-root", "/mnt/small"}, []trap{
		{"check-storage", "mkdir -p /mnt/small; mount -t tmpfs -o size=4m none /mnt/small", "umount /mnt/small", job.StepFailed, "/mnt/small/containerd (the engine's storage) has 4 MB free, less than 2048", "a larger disk"},
		{"check-nvidia-driver", "mkdir -p /run/module/nouveau; mount --bind /run/module /sys/module", "umount /sys/module", job.StepFailed, "the kernel has loaded nouveau", "blacklist nouveau"},
	}},
}

// trapRound are traps that are on the host at the same time, for a set-up with these flags.
type trapRound struct {
	flags []string
	traps []trap
}

// traps has set-ups look at the host with all traps of a round at once.
func (c checked) traps(t *testing.T) {
	for _, round := range traps {
		makes, undoes := []string{"set -e"}, []string{"set -e"}
		for _, trap := range round.traps {
			makes, undoes = append(makes, trap.make), append(undoes, trap.undo)
		}
		mustExec(t, c.l, c.host, "sh", "-c", strings.Join(makes, "\n"))
		out, err := c.l.Exec(t.Context(), c.host, append([]string{runnerOnHost, "setup", "--dry-run", "--output", "json"}, round.flags...)...)
		mustExec(t, c.l, c.host, "sh", "-c", strings.Join(undoes, "\n"))
		var result job.Result
		if decoding := json.Unmarshal(out, &result); decoding != nil || err == nil || len(result.Nodes) != 1 || result.Nodes[0].Setup == nil {
			t.Fatalf("%v: %v: %s", err, decoding, out)
		}
		found := map[string]job.StepResult{}
		for _, step := range result.Nodes[0].Setup.Steps {
			found[step.Name] = step
		}
		for _, trap := range round.traps {
			step := found[trap.step]
			if step.Outcome != trap.outcome || !strings.Contains(step.Message, trap.says) || !strings.Contains(step.Advice, trap.advises) {
				t.Errorf("%s: %+v", trap.step, step)
			}
		}
		if said := err.Error(); !strings.Contains(said, "containers cannot work here: systemd is not this node's init") {
			t.Error(said)
		}
	}
}
