// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	permissionsForm = regexp.MustCompile(`^[0-7]{3,4}$`)
	ownerForm       = regexp.MustCompile(`^[a-z_][a-z0-9_-]*(:[a-z_][a-z0-9_-]*)?$`)
)

// Directories that the system needs as they are, and trees that a file or mount has no business in.
var (
	systemDirs = []string{
		"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/mnt", "/opt", "/proc", "/root", "/run",
		"/sbin", "/sys", "/tmp", "/usr", "/var", "/var/lib", "/var/lib/cloud", "/var/log",
	}
	kernelTrees = []string{"/dev", "/proc", "/sys"}
	systemTrees = append([]string{"/bin", "/boot", "/etc", "/lib", "/lib64", "/run", "/sbin", "/usr", "/var/lib/cloud"}, kernelTrees...)
)

func (v *validator) writeFiles() {
	for _, name := range slices.Sorted(maps.Keys(v.config.WriteFiles)) {
		f, at := v.config.WriteFiles[name], []any{"write_files", Key(name)}
		if message := v.filePath(name); message != "" {
			v.add(at, "%s", message)
		}
		if !utf8.ValidString(f.Content) {
			v.add(append(at, "content"), "The content is not UTF-8 text.")
		}
		if f.Owner != "" && !ownerForm.MatchString(f.Owner) {
			v.add(append(at, "owner"), "%q is not an owner such as opc:opc.", f.Owner)
		}
		if f.Permissions != "" && !permissionsForm.MatchString(f.Permissions) {
			v.add(append(at, "permissions"), "%q are not permissions in octal, such as 0644.", f.Permissions)
		}
	}
}

// filePath says what is wrong with the path of a file; nothing when it can be written.
func (v *validator) filePath(name string) string {
	switch {
	case !strings.HasPrefix(name, "/") || path.Clean(name) != name || name == "/" || !isPrintable(name):
		return fmt.Sprintf("%q is not an absolute path to a file, without .., double slashes and control characters.", name)
	case name == ScriptPath || name == LogPath || name == StatusPath || name == bootStatusPath:
		return fmt.Sprintf("%q is written by the set-up itself.", name)
	case slices.Contains(systemDirs, name) || insideAny(name, kernelTrees):
		return fmt.Sprintf("%q belongs to the system.", name)
	}
	if _, own := ownFiles(v.config)[name]; own {
		return fmt.Sprintf("%q is written for limits or proxy.", name)
	}
	if n := v.config.NVMe; n != nil {
		switch {
		case name == "/etc/fstab":
			return "\"/etc/fstab\" is edited by the set-up of nvme. Leave nvme out, or add to the file with runcmd."
		case insideAny(name, []string{n.MountPoint}):
			return fmt.Sprintf("%q would be hidden by the file system that is mounted at %s later. Write it with runcmd.", name, n.MountPoint)
		}
	}
	return ""
}

func (v *validator) readyFile() {
	if message := v.filePath(v.config.ReadyFile); message != "" {
		v.add([]any{"ready_file"}, "%s", message)
	}
}

func (v *validator) commands(attribute string, commands []string) {
	for i, command := range commands {
		switch {
		case strings.TrimSpace(command) == "":
			v.add([]any{attribute, i}, "The command is empty.")
		case strings.ContainsRune(command, 0) || !utf8.ValidString(command):
			v.add([]any{attribute, i}, "The command is not text.")
		}
	}
}
