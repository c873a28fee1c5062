// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"path"
	"regexp"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

var (
	mountPointForm = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)
	labelForm      = regexp.MustCompile(`^[A-Za-z0-9._-]{1,12}$`)
	optionsForm    = regexp.MustCompile(`^[A-Za-z0-9._=:,-]+$`)
)

// engineStores are mounted by container_storage.
var engineStores = []string{"/var/lib/containerd", "/var/lib/docker"}

func (v *validator) nvme() {
	n := v.config.NVMe
	if n == nil {
		return
	}
	s, known := shape.Lookup(v.config.Shape)
	known = known && s.NVMeDevices.Usable()
	if known && s.NVMeDevices.V == 0 {
		v.add([]any{"nvme"}, "%s has no local NVMe device. Leave nvme out.", s.Name)
	}
	switch {
	case !slices.Contains(Layouts(), n.Layout):
		v.add([]any{"nvme", "layout"}, "%q is not a layout; the layouts are %q.", n.Layout, Layouts())
	case n.Layout == RAID10 && known && s.NVMeDevices.V == 1:
		v.add([]any{"nvme", "layout"}, "raid10 needs two devices, and %s has one.", s.Name)
	}
	if !slices.Contains(FileSystems(), n.FileSystem) {
		v.add([]any{"nvme", "file_system"}, "%q is not a file system that is known here; those are %q.", n.FileSystem, FileSystems())
	}
	v.mountPoint(n.MountPoint, []any{"nvme", "mount_point"})
	switch {
	case !labelForm.MatchString(n.Label):
		v.add([]any{"nvme", "label"}, "%q is not a label: 1 to 12 letters, digits, dots, dashes and underscores.", n.Label)
	case n.Layout == PerDisk && len(n.Label) > 10:
		v.add([]any{"nvme", "label"}, "%q is too long: with per_disk the number of the device follows, and 12 characters are all that a label has.", n.Label)
	}
	if !optionsForm.MatchString(n.MountOptions) {
		v.add([]any{"nvme", "mount_options"}, "%q are not mount options separated by commas, such as defaults,noatime.", n.MountOptions)
	}
}

func (v *validator) mountPoint(m string, at []any) {
	switch {
	case !mountPointForm.MatchString(m) || path.Clean(m) != m:
		v.add(at, "%q is not an absolute path of letters, digits, dots, dashes and underscores, without a slash at its end.", m)
	case slices.Contains(systemDirs, m) || insideAny(m, systemTrees):
		v.add(at, "%q belongs to the system. Mount on a directory of its own, such as /mnt/localdisk.", m)
	case v.config.NVMe.ContainerStorage && insideAny(m, engineStores):
		v.add(at, "%q is mounted by container_storage.", m)
	}
}
