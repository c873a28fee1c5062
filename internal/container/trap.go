// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// trap is a step that finds what would make a later one, or the user's containers, fail in a way that is hard to
// understand. It changes nothing.
type trap struct {
	name, title string
	look        func(ctx context.Context) error
}

// ErrTrap says that the node is in a state in which containers cannot work.
var ErrTrap = errors.New("containers cannot work here")

func trapped(advice, format string, args ...any) error {
	return setup.Advise(fmt.Errorf("%w: %w", ErrTrap, fmt.Errorf(format, args...)), advice)
}

// Name tells the step.
func (t trap) Name() string { return t.name }

// Title says what the step does.
func (t trap) Title() string { return t.title }

// Check looks; what it finds is an error.
func (t trap) Check(ctx context.Context) (setup.State, error) {
	if err := t.look(ctx); err != nil {
		return setup.State{}, err
	}
	return setup.State{Done: true}, nil
}

// Apply is never needed: Check passes or fails.
func (t trap) Apply(ctx context.Context, _ io.Writer) error { return t.look(ctx) }

// Places that traps look at; tests give them a copy with a trap in it.
type places struct {
	proc, run, modules string
}

var here = places{proc: "/proc", run: "/run", modules: "/sys/module"}

// number reads a setting of the kernel; found is false where the kernel has no such setting.
func (p places) number(setting string) (value int, found bool) {
	text, err := os.ReadFile(filepath.Join(p.proc, "sys", setting))
	if err != nil {
		return 0, false
	}
	value, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return value, err == nil
}

// userNamespaces looks whether users may make user namespaces, which all rootless engines need.
func (p places) userNamespaces(context.Context) error {
	for _, setting := range []struct {
		name  string
		wrong int
		set   string
	}{
		{"user/max_user_namespaces", 0, "user.max_user_namespaces = 65536"},
		{"kernel/unprivileged_userns_clone", 0, "kernel.unprivileged_userns_clone = 1"},
	} {
		if value, found := p.number(setting.name); found && value == setting.wrong {
			return trapped(fmt.Sprintf("write %q to /etc/sysctl.d/90-userns.conf, and run `sysctl --system`", setting.set),
				"user namespaces are off: %s is %d", strings.ReplaceAll(setting.name, "/", "."), value)
		}
	}
	return nil
}

// restrictsUserNamespaces says whether AppArmor gives user namespaces to named programs alone (Ubuntu 24.04).
func (p places) restrictsUserNamespaces() bool {
	value, found := p.number("kernel/apparmor_restrict_unprivileged_userns")
	return found && value != 0
}

// systemd looks whether services can be managed.
func (p places) systemd(context.Context) error {
	if _, err := os.Stat(filepath.Join(p.run, "systemd/system")); err != nil {
		return trapped("use an image of Oracle Linux, Ubuntu or Debian that boots with systemd", "systemd is not this node's init: no service can be started")
	}
	return nil
}

// driver looks whether the node has its GPUs.
func (p places) driver(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(p.modules, "nouveau")); err == nil {
		return trapped("use an image with NVIDIA's driver (OCI's GPU images), or install the driver and blacklist nouveau", "the kernel has loaded nouveau, which keeps NVIDIA's driver off the GPUs")
	}
	if !installed("nvidia-smi") {
		return trapped("use an image with NVIDIA's driver (OCI's GPU images), or install the driver before", "there is no NVIDIA driver: nvidia-smi is not installed")
	}
	if _, err := answer(ctx, "nvidia-smi", "-L"); err != nil {
		return trapped("look at `dmesg | grep -i nvrm`; after an update of driver or kernel, reboot", "the NVIDIA driver does not answer: %w", err)
	}
	return nil
}

// mount is a line of mountinfo that matters here.
type mount struct{ point, kind string }

// mountOf finds the mount that a path is on, in the text of /proc/self/mountinfo.
func mountOf(mountinfo, path string) mount {
	var found mount
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kind) == 0 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(fields[4])
		inside := point == "/" || path == point || strings.HasPrefix(path, point+"/")
		if inside && len(point) >= len(found.point) { // the last of two on one point covers the first
			found = mount{point, kind[0]}
		}
	}
	return found
}

// remote names file systems on which container storage cannot work: they refuse what unpacking an image needs.
var remoteFileSystems = map[string]bool{"nfs": true, "nfs4": true, "lustre": true, "cifs": true, "ceph": true, "9p": true, "fuse.sshfs": true, "fuse.s3fs": true}

// minFree is the room that engines take before there is any image, in bytes.
const minFree = 2 << 30

// storage looks whether images can be unpacked at a place.
func (p places) storage(dir, setting string) func(context.Context) error {
	return func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(p.proc, "self/mountinfo"))
		if err != nil {
			return fmt.Errorf("look at the mounts: %w", err)
		}
		on := mountOf(string(text), dir)
		switch {
		case remoteFileSystems[on.kind]:
			return trapped("set data_root to a directory on a local disk, such as /mnt/localdisk/containers",
				"%s (%s) is on %s, a file system of the network (%s): images cannot be unpacked there (\"lchown: operation not permitted\")", dir, setting, on.point, on.kind)
		case on.kind == "overlay":
			return trapped("set data_root to a directory on a disk or a tmpfs",
				"%s (%s) is on an overlay: the engine cannot put its own overlays on it (\"invalid argument\")", dir, setting)
		}
		free, err := freeBytes(dir)
		if err != nil {
			return err
		}
		if free < minFree {
			return trapped("free room there, or set data_root to a larger disk, such as /mnt/localdisk/containers; an NGC image takes some 14 GB and as much again while it is unpacked",
				"%s (%s) has %d MB free, less than %d", dir, setting, free>>20, minFree>>20)
		}
		return nil
	}
}

// freeBytes is the room at a path, or at the nearest directory above it that is there.
func freeBytes(dir string) (int64, error) {
	var stat unix.Statfs_t
	for {
		err := unix.Statfs(dir, &stat)
		if err == nil {
			return int64(stat.Bavail) * stat.Bsize, nil // #nosec G115 -- file systems are smaller than 8 EiB
		}
		if !errors.Is(err, unix.ENOENT) || dir == "/" {
			return 0, fmt.Errorf("look at the room in %s: %w", dir, err)
		}
		dir = filepath.Dir(dir)
	}
}

// otherEngine looks for an engine that would share sockets and storage with the one that is wanted.
func (p *plan) otherEngine(ctx context.Context) error {
	if p.before != "" && p.before != p.want.Engine {
		return trapped(fmt.Sprintf("remove it first: the same container_runtime with engine = %q and remove", p.before),
			"%s was set up here before", p.before)
	}
	if p.want.Engine != job.Containerd || p.record.find(KindFile, unitDir+"/containerd.service", "") != nil {
		return nil
	}
	shown, err := answer(ctx, "systemctl", "show", "--property=ActiveState,FragmentPath", "containerd.service")
	if err != nil {
		return nil //nolint:nilerr // systemd has its own trap
	}
	if strings.Contains(shown, "ActiveState=active") && !strings.Contains(shown, "FragmentPath="+unitDir) {
		_, path, _ := strings.Cut(shown, "FragmentPath=")
		path, _, _ = strings.Cut(path, "\n")
		return trapped("take engine = docker where Docker is to stay; otherwise remove that package first",
			"another containerd runs already (%s): it has the same socket and the same storage", path)
	}
	return nil
}
