// SPDX-License-Identifier: MPL-2.0

// Package cloudinit turns the description of a GPU node into a cloud-config: what cloud-init reads as
// user data. Its functions are pure: the same [Config] always gives the same text.
//
// cloud-init's own modules do what they do well (time zone, users, repositories, packages, files). Everything
// else is one shell script that cloud-init runs at each boot; steps/ holds its parts. A step that is done
// changes nothing, a failed one ends the script and shows as an error in cloud-init's status.
package cloudinit

import (
	"cmp"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Where the script is, and what it writes, on a node.
const (
	ScriptPath = "/var/lib/cloud/scripts/per-boot/50-ocihpc-setup"
	LogPath    = job.BootLogPath
	// StatusPath is a file with one [job.BootStep] a line for each step of the last boot. The steps after a
	// failed one are not run and have no line; the last line of a complete set-up is that of [job.BootReady].
	StatusPath = job.BootStatusPath
	// bootStatusPath holds the lines of bootcmd, which runs before everything else.
	bootStatusPath = "/run/ocihpc/bootcmd.ndjson"
	// DefaultReadyFile is there from the end of a complete set-up to the next boot.
	DefaultReadyFile = "/run/ocihpc/ready"
)

// Generic stands for any shape: nothing is taken from the shape catalog.
const Generic = "generic"

// Config describes a node; the names in JSON are those of the provider's attributes. Its zero value asks for
// nothing. Empty fields take their defaults.
type Config struct {
	// Shape of the catalog, or [Generic]. Empty is as yet unknown, and treated as Generic.
	Shape string `json:"shape"`
	// OS of the image, one of [Systems]. Empty leaves what depends on it to the boot.
	OS OS `json:"os"`
	// Timezone in the IANA form, such as Asia/Tokyo. Empty leaves it as it is.
	Timezone string `json:"timezone"`
	// Locale such as en_US.UTF-8. Empty leaves it as it is.
	Locale string `json:"locale"`
	// Users to make beside the image's own, by name.
	Users map[string]User `json:"users"`
	// AuthorizedKeys are further SSH keys of the image's own user.
	AuthorizedKeys []string `json:"ssh_authorized_keys"`
	// GrowRoot grows the root file system to the size of the boot volume.
	GrowRoot bool `json:"grow_root"`
	// Firewall of the host; nil leaves it as it is.
	Firewall *Firewall `json:"firewall"`
	// NVMe makes file systems on the local NVMe devices; nil leaves them alone.
	NVMe *NVMe `json:"nvme"`
	// RDMA waits for, or makes, the addresses of the RDMA ports; nil leaves them alone.
	RDMA *RDMA `json:"rdma"`
	// Limits of users and services by the names of limits.conf(5), such as memlock.
	Limits map[string]string `json:"limits"`
	// Proxy for packages, images and login shells.
	Proxy *Proxy `json:"proxy"`
	// YumRepositories and AptRepositories by their IDs; cloud-init takes those of the image's package manager.
	YumRepositories map[string]YumRepository `json:"yum_repositories"`
	AptRepositories map[string]AptRepository `json:"apt_repositories"`
	PackageUpgrade  bool                     `json:"package_upgrade"`
	// Packages to install.
	Packages []string `json:"packages"`
	// ContainerEngine to install at boot; nil leaves it to the image, or to the runner later.
	ContainerEngine *ContainerEngine `json:"container_engine"`
	// WriteFiles to write before anything else is done, by path.
	WriteFiles map[string]File `json:"write_files"`
	// Bootcmd are shell commands that run early in each boot, before files are written.
	Bootcmd []string `json:"bootcmd"`
	// Runcmd are shell commands that run in order after everything else, once in the life of an instance.
	Runcmd []string `json:"runcmd"`
	// ReadyFile is made when the set-up is complete, and removed as it begins.
	ReadyFile string `json:"ready_file"`
	// Parts of the user's own, which cloud-init merges with the rest.
	Parts []Part `json:"parts"`
}

// OS is an operating system, as images have it.
type OS string

// Systems lists those that are known.
func Systems() []OS { return []OS{"ol7", "ol8", "ol9", "ubuntu22", "ubuntu24"} }

// usesApt says whether the packages are Debian's; false also for an unknown system.
func (o OS) usesApt() bool { return o == "ubuntu22" || o == "ubuntu24" }

// User is a login.
type User struct {
	Gecos          string   `json:"gecos"`
	Shell          string   `json:"shell"`
	UID            int      `json:"uid"` // 0: the next that is free
	Groups         []string `json:"groups"`
	Sudo           bool     `json:"sudo"` // everything, without a password
	AuthorizedKeys []string `json:"ssh_authorized_keys"`
}

// Firewall says what becomes of the host firewall.
type Firewall struct {
	Enabled bool `json:"enabled"`
	// AllowCIDRs are the networks from which everything is let in: MPI and NCCL use ports of their choice.
	AllowCIDRs []string `json:"allow_cidrs"`
}

// Layout says how the NVMe devices are joined.
type Layout string

// Layouts.
const (
	LVM        Layout = "lvm"         // one logical volume, one device after the other, as in Oracle Japan's tutorials
	LVMStriped Layout = "lvm_striped" // one logical volume, striped: the bandwidth of all devices
	RAID0      Layout = "raid0"       // the same by md
	RAID10     Layout = "raid10"      // half of the space; a broken device loses nothing
	PerDisk    Layout = "per_disk"    // a file system on each device
)

// Layouts lists them all.
func Layouts() []Layout { return []Layout{LVM, LVMStriped, RAID0, RAID10, PerDisk} }

// FileSystems that NVMe devices can have.
func FileSystems() []string { return []string{"xfs", "ext4"} }

// NVMe is the file system on the local NVMe devices. With [PerDisk], device 0 is mounted on disk0 below
// MountPoint and has the label Label0, and so on.
type NVMe struct {
	Layout       Layout `json:"layout"`
	FileSystem   string `json:"file_system"`
	MountPoint   string `json:"mount_point"`
	Label        string `json:"label"`
	MountOptions string `json:"mount_options"`
	// ContainerStorage puts what containerd and Docker store on it.
	ContainerStorage bool `json:"container_storage"`
}

// DefaultNVMe is the scratch file system of Oracle's HPC stacks and tutorials. With nofail a node with a
// broken device still boots and can be logged in to.
func DefaultNVMe() NVMe {
	return NVMe{
		Layout:       LVMStriped,
		FileSystem:   "xfs",
		MountPoint:   "/mnt/localdisk",
		Label:        "localscratch",
		MountOptions: "defaults,noatime,nofail",
	}
}

// RDMAMode says who gives the RDMA ports their addresses.
type RDMAMode string

// RDMA modes.
const (
	RDMAAgent  RDMAMode = "agent"  // plugins of Oracle Cloud Agent
	RDMARPM    RDMAMode = "rpm"    // oci-rdma-configure of Oracle's cluster networking images
	RDMAManual RDMAMode = "manual" // the set-up itself
)

// RDMAModes lists them all.
func RDMAModes() []RDMAMode { return []RDMAMode{RDMAAgent, RDMARPM, RDMAManual} }

// RDMA is about the ports in a cluster network.
type RDMA struct {
	Mode RDMAMode `json:"mode"`
	// Network for the ports' addresses, such as 192.168.0.0/16. Empty leaves it to the agent or package; the
	// manual mode takes [DefaultRDMANetwork].
	Network string `json:"network"`
	// Authentication says what passes the ports through 802.1X in the manual mode: image or agent.
	Authentication string `json:"authentication"`
	// WaitSeconds is how long to wait until each port is authenticated and has an address.
	WaitSeconds int `json:"wait_seconds"`
}

// Defaults and facts of RDMA ports. Sources: Oracle Japan's tutorials; oci-cn-auth.
const (
	DefaultRDMANetwork     = "192.168.0.0/16"
	DefaultRDMAWaitSeconds = 1200
	RDMAMTU                = 4220
)

// Proxy for HTTP.
type Proxy struct {
	HTTP    string   `json:"http"`
	HTTPS   string   `json:"https"` // empty: as HTTP
	NoProxy []string `json:"no_proxy"`
}

// YumRepository is for dnf and yum.
type YumRepository struct {
	Name     string `json:"name"` // empty: its ID
	URL      string `json:"url"`
	GPGKey   string `json:"gpg_key"` // URL
	GPGCheck *bool  `json:"gpg_check"`
	Enabled  *bool  `json:"enabled"`
}

// AptRepository is for apt.
type AptRepository struct {
	URL        string   `json:"url"`
	Suite      string   `json:"suite"` // $RELEASE is the image's own
	Components []string `json:"components"`
	Key        string   `json:"key"` // public key, armored
}

// Engine is a container engine.
type Engine string

// Engines.
const (
	Docker     Engine = "docker"
	Containerd Engine = "containerd"
)

// Engines lists them all.
func Engines() []Engine { return []Engine{Docker, Containerd} }

// ContainerEngine to install at boot, where the image does not have it.
type ContainerEngine struct {
	Name          Engine   `json:"name"`
	NVIDIAToolkit *bool    `json:"nvidia_toolkit"` // nil: where the shape has NVIDIA GPUs
	Images        []string `json:"images"`         // to pull
}

// File to write on a node.
type File struct {
	Content string `json:"content"`
	// Permissions in octal, such as 0644.
	Permissions string `json:"permissions"`
	// Owner as user:group.
	Owner string `json:"owner"`
}

// DefaultPermissions of a file.
const DefaultPermissions = "0644"

// Part is user data of the user's own.
type Part struct {
	Content string `json:"content"`
	// ContentType in cloud-init's words; empty is text/cloud-config.
	ContentType string `json:"content_type"`
	// MergeType is how a cloud-config is merged with what comes before; empty is [DefaultMergeType].
	MergeType string `json:"merge_type"`
}

// Content types of parts.
const (
	CloudConfig = "text/cloud-config"
	ShellScript = "text/x-shellscript"
	Boothook    = "text/cloud-boothook"
	Jinja       = "text/jinja2"
)

// ContentTypes lists them all.
func ContentTypes() []string { return []string{CloudConfig, ShellScript, Boothook, Jinja} }

// DefaultMergeType adds lists to lists and keys to keys. cloud-init's own default would have a part's
// write_files replace the set-up's.
const DefaultMergeType = "list(append)+dict(no_replace,recurse_list)+str()"

// withDefaults fills in what is empty.
func (c Config) withDefaults() Config {
	if c.NVMe != nil {
		n := *c.NVMe
		preset := DefaultNVMe()
		n.Layout = cmp.Or(n.Layout, preset.Layout)
		n.FileSystem = cmp.Or(n.FileSystem, preset.FileSystem)
		n.MountPoint = cmp.Or(n.MountPoint, preset.MountPoint)
		if n.Label == "" && n.Layout == PerDisk {
			n.Label = "nvme" // the number of the device follows, and labels are short
		}
		n.Label = cmp.Or(n.Label, preset.Label)
		n.MountOptions = cmp.Or(n.MountOptions, preset.MountOptions)
		c.NVMe = &n
	}
	if c.RDMA != nil {
		r := *c.RDMA
		r.Mode = cmp.Or(r.Mode, RDMAAgent)
		r.WaitSeconds = cmp.Or(r.WaitSeconds, DefaultRDMAWaitSeconds)
		if r.Mode == RDMAManual {
			r.Network = cmp.Or(r.Network, DefaultRDMANetwork)
		}
		c.RDMA = &r
	}
	if c.ContainerEngine != nil {
		e := *c.ContainerEngine
		e.Name = cmp.Or(e.Name, Docker)
		c.ContainerEngine = &e
	}
	c.ReadyFile = cmp.Or(c.ReadyFile, DefaultReadyFile)
	return c
}
