// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"crypto/rand"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// TestCgroups makes control groups on a host: they are the host's own, work, and are gone after the lab, also
// when it was killed.
func TestCgroups(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{Dir: filepath.Join(t.TempDir(), "lab")})
	status, err := l.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.NoContainers != "" {
		t.Skip(status.NoContainers)
	}
	name := "test-" + rand.Text()
	mustExec(t, l, "bastion", "sh", "-ec", `
		find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs | while read procs; do
			mkdir "${procs%/*}/$1"
			mkdir "${procs%/*}/$1/child"
		done
		grep -q '^0::/\|:/$' /proc/self/cgroup
		dir=$(dirname "$(find /sys/fs/cgroup -path "*/$1/cgroup.procs" | head -n 1)")
		sleep 1000 >/dev/null 2>&1 & echo $! >"$dir/cgroup.procs"
		grep -q "/$1$" /proc/$!/cgroup`, "sh", name)
	group := func() []string {
		var found []string
		for _, pattern := range []string{"/sys/fs/cgroup/ocihpc-lab-*/*/", "/sys/fs/cgroup/*/ocihpc-lab-*/*/", "/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
			dirs, err := filepath.Glob(pattern + name)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, dirs...)
		}
		return found
	}
	if len(group()) == 0 {
		t.Error("the host's groups are not in the machine's tree")
	}
	for _, dir := range group() {
		if filepath.Dir(filepath.Dir(dir)) == "/sys/fs/cgroup" {
			t.Errorf("%s is beside the machine's own groups", dir)
		}
	}
	if err := syscall.Kill(l.Info.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left := group(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
