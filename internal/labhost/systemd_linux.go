// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

// systemdFiles are the files that hosts with systemd have in place of the template's.
//
//go:embed all:systemd
var systemdFiles embed.FS

// plainPrograms of the template stand for those of systemd.
var plainPrograms = []string{"usr/bin/systemctl"}

// unitDir is where an administrator's units are, and what is switched on: nothing of the machine's.
const unitDir = "etc/systemd/system"

// enabledUnits are started at boot, by the target that wants them.
var enabledUnits = map[string][]string{
	"multi-user.target": {"ssh.service", "firewalld.service"},
	"cloud-init.target": {"cloud-init-local.service", "cloud-init.service", "cloud-config.service", "cloud-final.service"},
}

// maskedUnits would show or change the kernel's settings and devices, which are the machine's, or ask questions.
var maskedUnits = []string{
	"console-getty.service", "dev-hugepages.mount", "proc-sys-fs-binfmt_misc.automount", "sys-fs-fuse-connections.mount", "sys-kernel-config.mount",
	"sys-kernel-debug.mount", "sys-kernel-tracing.mount", "systemd-binfmt.service", "systemd-firstboot.service",
	"systemd-journald-audit.socket", "systemd-remount-fs.service", "systemd-repart.service",
}

// MaxSystemdHosts is how many hosts with systemd a lab runs, with the bastion: each has five inotify instances
// or more, and a machine's root has 128 by default.
const MaxSystemdHosts = 20

// writeSystemd makes a template for hosts whose PID 1 is systemd.
func (l layers) writeSystemd() error {
	for _, program := range plainPrograms {
		if err := os.Remove(filepath.Join(l.base, program)); err != nil {
			return err
		}
	}
	if err := l.writeFiles(systemdFiles, "systemd"); err != nil {
		return err
	}
	links := map[string]string{"default.target": "multi-user.target", "sshd.service": "ssh.service"}
	for target, units := range enabledUnits {
		for _, unit := range units {
			links[filepath.Join(target+".wants", unit)] = unit
		}
	}
	for link, unit := range links {
		path := "/lib/systemd/system/" + unit
		if _, err := os.Stat(filepath.Join(l.base, unitDir, unit)); err == nil {
			path = "/" + filepath.Join(unitDir, unit)
		}
		if err := l.link(link, path); err != nil {
			return err
		}
	}
	for _, unit := range maskedUnits {
		if err := l.link(unit, os.DevNull); err != nil {
			return err
		}
	}
	return nil
}

// link makes a link in the directory of units.
func (l layers) link(name, target string) error {
	path := filepath.Join(l.base, unitDir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

// admit says why a host cannot be booted beside those that run. The caller holds the lock.
func (h *Hosts) admit(id string) error {
	switch {
	case h.hosts[id] != nil:
		return fmt.Errorf("boot %s: it runs already", id)
	case h.cfg.Systemd && len(h.hosts) >= MaxSystemdHosts:
		return fmt.Errorf("boot %s: a lab runs at most %d hosts with systemd; have plain ones for more", id, MaxSystemdHosts)
	}
	return nil
}

// cloudInitOff keeps cloud-init from starting, where systemd would.
var cloudInitOff = file{"/etc/cloud/cloud-init.disabled", []byte("This host has no instance.\n"), 0o644, 0}

// MissingForSystemd names the Debian packages without which hosts cannot have systemd as their init.
func MissingForSystemd() []string {
	var missing []string
	for _, need := range []struct{ pattern, debian string }{
		{"/lib/systemd/systemd", "systemd"},
		{"/usr/bin/dbus-daemon", "dbus"},
		{"/lib/*/security/pam_systemd.so", "libpam-systemd"},
	} {
		if found, err := filepath.Glob(need.pattern); err != nil || len(found) == 0 {
			missing = append(missing, need.debian)
		}
	}
	return missing
}
