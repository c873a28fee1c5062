// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"syscall"
	"testing"
)

// TestRemoveStaleCgroups removes the cgroups of a dead lab several times at once, as labs do that start and end side by
// side: they are gone for each of them.
func TestRemoveStaleCgroups(t *testing.T) {
	t.Parallel()
	hierarchies, err := mountedHierarchies()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 || len(hierarchies) == 0 {
		t.Skip("only root's lab has control groups, and only where they are mounted")
	}
	c, err := newCgroups()
	if errors.Is(err, syscall.EROFS) {
		t.Skipf("control groups are mounted read-only, as in containers: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for number := range 4 {
		for i, group := range c.of(number) {
			if err := c.hierarchies[i].makeGroup(group.Dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A lab that is killed gives its lock up. Closing would not do here: a process that another test is about to start
	// holds the same descriptor until its exec.
	if err := syscall.Flock(int(c.lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	_ = c.lock.Close()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if err := RemoveStaleCgroups(Patience); err != nil {
				t.Log("another lab's:", err)
			}
			for _, h := range c.hierarchies {
				if _, err := os.Stat(filepath.Join(h.dir, c.name)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is left in %s (error: %v)", c.name, h.dir, err)
				}
			}
		})
	}
	wait.Wait()
}

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
