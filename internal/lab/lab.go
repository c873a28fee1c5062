// SPDX-License-Identifier: MPL-2.0

// Package lab runs a local OCI region in one call: the simulated API, a bastion, and instances that are
// Linux hosts. [Start] does it from a Go test as from the ocihpc-lab command.
//
// The region runs in a process of its own with its own mount, PID and network namespaces (as a plain
// user, in a user namespace too). It is PID 1 there: whichever way it ends, the kernel ends every host
// with it, and mounts, links and addresses vanish with the namespaces. The calling process re-executes
// its own binary for this; importing the package is all that the binary needs to do.
package lab

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// Errors of a lab.
var (
	// ErrRunning says that a lab runs already with this state directory.
	ErrRunning = errors.New("a lab is running already")
	// ErrNotRunning says that no lab runs with this state directory.
	ErrNotRunning = errors.New("no lab is running")
	// ErrUnsupported says that this machine cannot run a lab; the message says what to do.
	ErrUnsupported = errors.New("this machine cannot run the lab's hosts")
	// ErrConfig says that a [Config] has a value that is none.
	ErrConfig = errors.New("a lab cannot be so")
)

// HostMode says what an instance is.
type HostMode string

// Host modes.
const (
	HostsLinux HostMode = "linux" // Linux hosts on this machine; the default
	HostsNone  HostMode = "none"  // records of the API without a machine; no bastion either
)

// Init is what starts a host's services.
type Init string

// Inits of hosts.
const (
	// InitPlain starts sshd and cloud-init and nothing else; the default. A host takes a few megabytes.
	InitPlain Init = "plain"
	// InitSystemd is systemd, with journal, user sessions and all: for set-ups that bring services. It needs a
	// lab of root's, and is for at most [labhost.MaxSystemdHosts] hosts.
	InitSystemd Init = "systemd"
)

// DefaultTimeScale turns a minute of OCI's into 60 ms.
const DefaultTimeScale = 1000

// Config of a lab. The zero value is a complete one.
type Config struct {
	// Dir is the state directory: keys, files for clients, log, the region's state and the hosts' disks.
	// Where it has been left by a lab, by [Lab.Suspend] or however that was killed, the lab goes on, and
	// the zero values below mean what that lab had. Empty means a temporary one, removed by [Lab.Close].
	Dir string `json:"dir"`
	// Fresh discards what a lab has left in Dir.
	Fresh bool `json:"fresh"`
	// Detached lets the lab outlive this process: [Open] finds it again by Dir. Otherwise it ends with
	// this process, however that ends.
	Detached bool     `json:"detached"`
	Hosts    HostMode `json:"hosts"`
	Init     Init     `json:"init"`
	// TimeScale divides OCI's intervals; 0 means [DefaultTimeScale].
	TimeScale float64 `json:"time_scale"`
	// Capacity is the number of hosts that the region has of a shape; other shapes have no limit.
	Capacity map[string]int  `json:"capacity"`
	Shortage ocisim.Shortage `json:"shortage"`
	// KeepVacancies as in [ocisim.Config].
	KeepVacancies bool `json:"keep_vacancies"`
	// Scenario says what else is scarce and what goes wrong. It counts over the three above.
	Scenario ocisim.Scenario `json:"scenario"`
	// Without names Debian packages of this machine that hosts do not have, so that they can be installed there.
	Without []string `json:"without"`
	// GPUsPerHost is how many of this machine's real GPUs each host of a GPU shape has for itself; 0 gives all hosts all
	// of them. More hosts than there are GPUs for do not boot.
	GPUsPerHost int `json:"gpus_per_host"`
	// Ports on 127.0.0.1; 0 means those of the lab that goes on, if they are free, or free ones.
	HTTPPort    int `json:"http_port"`
	HTTPSPort   int `json:"https_port"`
	BastionPort int `json:"bastion_port"`
}

// Status of a running lab.
type Status struct {
	Requests int `json:"requests"`
	Refused  int `json:"refused"` // answered 401
	// Operations counts the requests by operation, and Faults those that the scenario interfered with.
	Operations map[string]int `json:"operations"`
	Faults     map[string]int `json:"faults"`
	// Unknown counts what the lab does not simulate (answered 501), by operation.
	Unknown                map[string]int `json:"unknown_requests"`
	InstanceConfigurations int            `json:"instance_configurations"`
	ClusterNetworks        int            `json:"cluster_networks"`
	ComputeClusters        int            `json:"compute_clusters"`
	InstancePools          int            `json:"instance_pools"`
	Instances              int            `json:"instances"`
	// InstanceList has those Instances, oldest first.
	InstanceList []InstanceStatus `json:"instance_list"`
	// Hosts are the OCIDs of the instances whose hosts run.
	Hosts []string `json:"hosts"`
	// Unprotected says why security lists, network security groups and routes have no effect on hosts;
	// empty where they have.
	Unprotected string `json:"unprotected,omitempty"`
	// NoContainers says why container engines can run nothing on hosts; empty where they can.
	NoContainers string `json:"no_containers,omitempty"`
	// NVMe counts the local NVMe devices of the hosts that run.
	NVMe NVMeStatus `json:"nvme"`
}

// NVMeStatus counts local NVMe devices: sparse files behind loop devices.
type NVMeStatus struct {
	// Expected is what the shapes of the hosts have, Attached what the hosts have.
	Expected int `json:"expected"`
	Attached int `json:"attached"`
	// Less says why a host has fewer than its shape; empty when none has.
	Less string `json:"less,omitempty"`
}

// InstanceStatus is what the region says of an instance that is not terminated.
type InstanceStatus struct {
	ID        string     `json:"id"`
	Hostname  string     `json:"hostname"`
	PrivateIP netip.Addr `json:"private_ip"`
	Shape     string     `json:"shape"`
	State     string     `json:"state"` // the lifecycle state, such as RUNNING
}

// DefaultDir is the state directory of a user's lab: ocihpc-lab in $XDG_STATE_HOME, which is
// ~/.local/state by default; without a home, a directory in /tmp.
func DefaultDir() string {
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "ocihpc-lab")
	}
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		return filepath.Join(home, ".local/state/ocihpc-lab")
	}
	return filepath.Join("/tmp", "ocihpc-lab-"+strconv.Itoa(os.Getuid()))
}
