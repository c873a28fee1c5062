// SPDX-License-Identifier: MPL-2.0

package job

import "time"

// Outcome of a job, a check or a measurement. "Could not run" is never "too slow".
type Outcome string

// Outcomes.
const (
	Pass        Outcome = "pass"
	Warn        Outcome = "warn"
	Fail        Outcome = "fail"
	CouldNotRun Outcome = "could_not_run"
	CannotTell  Outcome = "cannot_tell" // a check that lacks what it would need
)

// Result is what came of a job.
type Result struct {
	Version int    `json:"version"`
	Key     string `json:"key"`
	// Outcome is Pass, Warn, Fail or CouldNotRun; the worst of what is below.
	Outcome Outcome `json:"outcome"`
	// Failure says in words why Outcome is not Pass; nil when it is.
	Failure    *Failure      `json:"failure,omitempty"`
	StartedAt  time.Time     `json:"started_at"`
	FinishedAt time.Time     `json:"finished_at"`
	Nodes      []NodeResult  `json:"nodes"`
	Runs       []Measurement `json:"runs"`
	// Suspects are what the runs point at; none does not mean that all is good.
	Suspects []Suspect `json:"suspects,omitempty"`
	// ReplaceNodes are the nodes whose replacement can cure it: instance IDs, or names of nodes without one.
	ReplaceNodes []string `json:"replace_nodes,omitempty"`
	// Tuned is what came of the search for better settings; nil where none was asked for, or made.
	Tuned *Tuned `json:"tuned,omitempty"`
	// Conclusion says in a sentence what the search for the culprit came to; empty when there was none.
	Conclusion string `json:"conclusion,omitempty"`
	// Summaries are one for each group of nodes that was measured: over all repeats of its run.
	Summaries []Summary `json:"summaries,omitempty"`
}

// Failure is the reason for an outcome, for people.
type Failure struct {
	// Kind is a stable word: unreachable, host_key_changed, check_failed, wrong_results, too_slow,
	// wrong_ranks, timeout, cancelled, nccl_tests_missing, mpi_missing, cuda_error, nccl_error, crashed …
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Node where it happened, if it was one.
	Node string `json:"node,omitempty"`
	// Advice is what to do next.
	Advice string `json:"advice,omitempty"`
}

// NodeResult is what was found on one node.
type NodeResult struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Facts   *Facts `json:"facts,omitempty"` // nil when the node could not be asked
	// Setup is nil when the job asked for none, or did not come to it.
	Setup  *NodeSetup `json:"setup,omitempty"`
	Checks []Check    `json:"checks"`
}

// Facts of a node, as it reports them itself.
type Facts struct {
	Hostname  string `json:"hostname"`
	OS        string `json:"os"`
	Kernel    string `json:"kernel"`
	Arch      string `json:"arch"`
	Timezone  string `json:"timezone"`
	CloudInit string `json:"cloud_init"` // cloud-init's own status word; empty without cloud-init
	// CloudInitDetail is what cloud-init says of its errors; empty when it says nothing.
	CloudInitDetail string   `json:"cloud_init_detail,omitempty"`
	GPUs            []GPU    `json:"gpus"`
	DriverVersion   string   `json:"driver_version"`
	NetworkCIDR     string   `json:"network_cidr"` // network of the node's address, such as 10.0.1.0/24
	Mounts          []string `json:"mounts"`
	OpenMPIVersion  string   `json:"open_mpi_version"`
	OpenMPIBin      string   `json:"open_mpi_bin"` // directory of mpirun
	NCCLTests       string   `json:"nccl_tests"`   // path of the program that measures the collective
	// HCAs are the RDMA adapters' functions, by name.
	HCAs []HCA `json:"hcas,omitempty"`
	// Topology is where the node is, as the instance metadata tells; nil when they do not.
	Topology *Topology `json:"topology,omitempty"`
	// Unknown lists the facts that could not be read, each with the reason.
	Unknown map[string]string `json:"unknown,omitempty"`
}

// GPU as nvidia-smi shows it.
type GPU struct {
	Index       int    `json:"index"`
	Name        string `json:"name"`
	UUID        string `json:"uuid"`
	MemoryBytes int64  `json:"memory_bytes"`
	// VBIOS is the version of its firmware; empty when nvidia-smi does not tell.
	VBIOS string `json:"vbios,omitempty"`
}

// HCA is one function of an RDMA adapter, as the kernel shows it.
type HCA struct {
	Name      string `json:"name"`      // such as mlx5_0
	Interface string `json:"interface"` // of the network, such as rdma0; empty without one
	State     string `json:"state"`     // of the port, such as ACTIVE
	RateGbps  int    `json:"rate_gbps"` // gigabits per second
	Firmware  string `json:"firmware"`
}

// Topology is where OCI placed a node. Its values are OCI's identifiers: equal ones mean the same place. Empty
// ones are not known. From near to far: rack, local block, network block, HPC island.
type Topology struct {
	HPCIsland    string `json:"hpc_island,omitempty"`
	NetworkBlock string `json:"network_block,omitempty"`
	LocalBlock   string `json:"local_block,omitempty"`
	Rack         string `json:"rack,omitempty"`
	Host         string `json:"host,omitempty"`
}

// Check is one thing that was looked at on a node.
type Check struct {
	// Name is a stable word such as gpu_count.
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Message says what was found and what was expected.
	Message string `json:"message"`
	Advice  string `json:"advice,omitempty"`
}

// Scope of a measurement.
type Scope string

// Scopes.
const (
	ScopeNode Scope = "node" // one node alone
	ScopeAll  Scope = "all"  // all nodes together
	// ScopeGroup is a run of some nodes together, which serves the search for a culprit.
	ScopeGroup Scope = "group"
	ScopeRail  Scope = "rail" // one GPU of every node
)

// Measurement is one nccl-tests run and what it was judged to be.
type Measurement struct {
	Scope Scope `json:"scope"`
	// Purpose says why a run of scope group or rail was made, such as "halves, round 1".
	Purpose string `json:"purpose,omitempty"`
	// Rail is the index of the GPU that took part of each node, for scope rail.
	Rail    *int     `json:"rail,omitempty"`
	Nodes   []string `json:"nodes"` // names
	Outcome Outcome  `json:"outcome"`
	Failure *Failure `json:"failure,omitempty"`
	Report  *Report  `json:"report,omitempty"`
	// Command and Environment as they were really used.
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment"`
	ExitStatus  int               `json:"exit_status"` // -1 when it never ended by itself
	Seconds     float64           `json:"seconds"`
	// Repeat counts the runs over the same nodes, from 1; 0 where there is only one.
	Repeat int `json:"repeat,omitempty"`
	// Limits are those that this run was judged by; none where its repeats are judged together.
	Limits []AppliedLimit `json:"limits,omitempty"`
	// Remarks say what the verdict does not rest on, and why.
	Remarks []string `json:"remarks,omitempty"`
	// NCCL is what NCCL's own log tells of the run; nil where it tells nothing.
	NCCL *NCCLLog `json:"nccl,omitempty"`
	// LogSHA256 is the digest of the raw output, kept in the job directory as LogFile.
	LogFile   string `json:"log_file"`
	LogSHA256 string `json:"log_sha256"`
}

// PeakBusbw gives the report's best bus bandwidth over rows and placements, and the size at which it was
// reached; ok is false when no row has one.
func (r *Report) PeakBusbw() (gbPerS float64, sizeBytes int64, ok bool) {
	for _, row := range r.Rows {
		for _, half := range []*Placement{row.OutOfPlace, row.InPlace} {
			if half == nil || half.BusbwGBPerS == nil {
				continue
			}
			if !ok || *half.BusbwGBPerS > gbPerS {
				gbPerS, sizeBytes, ok = *half.BusbwGBPerS, row.SizeBytes, true
			}
		}
	}
	return gbPerS, sizeBytes, ok
}

// LatencyUS is the time of the smallest message, in microseconds, the better of both placements; nil where there
// is none.
func (r *Report) LatencyUS() *float64 {
	var least *Row
	for i := range r.Rows {
		if least == nil || r.Rows[i].SizeBytes < least.SizeBytes {
			least = &r.Rows[i]
		}
	}
	if least == nil {
		return nil
	}
	var best *float64
	for _, half := range []*Placement{least.OutOfPlace, least.InPlace} {
		if half != nil && half.TimeUS != nil && (best == nil || *half.TimeUS < *best) {
			best = half.TimeUS
		}
	}
	return best
}
