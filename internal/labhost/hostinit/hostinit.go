// SPDX-License-Identifier: MPL-2.0

// Package hostinit is PID 1 of a lab host: it makes the host's root and network, starts sshd and
// cloud-init, reaps, and runs commands that the lab sends it. Any binary that imports it can be that
// PID 1: when [StageVariable] says so, its init function takes over and never returns to main.
package hostinit

import "net/netip"

// StageVariable names the environment variable that makes a binary act as a part of the lab, and
// StageHost is its value for a host's PID 1.
const (
	StageVariable = "OCIHPC_LAB_STAGE"
	StageHost     = "host"
)

// File descriptors of a host's PID 1. Standard input brings the [Config]; its arrival says that eth0 is
// there.
const (
	ReportFD = 3 // takes one [Report]
	ExecFD   = 4 // Unix socket that listens for [ExecRequest]s
)

// Path is the PATH of everything that the lab starts: a plain user's lacks the sbin directories.
const Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// CloudInitProgram of the host runs all of cloud-init's boot stages.
const CloudInitProgram = "/usr/libexec/ocihpc-lab-cloud-init"

// CgroupDir is where control groups are, on the machine and on hosts.
const CgroupDir = "/sys/fs/cgroup"

// VolumePath of a host is where the stand-ins for the device mapper and md find the device that they show as
// a volume. It is not in /dev: there, it would be found before it is shown.
const VolumePath = "/run/ocihpc-lab/volume"

// Config is what a host's PID 1 needs to know.
type Config struct {
	Hostname string `json:"hostname"`
	// Root is an empty directory that becomes the host's root.
	Root string `json:"root"`
	// Overlays to mount below Root, in order; the first one is the root itself.
	Overlays []Overlay `json:"overlays"`
	// Cgroups that the host has to itself, and PID 1 is in; without, it sees the machine's, read-only.
	Cgroups []Cgroup `json:"cgroups"`
	// UserNamespace says that the lab has a user namespace of its own.
	UserNamespace bool `json:"user_namespace"`
	// Devices of the machine's /dev that the host has too.
	Devices []string `json:"devices"`
	// NVMe are the files behind the host's local NVMe devices.
	NVMe    []string     `json:"nvme"`
	Address netip.Prefix `json:"address"`
	Gateway netip.Addr   `json:"gateway"`
	// CloudInit says whether cloud-init runs.
	CloudInit bool `json:"cloud_init"`
	// Systemd says that PID 1 becomes systemd, which then starts sshd and cloud-init.
	Systemd bool `json:"systemd"`
	// NoSSH says that sshd never runs.
	NoSSH bool `json:"no_ssh"`
}

// Overlay is one overlay mount. Without lower trees it is Upper itself, on whose file system container
// engines can mount their own overlays.
type Overlay struct {
	Target string   `json:"target"` // below the root; empty means the root
	Lower  []string `json:"lower"`  // topmost first
	Upper  string   `json:"upper"`
	Work   string   `json:"work"`
}

// Cgroup is the host's group in one hierarchy of the machine's control groups.
type Cgroup struct {
	Dir   string `json:"dir"`   // of the group, on the machine
	Mount string `json:"mount"` // where the hierarchy is mounted, on the machine and on the host
	V2    bool   `json:"v2"`    // whether it is of version 2
}

// Report says that the host is up, or why it is not.
type Report struct {
	Error string `json:"error,omitempty"`
	// NVMe is the number of local NVMe devices that the host has, and LessNVMe why not all.
	NVMe     int    `json:"nvme,omitempty"`
	LessNVMe string `json:"less_nvme,omitempty"`
}

// ExecRequest asks for a command as root on the host. It travels with three file descriptors: standard
// input, output and error.
type ExecRequest struct {
	Argv []string `json:"argv"`
}

// ExecReply ends a request.
type ExecReply struct {
	// Status is the exit status, or 128 plus the signal's number.
	Status int `json:"status"`
	// Error says why the command could not be started.
	Error string `json:"error,omitempty"`
}
