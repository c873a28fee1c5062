// SPDX-License-Identifier: MPL-2.0

package job

import (
	"fmt"
	"path"
	"strconv"
)

// Root is where the runner keeps itself and its jobs, below the login user's home on a node. Mode 0700.
const Root = ".ocihpc"

// Dir is the directory of one job on the head node. Paths use slashes: they are the node's.
type Dir string

// DirOf gives the directory of the job with this key, relative to the login user's home.
func DirOf(key string) Dir { return Dir(path.Join(Root, "jobs", key)) }

// Job is the file of the [Job].
func (d Dir) Job() string { return path.Join(string(d), "job.json") }

// Events is the file of all [Event] lines.
func (d Dir) Events() string { return path.Join(string(d), "events.ndjson") }

// Log is the file of what the detached runner itself prints.
func (d Dir) Log() string { return path.Join(string(d), "runner.log") }

// Result is the file of the [Result].
func (d Dir) Result() string { return path.Join(string(d), "result.json") }

// Exit holds the runner's exit status; it is written last, so its presence means that the job is over.
func (d Dir) Exit() string { return path.Join(string(d), "exit") }

// PID holds the process id of the runner that works on the job.
func (d Dir) PID() string { return path.Join(string(d), "pid") }

// Lock is locked by the runner for as long as it works on the job.
func (d Dir) Lock() string { return path.Join(string(d), "lock") }

// AllNodesRun is the name of the run over all nodes.
const AllNodesRun = "all_nodes"

// GroupRun is the name of a run over some nodes, by the number of the run in its job.
func GroupRun(number int) string { return fmt.Sprintf("group-%03d", number) }

// RailRun is the name of a run over one GPU of each node.
func RailRun(number, rail int) string { return fmt.Sprintf("rail-%03d-%d", number, rail) }

// TuningRun is the name of a run that tries other settings.
func TuningRun(number int) string { return fmt.Sprintf("tuning-%03d", number) }

// NodeRun is the name of the run of one node alone.
func NodeRun(node string) string { return "each_node-" + node }

// Repeated is the name of the n-th repeat of a run, from 1. No node's name has a plus sign.
func Repeated(run string, n int) string {
	if n <= 1 {
		return run
	}
	return run + "+" + strconv.Itoa(n)
}

// RunLog holds what one nccl-tests run printed; name is the run's, such as [AllNodesRun], a [NodeRun], or one of
// their repeats.
func (d Dir) RunLog(name string) string { return path.Join(string(d), name+".log") }

// Key is the private key by which the head node reaches the others; mode 0600, gone when the job is over.
func (d Dir) Key() string { return path.Join(string(d), "id_ed25519") }

// RegistryAuth holds credentials of container registries for the set-up, in the form of ~/.docker/config.json; mode 0600,
// gone when the job is over.
func (d Dir) RegistryAuth() string { return path.Join(string(d), "registry_auth.json") }

// SocketDir holds nothing but the socket: containers see it.
func (d Dir) SocketDir() string { return path.Join(string(d), "rsh") }

// Socket is where `ocihpc-runner rsh` asks the running job for a command on another node.
func (d Dir) Socket() string { return path.Join(d.SocketDir(), "sock") }

// Slurm remembers the batch job of a run until the job is over.
func (d Dir) Slurm(name string) string { return path.Join(string(d), name+".slurm.json") }
