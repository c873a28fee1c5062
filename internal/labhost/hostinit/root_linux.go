// SPDX-License-Identifier: MPL-2.0

package hostinit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// makeRoot mounts the host's root and makes it this process's. It attaches the host's NVMe devices.
func makeRoot(cfg Config, devices *nvme) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep the host's mounts private: %w", err)
	}
	for _, overlay := range cfg.Overlays {
		if err := mountOverlay(cfg, overlay); err != nil {
			return err
		}
	}
	if err := mountNew(cfg, "tmpfs", "run", "mode=755", 0); err != nil {
		return err
	}
	for _, mount := range []func(Config) error{bindMachineMounts, mountKernel, mountDev} {
		if err := mount(cfg); err != nil {
			return err
		}
	}
	for _, dir := range []string{"run/sshd", "run/lock"} {
		if err := os.MkdirAll(filepath.Join(cfg.Root, dir), 0o755); err != nil {
			return fmt.Errorf("make /%s: %w", dir, err)
		}
	}
	devices.attach(cfg)
	if err := mountClasses(cfg, devices.devices); err != nil {
		return err
	}
	return pivot(cfg.Root)
}

func mountOverlay(cfg Config, overlay Overlay) error {
	target := filepath.Join(cfg.Root, overlay.Target)
	if len(overlay.Lower) == 0 {
		return bindDisk(cfg, overlay.Upper, target)
	}
	// A disk outlives the layers below it, which are made anew with the lab: no index of them may be kept.
	options := fmt.Sprintf("index=off,lowerdir=%s,upperdir=%s,workdir=%s", strings.Join(overlay.Lower, ":"), overlay.Upper, overlay.Work)
	if cfg.UserNamespace {
		options += ",userxattr" // trusted.* attributes need the machine's root
	}
	if err := unix.Mount("overlay", target, "overlay", 0, options); err != nil {
		return fmt.Errorf("mount an overlay at /%s (%s): %w", overlay.Target, options, err)
	}
	return nil
}

// bindDisk shows a directory of the host's disk. Whatever the machine does not allow on that file system, such
// as programs, is a matter of the machine's own mount.
func bindDisk(cfg Config, source, target string) error {
	if err := bind(source, target); err != nil {
		return err
	}
	if cfg.UserNamespace {
		return nil // It may not take a restriction away.
	}
	free := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, target, 0, &free); err != nil {
		return fmt.Errorf("allow programs on %s (this needs Linux 5.12): %w", target, err)
	}
	return nil
}

// bindMachineMounts shows, read-only, what is mounted below the machine's directories that the host
// shows: an overlay leaves it out. In containers these are the NVIDIA driver's files.
func bindMachineMounts(cfg Config) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return fmt.Errorf("read the machine's mounts: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !slices.ContainsFunc(cfg.Overlays, func(o Overlay) bool {
			return slices.Contains(o.Lower, "/"+o.Target) && strings.HasPrefix(fields[1], "/"+o.Target+"/")
		}) {
			continue
		}
		source := unescape(fields[1])
		target := cfg.Root + source
		if _, err := os.Stat(target); err != nil {
			continue // hidden by another mount, or by the host's own files
		}
		if err := bindReadOnly(source, target); err != nil {
			return err
		}
	}
	return nil
}

// unescape decodes a path as /proc/self/mounts has it.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

func mountNew(cfg Config, kind, target, options string, flags uintptr) error {
	path := filepath.Join(cfg.Root, target)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("make /%s: %w", target, err)
	}
	if err := unix.Mount(kind, path, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s at /%s: %w", kind, target, err)
	}
	return nil
}

// bind shows a file or directory of the machine at a path of the host, which must exist.
func bind(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", source, target, err)
	}
	return nil
}

// bindReadOnly is bind for what the host shall not change, with all that is mounted below it.
func bindReadOnly(source, target string) error {
	if err := bind(source, target); err != nil {
		return err
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_RECURSIVE, &readOnly); err != nil {
		return fmt.Errorf("make %s read-only (this needs Linux 5.12): %w", target, err)
	}
	return nil
}

func mountKernel(cfg Config) error {
	if err := mountNew(cfg, "proc", "proc", "", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC); err != nil {
		return err
	}
	if err := protectSysctl(filepath.Join(cfg.Root, "proc/sys")); err != nil {
		return err
	}
	for _, name := range []string{"sysrq-trigger", "irq", "bus", "fs"} { // the machine's, too
		path := filepath.Join(cfg.Root, "proc", name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := bindReadOnly(path, path); err != nil {
			return err
		}
	}
	if err := mountNew(cfg, "sysfs", "sys", "", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY); err != nil {
		return err
	}
	if err := mountCgroups(cfg); err != nil {
		return err
	}
	return mountComplete(cfg)
}

// completeDir has what a container of a plain user needs and root alone reaches: the kernel lets a user
// namespace mount proc and sysfs only where there is one of each that nothing lies over.
const completeDir = "run/ocihpc-lab"

func mountComplete(cfg Config) error {
	if err := os.Mkdir(filepath.Join(cfg.Root, completeDir), 0o700); err != nil {
		return fmt.Errorf("make /%s: %w", completeDir, err)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := mountNew(cfg, "proc", completeDir+"/proc", "", flags); err != nil {
		return err
	}
	return mountNew(cfg, "sysfs", completeDir+"/sys", "", flags|unix.MS_RDONLY)
}

// protectSysctl makes the kernel's settings read-only, which are the machine's, but for those of the
// network, which are the host's own.
func protectSysctl(sysctl string) error {
	if err := bind(sysctl, sysctl); err != nil {
		return err
	}
	if err := bind(filepath.Join(sysctl, "net"), filepath.Join(sysctl, "net")); err != nil {
		return err
	}
	flags := uintptr(unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if err := unix.Mount("", sysctl, "", flags, ""); err != nil {
		return fmt.Errorf("make /proc/sys read-only: %w", err)
	}
	return nil
}

// mountClasses puts what OCI's hardware shows in /sys/class over the machine's.
func mountClasses(cfg Config, nvmeDevices int) error {
	class := filepath.Join(cfg.Root, "sys/class")
	tag := filepath.Join(class, "dmi/id/chassis_asset_tag")
	_, err := os.Stat(tag)
	hasDMI := err == nil
	var own []string
	if !hasDMI {
		own = append(own, "dmi")
	}
	if nvmeDevices > 0 {
		own = append(own, "nvme")
	}
	if len(own) > 0 {
		if err := replaceClasses(class, own); err != nil {
			return err
		}
	}
	if err := describeNVMe(filepath.Join(class, "nvme"), nvmeDevices); err != nil {
		return err
	}
	return writeAssetTag(cfg, tag, hasDMI)
}

// chassisAssetTag is how cloud-init's Oracle data source knows that it runs on OCI.
const chassisAssetTag = "OracleCloud.com\n"

// writeAssetTag shows OCI's chassis asset tag, in the machine's DMI where that is there.
func writeAssetTag(cfg Config, tag string, hasDMI bool) error {
	file := tag
	if hasDMI {
		file = filepath.Join(filepath.Dir(cfg.Root), "chassis_asset_tag")
	} else if err := os.MkdirAll(filepath.Dir(tag), 0o755); err != nil {
		return fmt.Errorf("make /sys/class/dmi/id: %w", err)
	}
	if err := os.WriteFile(file, []byte(chassisAssetTag), 0o444); err != nil { // #nosec G306 -- as in sysfs
		return fmt.Errorf("write the chassis asset tag: %w", err)
	}
	if hasDMI {
		return bind(file, tag)
	}
	return nil
}

// replaceClasses puts a directory over /sys/class that has every class of the kernel but those of the host's own.
func replaceClasses(class string, own []string) error {
	entries, err := os.ReadDir(class)
	if err != nil {
		return fmt.Errorf("read /sys/class: %w", err)
	}
	original, err := os.Open(class)
	if err != nil {
		return fmt.Errorf("open /sys/class: %w", err)
	}
	defer func() { _ = original.Close() }()
	if err := unix.Mount("tmpfs", class, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount a tmpfs at /sys/class: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() || slices.Contains(own, entry.Name()) {
			continue
		}
		if err := os.Mkdir(filepath.Join(class, entry.Name()), 0o755); err != nil {
			return fmt.Errorf("make /sys/class/%s: %w", entry.Name(), err)
		}
		source := fmt.Sprintf("/proc/self/fd/%d/%s", original.Fd(), entry.Name())
		if err := bind(source, filepath.Join(class, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// mountDev makes a /dev with the given devices.
func mountDev(cfg Config) error {
	if err := mountNew(cfg, "tmpfs", "dev", "mode=755", unix.MS_NOSUID); err != nil {
		return err
	}
	for _, device := range cfg.Devices {
		if err := makeDevice(device, filepath.Join(cfg.Root, device)); err != nil {
			return fmt.Errorf("make %s: %w", device, err)
		}
	}
	if cfg.Systemd { // It keeps the mode and the owner of its console as it wants them: it must not be /dev/null itself.
		if err := makeDevice("/dev/null", filepath.Join(cfg.Root, "dev/console")); err != nil {
			return fmt.Errorf("make /dev/console: %w", err)
		}
	}
	if err := mountNew(cfg, "devpts", "dev/pts", "newinstance,ptmxmode=0666,mode=0620", unix.MS_NOSUID|unix.MS_NOEXEC); err != nil {
		return err
	}
	if err := mountNew(cfg, "tmpfs", "dev/shm", "mode=1777", unix.MS_NOSUID|unix.MS_NODEV); err != nil {
		return err
	}
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, filepath.Join(cfg.Root, "dev", name)); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	return nil
}

// makeDevice makes a device of the host's own, so that the machine's keeps its mode and its owner whatever the
// host does. A user namespace cannot make any; there the machine's is bound, which its root cannot change.
func makeDevice(source, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	var device unix.Stat_t
	if err := unix.Stat(source, &device); err != nil {
		return err
	}
	err := unix.Mknod(target, device.Mode, int(device.Rdev)) // #nosec G115 -- device numbers are small
	if errors.Is(err, unix.EPERM) {
		if err := os.WriteFile(target, nil, 0o644); err != nil { // #nosec G306 -- only a place to bind to
			return err
		}
		return bind(source, target)
	}
	if err != nil {
		return err
	}
	return errors.Join(unix.Chown(target, int(device.Uid), int(device.Gid)), unix.Chmod(target, device.Mode&0o7777))
}

// pivot makes root this process's root and lets go of the machine's.
func pivot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter the host's root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the old root then lies over the new one
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the machine's root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter the host's root: %w", err)
	}
	// As systemd has it, and container engines expect it; the namespace is the host's own.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share the host's mounts: %w", err)
	}
	return nil
}
