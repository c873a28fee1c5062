// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// cgroupNamespace is where everything that the host starts lives: the kernel keeps it for each thread, and
// a Go program's other threads stay in the machine's. Negative where the host has no cgroups of its own.
var cgroupNamespace = -1

// hideCgroups makes the host's cgroups, which the lab has put this process into, all that it sees. The caller's
// thread must be locked.
func hideCgroups(groups []Cgroup) error {
	if len(groups) == 0 {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make a cgroup namespace: %w", err)
	}
	fd, err := unix.Open("/proc/thread-self/ns/cgroup", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("keep the cgroup namespace: %w", err)
	}
	cgroupNamespace = fd
	return nil
}

// enterCgroupNamespace lets what this thread starts see the host's cgroups only.
func enterCgroupNamespace() error {
	if cgroupNamespace < 0 {
		return nil
	}
	if err := unix.Setns(cgroupNamespace, unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("enter the host's cgroup namespace: %w", err)
	}
	return nil
}

// mountCgroups shows the host's own cgroups where the machine has its, or else the machine's, read-only.
func mountCgroups(cfg Config) error {
	if _, err := os.Stat(CgroupDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if len(cfg.Cgroups) == 0 {
		return bindReadOnly(CgroupDir, cfg.Root+CgroupDir)
	}
	if cfg.Cgroups[0].Mount != CgroupDir {
		if err := mountNew(cfg, "tmpfs", CgroupDir, "mode=755", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC); err != nil {
			return err
		}
	}
	for _, group := range cfg.Cgroups {
		target := cfg.Root + group.Mount
		if err := os.MkdirAll(target, 0o755); err != nil {
			return fmt.Errorf("make /%s: %w", group.Mount, err)
		}
		if err := bind(group.Dir, target); err != nil {
			return err
		}
		if group.V2 && !cfg.Systemd {
			if err := leaveCgroupRoot(target); err != nil {
				return err
			}
		}
	}
	if cfg.Cgroups[0].Mount == CgroupDir {
		return nil
	}
	return copyLinks(CgroupDir, cfg.Root+CgroupDir)
}

// copyLinks copies the links of a directory to what the other has, too, such as those from one controller's name
// to its hierarchy.
func copyLinks(source, target string) error {
	entries, err := os.ReadDir(source)
	if err != nil {
		return fmt.Errorf("read %s: %w", source, err)
	}
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 {
			continue
		}
		link, err := os.Readlink(filepath.Join(source, entry.Name()))
		if _, missing := os.Stat(filepath.Join(target, link)); missing != nil {
			continue
		}
		if err == nil {
			err = os.Symlink(link, filepath.Join(target, entry.Name()))
		}
		if err != nil {
			return fmt.Errorf("make /%s/%s: %w", CgroupDir, entry.Name(), err)
		}
	}
	return nil
}

// leaveCgroupRoot moves this process to a child of the host's cgroup: version 2 gives controllers only to
// the children of a group without processes.
func leaveCgroupRoot(dir string) error {
	child := filepath.Join(dir, "init")
	if err := os.Mkdir(child, 0o755); err != nil {
		return fmt.Errorf("make the first process's cgroup: %w", err)
	}
	if err := os.WriteFile(filepath.Join(child, "cgroup.procs"), []byte("0"), 0); err != nil {
		return fmt.Errorf("join the first process's cgroup: %w", err)
	}
	EnableControllers(dir)
	return nil
}

// EnableControllers gives the children of a cgroup what controllers it has. One that is refused, as where
// processes are in the group itself, is missing in the lab: containers then run without that limit.
func EnableControllers(dir string) {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return
	}
	for _, controller := range strings.Fields(string(controllers)) {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
}
