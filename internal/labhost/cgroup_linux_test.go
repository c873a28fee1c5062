// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"reflect"
	"testing"
)

// TestParseHierarchies reads the mounts of machines with version 1, both, and version 2 of control groups.
func TestParseHierarchies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mounts string
		want   []hierarchy
	}{
		"version 2": {
			"proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate,memory_recursiveprot 0 0\n",
			[]hierarchy{{dir: "/sys/fs/cgroup", kind: "cgroup2"}},
		},
		"both": {
			"tmpfs /sys/fs/cgroup tmpfs ro,mode=755 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n" +
				"cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,release_agent=/lib/systemd/systemd-cgroups-agent,name=systemd 0 0\n" +
				"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n" +
				"cgroup /sys/fs/cgroup/net_cls,net_prio cgroup rw,relatime,net_cls,net_prio,clone_children 0 0\n",
			[]hierarchy{
				{dir: "/sys/fs/cgroup/unified", kind: "cgroup2"},
				{dir: "/sys/fs/cgroup/systemd", kind: "cgroup", controllers: []string{"name=systemd"}},
				{dir: "/sys/fs/cgroup/cpu,cpuacct", kind: "cgroup", controllers: []string{"cpu", "cpuacct"}},
				{dir: "/sys/fs/cgroup/net_cls,net_prio", kind: "cgroup", controllers: []string{"net_cls", "net_prio"}},
			},
		},
		"elsewhere": {"cgroup2 /run/cgroup2 cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/a/b cgroup rw,pids 0 0\nshort\n", nil},
	} {
		if got := parseHierarchies(test.mounts); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
