// SPDX-License-Identifier: MPL-2.0

// Package cloudinit turns the description of a GPU node into a cloud-config: what cloud-init reads as
// user data. Its functions are pure: the same [Config] always gives the same text.
//
// cloud-init's own modules do what they do well (time zone, packages, files). Everything else is one shell
// script that cloud-init runs at each boot; steps/ holds its parts. A step that is done changes nothing, a
// failed one ends the script and shows as an error in cloud-init's status.
package cloudinit

// Where the script is, and what it writes, on a node.
const (
	ScriptPath = "/var/lib/cloud/scripts/per-boot/50-ocihpc-setup"
	LogPath    = "/var/log/ocihpc-cloud-init.log"
	// StatusPath is a file with one JSON object a line for each step of the last boot: step, exit (status),
	// seconds, message. The steps after a failed one are not run and have no line.
	StatusPath = "/var/lib/ocihpc/status.ndjson"
)

// Generic stands for any shape: nothing is taken from the shape catalog.
const Generic = "generic"

// Config describes a node. Its zero value asks for nothing.
type Config struct {
	// Shape of the catalog, or [Generic]. Empty is as yet unknown, and treated as Generic.
	Shape string
	// Timezone in the IANA form, such as Asia/Tokyo. Empty leaves it as it is.
	Timezone string
	// GrowRoot grows the root file system to the size of the boot volume.
	GrowRoot bool
	// Firewall turns firewalld on or off; nil leaves it as it is.
	Firewall *bool
	// NVMe makes a file system on the local NVMe devices; nil leaves them alone.
	NVMe *NVMe
	// Packages to install from the repositories of the image.
	Packages []string
	// WriteFiles to write before anything else is done, by path.
	WriteFiles map[string]File
	// Runcmd are shell commands that run in order after everything else, once in the life of an instance.
	Runcmd []string
}

// Layout says how the NVMe devices are joined.
type Layout string

// Layouts.
const (
	LVMStriped Layout = "lvm_striped" // one logical volume, striped: the bandwidth of all devices
	LVMLinear  Layout = "lvm_linear"  // one logical volume, one device after the other
)

// Layouts lists them all.
func Layouts() []Layout { return []Layout{LVMStriped, LVMLinear} }

// NVMe is the file system, XFS, on the local NVMe devices.
type NVMe struct {
	Layout       Layout
	MountPoint   string
	Label        string
	MountOptions string
}

// DefaultNVMe is the scratch file system of Oracle's HPC stacks and tutorials. With nofail a node with a
// broken device still boots and can be logged in to.
func DefaultNVMe() NVMe {
	return NVMe{
		Layout:       LVMStriped,
		MountPoint:   "/mnt/localdisk",
		Label:        "localscratch",
		MountOptions: "defaults,noatime,nofail",
	}
}

// File to write on a node, owned by root.
type File struct {
	Content string
	// Permissions in octal, such as 0644.
	Permissions string
}

// DefaultPermissions of a file.
const DefaultPermissions = "0644"
