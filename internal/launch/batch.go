// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Batch is a program to run as a batch job of Slurm, over whole nodes, one rank a GPU.
type Batch struct {
	Settings job.Slurm
	// Name of the batch job; of the files that it writes, too.
	Name string
	// Nodes by Slurm's names; none lets Slurm choose Settings.Nodes of them.
	Nodes        []string
	RanksPerNode int

	Program string
	Args    []string
	Env     map[string]string

	OpenMPIBin string   // folder of mpirun, the same on every node
	Networks   []string // see [MPI]
	Root       bool     // the user is root

	// Search are folders, as patterns, that are added to PATH, for a program without a folder.
	Search []string

	// Dir is where the batch job writes: an absolute path of the node that its script runs on.
	Dir string
	// Limit of the run, once it has started.
	Limit time.Duration
}

// Output is the file of what a batch job prints; Exit, written last, has its exit status.
func (b Batch) Output() string { return path.Join(b.Dir, b.Name+".out") }

// Exit is written last, whole or not at all.
func (b Batch) Exit() string { return path.Join(b.Dir, b.Name+".exit") }

func (b Batch) count() int {
	if len(b.Nodes) == 0 {
		return b.Settings.Nodes
	}
	return len(b.Nodes)
}

// Command is what starts the ranks in the batch job.
func (b Batch) Command() []string {
	if b.Settings.Starter() == job.SlurmMPIRun {
		return b.mpirun()
	}
	argv := []string{
		"srun", "--mpi=" + string(b.Settings.Starter()), "--nodes=" + strconv.Itoa(b.count()), "--ntasks-per-node=" + strconv.Itoa(b.RanksPerNode),
		"--ntasks=" + strconv.Itoa(b.count()*b.RanksPerNode), "--label", "--kill-on-bad-exit=1", "--overcommit",
	}
	if b.Settings.Image != "" {
		argv = append(argv, "--container-image="+b.Settings.Image)
		if len(b.Settings.Mounts) > 0 {
			argv = append(argv, "--container-mounts="+strings.Join(b.Settings.Mounts, ","))
		}
		if len(b.Env) > 0 { // else what the image sets counts
			argv = append(argv, "--container-env="+strings.Join(sortedKeys(b.Env), ","))
		}
		if search := b.search(); search != "" { // in the container's own folders
			argv = append(argv, "sh", "-c", search+` exec "$(command -v "$0`+job.MPISuffix+`" || echo "$0")" "$@"`)
		}
	}
	return append(append(argv, b.Program), b.Args...)
}

// search adds to PATH in a shell.
func (b Batch) search() string {
	if len(b.Search) == 0 {
		return ""
	}
	return fmt.Sprintf(`for dir in %s; do [ ! -d "$dir" ] || PATH=$PATH:$dir; done;`, strings.Join(b.Search, " "))
}

// mpirun starts its daemons by srun, which it finds out by itself.
func (b Batch) mpirun() []string {
	m := MPI{Program: b.Program, Args: b.Args, Env: b.Env, RanksPerHost: b.RanksPerNode, Hosts: make([]string, b.count()), OpenMPIBin: b.OpenMPIBin, Root: b.Root}
	argv := append(m.begin(), "--bind-to", "none", "--map-by", fmt.Sprintf("ppr:%d:node:OVERSUBSCRIBE", b.RanksPerNode))
	if len(b.Networks) > 0 {
		argv = append(argv, "--mca", "btl_tcp_if_include", strings.Join(b.Networks, ","))
	}
	return m.end(argv, map[string]string{}).Argv
}

// Script is what sbatch is given. It says all that the batch job is, so that a person can submit it, too.
func (b Batch) Script() (string, error) {
	if b.count() < 1 || b.RanksPerNode < 1 {
		return "", errors.New("a batch job needs at least one node and one rank a node")
	}
	if strings.ContainsAny(b.Dir, "\"\n\\") {
		return "", fmt.Errorf("the directory %q holds a quote, a backslash or a line break: Slurm cannot write there", b.Dir)
	}
	var text strings.Builder
	text.WriteString("#!/bin/sh\n# Written by ocihpc-runner.\n")
	for _, option := range b.options() {
		text.WriteString("#SBATCH " + option + "\n")
	}
	for _, name := range sortedKeys(b.Env) {
		fmt.Fprintf(&text, "export %s=%s\n", name, shellescape.Quote(b.Env[name]))
	}
	if search := b.search(); search != "" && b.Settings.Image == "" {
		text.WriteString(search + "\n")
	}
	if dir := libraryDir(b.OpenMPIBin); dir != "" {
		fmt.Fprintf(&text, "export LD_LIBRARY_PATH=%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n", shellescape.Quote(dir))
	}
	// Ranks place their threads next to their GPUs by themselves; Slurm would bind each to one core.
	text.WriteString("export SLURM_CPU_BIND=none\n")
	text.WriteString(shellescape.QuoteCommand(b.Command()) + "\nstatus=$?\n")
	exit := shellescape.Quote(b.Exit())
	fmt.Fprintf(&text, "echo $status >%[1]s.new && mv %[1]s.new %[1]s\nexit $status\n", exit)
	return text.String(), nil
}

func (b Batch) options() []string {
	limit := time.Duration(b.Settings.TimeLimitSeconds) * time.Second
	if limit == 0 {
		limit = b.Limit + time.Minute
	}
	minutes := int((limit + time.Minute - 1) / time.Minute)
	// In file names, sbatch replaces what begins with a percent sign.
	options := []string{
		"--job-name=" + b.Name, "--output=\"" + strings.ReplaceAll(b.Output(), "%", "%%") + "\"", "--open-mode=truncate", "--nodes=" + strconv.Itoa(b.count()),
		"--ntasks-per-node=" + strconv.Itoa(b.RanksPerNode), "--exclusive", "--overcommit", "--mem=0", "--time=" + strconv.Itoa(minutes), "--no-requeue",
	}
	if len(b.Nodes) > 0 {
		options = append(options, "--nodelist="+strings.Join(b.Nodes, ","))
	}
	s := b.Settings
	for _, set := range [][2]string{
		{"partition", s.Partition}, {"account", s.Account}, {"qos", s.QOS}, {"constraint", s.Constraint}, {"reservation", s.Reservation}, {"gres", s.GRES},
	} {
		if set[1] != "" {
			options = append(options, "--"+set[0]+"=\""+set[1]+"\"")
		}
	}
	return slices.Concat(options, s.Options)
}
