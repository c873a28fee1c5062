// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/standin"
)

// templateFiles are the files that every host has in place of the machine's.
//
//go:embed all:template
var templateFiles embed.FS

// dpkgDir is where dpkg keeps what is installed: apt takes a request for that as done.
const dpkgDir = "var/lib/dpkg"

// machineDirs are shown to every host, below the template and the host's own layer. Nothing else of the
// machine is: no home, no work directory, no mount. layeredDirs lie over the template alone. All else is the
// host's own.
var (
	machineDirs = []string{"usr", "opt", "bin", "sbin", "lib", "lib32", "lib64", "libx32", dpkgDir}
	layeredDirs = []string{"etc"}
)

// layers are trees that lie over each other in a host's root, topmost first. They are complete before
// the first host starts: an overlay shows stale content when its layers change.
type layers struct {
	base string // of every host
	gpu  string // of hosts with simulated GPUs, above base
}

// buildLayers makes the layers below dir.
func buildLayers(ctx context.Context, dir string, cfg Config) (layers, error) {
	l := layers{base: filepath.Join(dir, "base"), gpu: filepath.Join(dir, "gpu")}
	for _, step := range []func() error{
		l.makeDirs, l.copyEtc, l.writeUsers,
		func() error { return l.copyPackages(cfg.Without) },
		func() error { return l.hide("/usr/sbin/policy-rc.d") }, // which keeps services off, in containers
		func() error { return l.writeTemplate(cfg.Systemd) },
		func() error { return l.copyOwnedByRoot(cfg.UserNamespace) },
		func() error { return l.buildGPUPrograms(ctx, cfg.NVIDIADevices) },
	} {
		if err := step(); err != nil {
			return layers{}, fmt.Errorf("make the hosts' template: %w", err)
		}
	}
	return l, nil
}

// makeDirs makes the directories of the template, so that their mode and owner are those of a host.
func (l layers) makeDirs() error {
	return makeAll(l.base, map[string]fs.FileMode{
		"etc": 0o755, "etc/apt": 0o755, "etc/apt/sources.list.d": 0o755, "opt": 0o755,
		"usr": 0o755, "usr/bin": 0o755, "usr/sbin": 0o755, "usr/libexec": 0o755, "usr/local": 0o755, "usr/local/bin": 0o755,
		"usr/local/sbin": 0o755, "usr/local/lib": 0o755, "usr/local/share": 0o755,
		dpkgDir: 0o755, dpkgDir + "/info": 0o755, dpkgDir + "/updates": 0o755, dpkgDir + "/alternatives": 0o755, dpkgDir + "/triggers": 0o755,
	})
}

// makeSkeleton makes the root of a host's disk, with the directories that others are mounted on.
func makeSkeleton(root string) error {
	dirs := map[string]fs.FileMode{
		"boot": 0o755, "dev": 0o755, "etc": 0o755, "home": 0o755, "home/opc": 0o700, "media": 0o755, "mnt": 0o755, "proc": 0o555,
		"root": 0o700, "run": 0o755, "srv": 0o755, "sys": 0o555, "tmp": 0o777 | fs.ModeSticky, "var": 0o755, "var/cache": 0o755,
		"var/lib": 0o755, "var/lib/lab": 0o755, dpkgDir: 0o755, "var/log": 0o755, "var/spool": 0o755, "var/tmp": 0o777 | fs.ModeSticky,
	}
	links := map[string]string{"var/run": "/run", "var/lock": "/run/lock"}
	for _, name := range machineDirs {
		if target, err := os.Readlink("/" + name); err == nil { // bin -> usr/bin and the like
			links[name] = target
		} else if info, err := os.Stat("/" + name); err == nil && info.IsDir() {
			dirs[name] = 0o755
		}
	}
	if err := makeAll(root, dirs); err != nil {
		return err
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return os.Chown(filepath.Join(root, "home/opc"), opcID, opcID)
}

func makeAll(root string, dirs map[string]fs.FileMode) error {
	for path, mode := range dirs {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(full, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(full, mode); err != nil {
			return err
		}
	}
	return nil
}

// notCopied are the parts of /etc that belong to the machine, not to its kind.
var notCopied = map[string]bool{
	"apt/sources.list": true, "apt/sources.list.d": true, // a host reaches no repository
	"cloud/cloud.cfg.d": true, "cloud/cloud-init.disabled": true,
	"cron.d": true, "cron.daily": true, "cron.hourly": true, "cron.monthly": true, "cron.weekly": true, "crontab": true,
	"hostname": true, "hosts": true, "init.d": true, "localtime": true, "machine-id": true, "mtab": true,
	"profile.d": true, "ssh": true, "systemd": true, "timezone": true,
}

// copyEtc copies what any user of the machine may read: secrets are kept from them by convention, and a
// lab of a plain user could not read more.
func (l layers) copyEtc() error {
	if err := copyTree("/etc", filepath.Join(l.base, "etc"), notCopied); err != nil {
		return err
	}
	for path, text := range map[string]string{"etc/localtime": "/usr/share/zoneinfo/Etc/UTC", "etc/mtab": "/proc/self/mounts"} {
		if err := os.Symlink(text, filepath.Join(l.base, path)); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies the files, links and directories that everybody may read. A missing source is nothing to copy.
func copyTree(source, target string, skip map[string]bool) error {
	return filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		hidden := skip[relative] || (info.Mode()&fs.ModeSymlink == 0 && info.Mode()&0o004 == 0)
		switch {
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case hidden:
			return nil
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(target, relative), info.Mode().Perm())
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, filepath.Join(target, relative))
		case info.Mode().IsRegular():
			return copyFile(path, filepath.Join(target, relative), info.Mode())
		}
		return nil
	})
}

func copyFile(source, target string, mode fs.FileMode) error {
	content, err := os.ReadFile(source) // #nosec G304 -- a file of the system
	if err != nil {
		return err
	}
	if err := os.WriteFile(target, content, mode.Perm()); err != nil {
		return err
	}
	return os.Chmod(target, mode) // set-user-ID bits too
}

// writeTemplate writes the files that every host has, or those of hosts with systemd over them.
func (l layers) writeTemplate(systemd bool) error {
	if err := l.writeFiles(templateFiles, "template"); err != nil || !systemd {
		return err
	}
	return l.writeSystemd()
}

// writeFiles writes embedded files; scripts are executable.
func (l layers) writeFiles(files embed.FS, root string) error {
	return fs.WalkDir(files, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(l.base, strings.TrimPrefix(path, root))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if bytes.HasPrefix(content, []byte("#!")) {
			mode = 0o755
		}
		if err := os.RemoveAll(target); err != nil { // it may be a link of the machine's /etc
			return err
		}
		return os.WriteFile(target, content, mode)
	})
}

// copyOwnedByRoot gives a lab in a user namespace its own sudo: there, the machine's root is nobody, and
// sudo insists on belonging to root.
func (l layers) copyOwnedByRoot(userNamespace bool) error {
	if !userNamespace {
		return nil
	}
	if err := copyFile("/usr/bin/sudo", filepath.Join(l.base, "usr/bin/sudo"), 0o755|fs.ModeSetuid); err != nil {
		return err
	}
	for _, plugins := range []string{"/usr/libexec/sudo", "/usr/lib/sudo"} {
		if err := copyTree(plugins, filepath.Join(l.base, plugins), nil); err != nil {
			return err
		}
	}
	return nil
}

// ncclTestsDir is where Oracle's GPU images keep nccl-tests.
const ncclTestsDir = "opt/oci-hpc/nccl-test/build"

// buildGPUPrograms fills the GPU layer with stand-ins; a machine with real GPUs has the real programs.
func (l layers) buildGPUPrograms(ctx context.Context, nvidiaDevices []string) error {
	build := filepath.Join(l.gpu, ncclTestsDir)
	for _, dir := range []string{build, filepath.Join(l.gpu, "usr/bin")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if len(nvidiaDevices) > 0 {
		return l.linkNvidiaSMI()
	}
	if err := standin.Build(ctx, build); err != nil {
		return err
	}
	return os.Rename(filepath.Join(build, standin.NvidiaSMI), filepath.Join(l.gpu, "usr/bin", standin.NvidiaSMI))
}

// linkNvidiaSMI makes the machine's own nvidia-smi known where it is in none of the usual directories, as
// in containers.
func (l layers) linkNvidiaSMI() error {
	const container = "/usr/local/nvidia/bin/nvidia-smi"
	if _, err := exec.LookPath(standin.NvidiaSMI); err == nil {
		return nil
	}
	if _, err := os.Stat(container); err != nil {
		return nil //nolint:nilerr // the machine keeps it elsewhere; its users know where
	}
	return os.Symlink(container, filepath.Join(l.gpu, "usr/bin", standin.NvidiaSMI))
}
