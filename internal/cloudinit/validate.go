// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the same time zones are known on every machine
	"unicode/utf8"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// Problem is something in a [Config] that would not work on a node.
type Problem struct {
	// Path to the attribute: names as string, an index in a list as int, a key of a map as [Key].
	Path    []any
	Message string
}

// Key of a map in the path of a [Problem].
type Key string

// Attribute is Path as people write it, such as nvme.mount_point or runcmd[0].
func (p Problem) Attribute() string {
	var at strings.Builder
	for _, step := range p.Path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&at, "[%d]", step)
		case Key:
			fmt.Fprintf(&at, "[%q]", string(step))
		default:
			fmt.Fprintf(&at, ".%v", step)
		}
	}
	return strings.TrimPrefix(at.String(), ".")
}

func (p Problem) String() string { return p.Attribute() + ": " + p.Message }

var (
	timezoneForm    = regexp.MustCompile(`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`)
	packageForm     = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@+._:~=*/-]*$`)
	permissionsForm = regexp.MustCompile(`^[0-7]{3,4}$`)
	mountPointForm  = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)
	labelForm       = regexp.MustCompile(`^[A-Za-z0-9._-]{1,12}$`)
	optionsForm     = regexp.MustCompile(`^[A-Za-z0-9._=:,-]+$`)
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

// Validate finds what would not work on a node, in the order of the attributes. Empty fields are not looked at.
func Validate(c Config) []Problem {
	v := validator{config: c}
	v.shape()
	v.timezone()
	v.nvme()
	v.packages()
	v.writeFiles()
	v.runcmd()
	return v.problems
}

type validator struct {
	config   Config
	problems []Problem
}

func (v *validator) add(path []any, format string, args ...any) {
	v.problems = append(v.problems, Problem{path, fmt.Sprintf(format, args...)})
}

func (v *validator) shape() {
	name := v.config.Shape
	if name == "" || name == Generic {
		return
	}
	if _, ok := shape.Lookup(name); ok {
		return
	}
	meant := ""
	if nearest, ok := shape.Suggest(name); ok {
		meant = fmt.Sprintf("Did you mean %q? ", nearest)
	}
	v.add([]any{"shape"}, "%q is not a shape that is known here. %sFor any other shape write %q.", name, meant, Generic)
}

func (v *validator) timezone() {
	name := v.config.Timezone
	if name == "" {
		return
	}
	if _, err := time.LoadLocation(name); err != nil || !timezoneForm.MatchString(name) || name == "Local" {
		v.add([]any{"timezone"}, "%q is not a time zone in the IANA form, such as Asia/Tokyo or UTC.", name)
	}
}

func (v *validator) nvme() {
	n := v.config.NVMe
	if n == nil {
		return
	}
	if s, ok := shape.Lookup(v.config.Shape); ok && s.NVMeDevices.Usable() && s.NVMeDevices.V == 0 {
		v.add([]any{"nvme"}, "%s has no local NVMe device. Leave nvme out.", s.Name)
	}
	if !slices.Contains(Layouts(), n.Layout) {
		v.add([]any{"nvme", "layout"}, "%q is not a layout; the layouts are %q.", n.Layout, Layouts())
	}
	at := []any{"nvme", "mount_point"}
	switch m := n.MountPoint; {
	case !mountPointForm.MatchString(m) || path.Clean(m) != m:
		v.add(at, "%q is not an absolute path of letters, digits, dots, dashes and underscores, without a slash at its end.", m)
	case slices.Contains(systemDirs, m) || insideAny(m, systemTrees):
		v.add(at, "%q belongs to the system. Mount on a directory of its own, such as /mnt/localdisk.", m)
	}
	if !labelForm.MatchString(n.Label) {
		v.add([]any{"nvme", "label"}, "%q is not a label for XFS: 1 to 12 letters, digits, dots, dashes and underscores.", n.Label)
	}
	if !optionsForm.MatchString(n.MountOptions) {
		v.add([]any{"nvme", "mount_options"}, "%q are not mount options separated by commas, such as defaults,noatime.", n.MountOptions)
	}
}

func (v *validator) packages() {
	seen := map[string]bool{}
	for i, name := range v.config.Packages {
		switch {
		case !packageForm.MatchString(name):
			v.add([]any{"packages", i}, "%q is not the name of a package.", name)
		case seen[name]:
			v.add([]any{"packages", i}, "%q is there twice.", name)
		}
		seen[name] = true
	}
}

func (v *validator) writeFiles() {
	for _, name := range slices.Sorted(maps.Keys(v.config.WriteFiles)) {
		f, at := v.config.WriteFiles[name], []any{"write_files", Key(name)}
		if message := v.filePath(name); message != "" {
			v.add(at, "%s", message)
		}
		if !utf8.ValidString(f.Content) {
			v.add(append(at, "content"), "The content is not UTF-8 text.")
		}
		if !permissionsForm.MatchString(f.Permissions) {
			v.add(append(at, "permissions"), "%q are not permissions in octal, such as 0644.", f.Permissions)
		}
	}
}

// filePath says what is wrong with the path of a file; nothing when it can be written.
func (v *validator) filePath(name string) string {
	switch {
	case !strings.HasPrefix(name, "/") || path.Clean(name) != name || name == "/" || !isPrintable(name):
		return fmt.Sprintf("%q is not an absolute path to a file, without .., double slashes and control characters.", name)
	case name == ScriptPath || name == LogPath || name == StatusPath:
		return fmt.Sprintf("%q is written by the set-up itself.", name)
	case slices.Contains(systemDirs, name) || insideAny(name, kernelTrees):
		return fmt.Sprintf("%q belongs to the system.", name)
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

func (v *validator) runcmd() {
	for i, command := range v.config.Runcmd {
		switch {
		case strings.TrimSpace(command) == "":
			v.add([]any{"runcmd", i}, "The command is empty.")
		case strings.ContainsRune(command, 0) || !utf8.ValidString(command):
			v.add([]any{"runcmd", i}, "The command is not text.")
		}
	}
}

// insideAny says whether a clean path is one of the trees or inside one.
func insideAny(name string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		return name == tree || strings.HasPrefix(name, tree+"/")
	})
}

func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
