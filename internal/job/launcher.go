// SPDX-License-Identifier: MPL-2.0

package job

// Launcher is what starts the ranks of a run.
type Launcher string

// Launchers.
const (
	// LauncherAuto measures a node alone by one process, and several nodes by mpirun.
	LauncherAuto   Launcher = ""
	LauncherSingle Launcher = "single" // one process, which drives all GPUs of its node by threads
	LauncherMPIRun Launcher = "mpirun" // one rank a GPU, on one node, too
	LauncherSlurm  Launcher = "slurm"  // a batch job of Slurm for each run, with one rank a GPU
)

// Launchers are those that can be named.
var Launchers = []Launcher{LauncherSingle, LauncherMPIRun, LauncherSlurm}

// Slurm says how runs become batch jobs (sbatch). Whatever is empty is left to Slurm's own settings. The jobs have their nodes
// to themselves.
type Slurm struct {
	Partition   string `json:"partition,omitempty"`
	Account     string `json:"account,omitempty"`
	QOS         string `json:"qos,omitempty"`
	Constraint  string `json:"constraint,omitempty"` // features of nodes, such as gpu&roce
	Reservation string `json:"reservation,omitempty"`
	GRES        string `json:"gres,omitempty"` // generic resources of each node, such as gpu:8

	// Nodes is how many nodes Slurm chooses for the run; 0 means the job's nodes, by name. The job then names only the
	// node that it is submitted on, which need not be one of Slurm's own.
	Nodes int `json:"nodes,omitempty"`
	// TimeLimitSeconds of a batch job; 0 means a run's time limit and a minute.
	TimeLimitSeconds int `json:"time_limit_seconds,omitempty"`
	// QueueSeconds is how long a batch job may wait for its start; 0 means as long as the job has.
	QueueSeconds int `json:"queue_seconds,omitempty"`

	// MPI is how the ranks are started in a batch job; empty means pmi2 with an image, and mpirun without.
	MPI SlurmMPI `json:"mpi,omitempty"`
	// Image is a container image that Pyxis runs the ranks in, such as nvcr.io#nvidia/pytorch:24.01-py3 or a path
	// of a .sqsh file; empty means on the nodes themselves.
	Image string `json:"image,omitempty"`
	// Mounts of the container, as SOURCE:TARGET or SOURCE:TARGET:FLAGS.
	Mounts []string `json:"mounts,omitempty"`

	// Options of sbatch beside these, such as --comment=acceptance; those that the runner sets itself are refused.
	Options []string `json:"options,omitempty"`
	// SharedDir is a directory that the head node and all nodes share, for what the batch jobs print; empty means
	// the job's directory, which is then made on every node.
	SharedDir string `json:"shared_dir,omitempty"`
}

// SlurmMPI starts ranks in a batch job.
type SlurmMPI string

// What starts ranks: srun with a plugin of Slurm's, or Open MPI's mpirun, which uses srun for its daemons alone.
const (
	SlurmPMIx   SlurmMPI = "pmix"
	SlurmPMI2   SlurmMPI = "pmi2"
	SlurmMPIRun SlurmMPI = "mpirun"
)

// Starter is what starts the ranks, with the default.
func (s Slurm) Starter() SlurmMPI {
	switch {
	case s.MPI != "":
		return s.MPI
	case s.Image != "":
		return SlurmPMI2
	}
	return SlurmMPIRun
}

// Chooses says that Slurm chooses the nodes. It is right for nil, too.
func (s *Slurm) Chooses() bool { return s != nil && s.Nodes > 0 }
