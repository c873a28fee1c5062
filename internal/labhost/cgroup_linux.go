// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/hostinit"
)

// cgroupPrefix begins the names of the labs' cgroups, which are at the root of every hierarchy.
const cgroupPrefix = "ocihpc-lab-"

// cgroups are the part of the machine's control groups that a lab has: in each hierarchy one group, and one
// in it for each host, which is all that the host sees. Unlike all else they outlive the lab's namespaces:
// a lab that is killed leaves them to [RemoveStaleCgroups].
type cgroups struct {
	name        string
	hierarchies []hierarchy
	lock        *os.File // held as long as the lab lives
}

// hierarchy is a mounted tree of control groups.
type hierarchy struct {
	dir         string   // where it is mounted
	kind        string   // cgroup or cgroup2
	controllers []string // of the mount, such as cpu and cpuacct, or name=systemd; none for cgroup2
}

// newCgroups makes the lab's cgroups.
func newCgroups() (*cgroups, error) {
	_ = RemoveStaleCgroups(0) // processes of a lab that was killed may be ending just now; the next lab removes what stays
	hierarchies, err := mountedHierarchies()
	if err != nil {
		return nil, err
	}
	if len(hierarchies) == 0 {
		return nil, errors.New("no cgroup file system is mounted at " + hostinit.CgroupDir)
	}
	c := &cgroups{name: cgroupPrefix + strings.ToLower(rand.Text()[:8]), hierarchies: hierarchies}
	for i, h := range hierarchies {
		if err := h.makeGroup(filepath.Join(h.dir, c.name)); err != nil {
			return nil, errors.Join(fmt.Errorf("make the lab's cgroups: %w", err), c.remove())
		}
		if i == 0 {
			if c.lock, err = lockGroup(filepath.Join(h.dir, c.name), unix.LOCK_EX); err != nil {
				return nil, errors.Join(err, c.remove())
			}
		}
	}
	return c, nil
}

// lockGroup locks a cgroup's directory: LOCK_EX by the lab, so that nobody takes it for a dead one's; LOCK_SH by those
// who remove it, side by side.
func lockGroup(dir string, how int) (*os.File, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock the lab's cgroup: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB); err != nil { // #nosec G115 -- descriptors are small
		_ = file.Close()
		return nil, fmt.Errorf("lock the lab's cgroup: %w", err)
	}
	return file, nil
}

// add makes the cgroups of a host and puts its first process into them.
func (c *cgroups) add(number, pid int) error {
	for i, group := range c.of(number) {
		if err := c.hierarchies[i].makeGroup(group.Dir); err != nil {
			return fmt.Errorf("make the host's cgroups: %w", err)
		}
		if slices.Contains(c.hierarchies[i].controllers, "cpu") {
			continue // A whole host would weigh as one process, and take minutes to boot on a busy machine.
		}
		if err := os.WriteFile(filepath.Join(group.Dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("join the host's cgroups: %w", err)
		}
	}
	return nil
}

// of gives the groups of a host.
func (c *cgroups) of(number int) []hostinit.Cgroup {
	groups := make([]hostinit.Cgroup, 0, len(c.hierarchies))
	for _, h := range c.hierarchies {
		groups = append(groups, hostinit.Cgroup{Dir: filepath.Join(h.dir, c.name, strconv.Itoa(number)), Mount: h.dir, V2: h.kind == "cgroup2"})
	}
	return groups
}

// drop removes the cgroups of a host that has ended, with those that it made.
func (c *cgroups) drop(number int) error { return c.removeAll(strconv.Itoa(number)) }

// remove removes all cgroups of the lab; no process may be in them.
func (c *cgroups) remove() error {
	if c.lock != nil {
		_ = c.lock.Close()
	}
	return c.removeAll("")
}

// removeAll leaves the first hierarchy to the end: by its groups [RemoveStaleCgroups] finds a removal that was not finished.
func (c *cgroups) removeAll(below string) error {
	var failed error
	for _, h := range slices.Backward(c.hierarchies) {
		failed = errors.Join(failed, removeGroup(filepath.Join(h.dir, c.name, below)))
	}
	return failed
}

// mountedHierarchies reads which hierarchies of control groups are mounted where they should be.
func mountedHierarchies() ([]hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("read the machine's mounts: %w", err)
	}
	return parseHierarchies(string(mounts)), nil
}

// parseHierarchies finds them in a text like that of /proc/self/mounts.
func parseHierarchies(mounts string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line) // device, directory, type, options
		if len(fields) < 4 || (fields[2] != "cgroup" && fields[2] != "cgroup2") {
			continue
		}
		h := hierarchy{dir: fields[1], kind: fields[2]}
		if h.dir != hostinit.CgroupDir && filepath.Dir(h.dir) != hostinit.CgroupDir {
			continue
		}
		if h.kind == "cgroup" {
			h.controllers = slices.DeleteFunc(strings.Split(fields[3], ","), isNoController)
		}
		found = append(found, h)
	}
	return found
}

// isNoController says whether an option of a cgroup mount is not what names its hierarchy.
func isNoController(option string) bool {
	switch option {
	case "rw", "ro", "nosuid", "nodev", "noexec", "relatime", "noatime", "xattr", "noprefix", "clone_children", "cpuset_v2_mode":
		return true
	}
	return strings.HasPrefix(option, "release_agent=")
}

// makeGroup makes a cgroup whose children can have what its parent has.
func (h hierarchy) makeGroup(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	switch {
	case h.kind == "cgroup2":
		hostinit.EnableControllers(filepath.Dir(dir))
	case slices.Contains(h.controllers, "cpuset"): // else it has no processor, and takes no process
		for _, setting := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), setting))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, setting), value, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// Patience is how long the processes of a host that was killed may take to leave its cgroups.
const Patience = 5 * time.Second

// removeGroup removes a cgroup with those in it; one that is gone is no error.
func removeGroup(dir string) error {
	for deadline := time.Now().Add(Patience); ; time.Sleep(10 * time.Millisecond) {
		err := removeTree(dir)
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return err
		}
	}
}

func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove a cgroup: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove cgroup %s: %w", dir, err)
	}
	return nil
}

// RemoveStaleCgroups removes the cgroups of labs that have ended without doing so themselves. It waits for processes
// that are ending just now as long as patience says, and leaves the groups of those that stay.
func RemoveStaleCgroups(patience time.Duration) error {
	hierarchies, err := mountedHierarchies()
	if err != nil || len(hierarchies) == 0 || os.Geteuid() != 0 {
		return err // a plain user's lab has none
	}
	var failed error
	dirs, err := filepath.Glob(filepath.Join(hierarchies[0].dir, cgroupPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		lock, err := lockGroup(dir, unix.LOCK_SH)
		if err != nil {
			continue // It is a running lab's, or has just been removed.
		}
		stale := &cgroups{name: filepath.Base(dir), hierarchies: hierarchies, lock: lock}
		for deadline := time.Now().Add(patience); stale.populated() && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		if stale.populated() {
			_ = lock.Close()
			continue
		}
		failed = errors.Join(failed, stale.remove())
	}
	return failed
}

// populated says whether a process is in any of the lab's groups.
func (c *cgroups) populated() bool {
	found := false
	for _, h := range c.hierarchies {
		_ = filepath.WalkDir(filepath.Join(h.dir, c.name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil //nolint:nilerr // a group that is gone has no process
			}
			processes, _ := os.ReadFile(filepath.Join(path, "cgroup.procs")) // nor has this one
			if found = found || len(processes) > 0; found {
				return fs.SkipAll
			}
			return nil
		})
	}
	return found
}
