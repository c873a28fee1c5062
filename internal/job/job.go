// SPDX-License-Identifier: MPL-2.0

// Package job is the contract between whoever asks for work on nodes (the Terraform provider, a CI job,
// a person at a shell) and ocihpc-runner, which does it: a [Job] goes in, a stream of [Event] comes
// back, and the last event carries the [Result].
//
// Units are in the names: _bytes, _seconds, _us (microseconds), _gb_per_s (10^9 bytes per second).
package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Version of the contract. A runner refuses a job of another version.
const Version = 1

// Job is everything that the runner needs to know. It holds no secret: the private key that the head
// node uses to reach the others is a file beside it (see [Dir]).
type Job struct {
	Version int `json:"version"`

	// Nodes to work on; the first one is the head node, where the runner runs.
	Nodes []Node `json:"nodes"`
	SSH   SSH    `json:"ssh"`

	// Shape is the OCI shape of every node, such as BM.GPU4.8. Empty means unknown: nothing is taken
	// from the shape catalog, and checks that need it say that they cannot tell.
	Shape string `json:"shape,omitempty"`

	// Setup is done before the checks.
	Setup     *Setup     `json:"setup,omitempty"`
	Checks    Checks     `json:"checks"`
	Benchmark *Benchmark `json:"benchmark,omitempty"`

	// Triggers are the user's own reasons to run again. They only take part in the key.
	Triggers map[string]string `json:"triggers,omitempty"`

	// TimeoutSeconds bounds the whole job.
	TimeoutSeconds int `json:"timeout_seconds"`
	// MaxAgeSeconds: an earlier run's pass that is older is not taken for this job's; 0 takes one of any age.
	MaxAgeSeconds int `json:"max_age_seconds,omitempty"`
}

// Node is one host.
type Node struct {
	// ID is the instance's OCID where there is one. It tells a replaced node from the one before it.
	ID string `json:"id,omitempty"`
	// Name is what people call the node: its host name or display name.
	Name string `json:"name"`
	// Address is the IP address or DNS name by which the head node and MPI reach it.
	Address string `json:"address"`
	// HostKey is the SSH host key that the node must show, as in known_hosts: "ssh-ed25519 AAAA…".
	HostKey string `json:"host_key"`
}

// SSH says how the head node logs in to every node.
type SSH struct {
	User string `json:"user"`
	Port int    `json:"port"`
}

// Checks says what is expected of each node before anything is measured. Empty fields are not checked.
type Checks struct {
	// Timezone in the IANA form, such as Asia/Tokyo.
	Timezone string `json:"timezone,omitempty"`
	// Mounts that must be mounted, such as /mnt/localdisk.
	Mounts []string `json:"mounts,omitempty"`
	// FirewallOff asks that no host firewall filters between the nodes.
	FirewallOff bool `json:"firewall_off,omitempty"`
	// CloudInitWaitSeconds is how long to wait for cloud-init to finish, and after it, on a node that has just
	// booted, for Oracle Cloud Agent to set RDMA up.
	CloudInitWaitSeconds int `json:"cloud_init_wait_seconds"`
	// Skip names checks of [CheckKinds] that are left out, such as gpu_xid.
	Skip []string `json:"skip,omitempty"`
}

// None says that nothing is asked for.
func (c Checks) None() bool {
	return c.Timezone == "" && len(c.Mounts) == 0 && !c.FirewallOff && c.CloudInitWaitSeconds == 0
}

// Benchmark asks for nccl-tests: first each node alone, then all nodes together, unless Pattern says otherwise.
type Benchmark struct {
	// Pattern of the runs; empty means [PatternAuto].
	Pattern Pattern `json:"pattern,omitempty"`
	// MaxRuns bounds the runs of a pattern beyond each node alone and all together; 0 means 4 for each node, 16 at least.
	MaxRuns int `json:"max_runs,omitempty"`

	// Launcher of the ranks.
	Launcher Launcher `json:"launcher,omitempty"`
	// Slurm is for LauncherSlurm; nil leaves all to Slurm's own settings.
	Slurm *Slurm `json:"slurm,omitempty"`
	// Container that the ranks run in; nil means on the nodes themselves.
	Container *Container `json:"container,omitempty"`
	// NCCLTestsSource is what nccl-tests are built from where there are none; nil means that they must be there.
	NCCLTestsSource *NCCLTestsSource `json:"nccl_tests_source,omitempty"`

	// Collective such as all_reduce.
	Collective string `json:"collective"`
	// MinSizeBytes and MaxSizeBytes bound the message sizes; each is the one before times StepFactor.
	MinSizeBytes int64 `json:"min_size_bytes"`
	MaxSizeBytes int64 `json:"max_size_bytes"`
	StepFactor   int   `json:"step_factor"`
	// DataType and RedOp in nccl-tests' words, such as float and sum.
	DataType string `json:"data_type"`
	RedOp    string `json:"redop"`

	Iterations       int `json:"iterations"`
	WarmupIterations int `json:"warmup_iterations"`

	// GPUsPerNode is the number of ranks a node; 0 means as many as the node shows.
	GPUsPerNode int `json:"gpus_per_node,omitempty"`
	// NCCLTestsDir holds all_reduce_perf and the others; empty means the known places and PATH.
	NCCLTestsDir string `json:"nccl_tests_dir,omitempty"`
	// Environment overrides what the shape catalog sets for NCCL, UCX and MPI.
	Environment map[string]string `json:"environment,omitempty"`
	// Expect judges the run over all nodes; ExpectPerNode judges each node alone.
	Expect        Expectation `json:"expect"`
	ExpectPerNode Expectation `json:"expect_per_node"`
	// Repeats is how often each run is made; 0 means once. The medians are judged.
	Repeats int `json:"repeats,omitempty"`
	// Baseline is an earlier result that the run over all nodes is compared with; nil means none.
	Baseline *Baseline `json:"baseline,omitempty"`
	// Tuning asks for a search for better settings after all other runs; nil is none.
	Tuning *Tuning `json:"tuning,omitempty"`
	// Transport that the run over all nodes must use.
	Transport Transport `json:"transport,omitempty"`
	// TimeoutSeconds bounds one nccl-tests run.
	TimeoutSeconds int `json:"timeout_seconds"`
}

// Key identifies the work: two jobs with the same nodes, parameters and triggers have the same key. It
// names the job's directory, so that a second request finds the first one's run. The expectations are
// part of it; limits of time and concurrency and host keys (not known before the first contact) are not.
func (j Job) Key() string {
	j.Nodes = slices.Clone(j.Nodes)
	for i := range j.Nodes {
		j.Nodes[i].HostKey = ""
	}
	j.TimeoutSeconds, j.MaxAgeSeconds = 0, 0
	j.Checks.CloudInitWaitSeconds = 0
	if j.Benchmark != nil {
		benchmark := *j.Benchmark
		benchmark.TimeoutSeconds = 0
		if benchmark.Slurm != nil {
			slurm := *benchmark.Slurm
			slurm.TimeLimitSeconds, slurm.QueueSeconds = 0, 0
			benchmark.Slurm = &slurm
		}
		j.Benchmark = &benchmark
	}
	if j.Setup != nil {
		setup := *j.Setup
		setup.MaxSessions, setup.MaxDownloads, setup.MaxUploads, setup.MaxTransfers = 0, 0, 0, 0
		setup.LockWaitSeconds, setup.ReconnectSeconds = 0, 0
		j.Setup = &setup
	}
	text, err := json.Marshal(j)
	if err != nil { // Job holds only types that always encode.
		panic(fmt.Sprintf("job: encode: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
