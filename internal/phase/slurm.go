// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/node"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// readLimit is how much of a batch job's output is read at a time, in bytes.
const readLimit = 4 << 20

// slurmNames are Slurm's names of the nodes. It is asked for them once.
type slurmNames struct {
	ask sync.Once
	of  map[*nodeWork]string
	err error
}

func (w *work) slurmSettings() job.Slurm {
	if s := w.Job.Benchmark.Slurm; s != nil {
		return *s
	}
	return job.Slurm{}
}

// batch gives the batch job that measures some nodes together, or a node alone.
func (w *work) batch(ctx context.Context, nodes []*nodeWork, gpus int, b job.Benchmark) (*launch.Batch, error) {
	s := w.slurmSettings()
	name, err := nccl.Program(b.Collective)
	if err != nil {
		return nil, &Stop{job.CouldNotRun, job.Failure{Kind: "invalid_job", Message: err.Error()}}
	}
	batch := &launch.Batch{
		Settings: s, RanksPerNode: gpus, Program: path.Join(b.NCCLTestsDir, name), Args: nccl.Args(b, 1), Env: w.environment(),
		Dir: cmp.Or(s.SharedDir, string(w.Dir)), Limit: time.Duration(b.TimeoutSeconds) * time.Second, Root: os.Geteuid() == 0,
	}
	if s.Starter() == job.SlurmMPIRun {
		batch.Env = w.mpiEnvironment()
	}
	for variable, value := range b.Environment { // what is for these runs alone counts over all
		batch.Env[variable] = value
	}
	if s.Chooses() || s.Image != "" { // nobody has looked there
		batch.Search = node.ProgramPlaces()
	}
	if s.Chooses() {
		return batch, nil
	}
	if batch.Nodes, err = w.slurmNodes(ctx, nodes); err != nil {
		return nil, err
	}
	if s.Image == "" {
		facts := nodes[0].found.Facts
		batch.Program = cmp.Or(facts.NCCLTests, name)
		batch.OpenMPIBin = facts.OpenMPIBin
		var networks []string
		for _, n := range nodes {
			networks = append(networks, n.found.Facts.NetworkCIDR)
		}
		batch.Networks = launch.CommonNetworks(networks)
	}
	return batch, nil
}

// slurmNodes gives Slurm's names of nodes, which must not be out of use.
func (w *work) slurmNodes(ctx context.Context, nodes []*nodeWork) ([]string, error) {
	w.slurm.ask.Do(func() { w.slurm.of, w.slurm.err = w.askSlurm(ctx) })
	if w.slurm.err != nil {
		return nil, w.slurm.err
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = w.slurm.of[n]
	}
	return names, nil
}

// askSlurm finds the nodes of the job among Slurm's, by host name or address.
func (w *work) askSlurm(ctx context.Context) (map[*nodeWork]string, error) {
	known, err := launch.SlurmNodes(ctx)
	if err != nil {
		return nil, &Stop{job.CouldNotRun, job.Failure{
			Kind: launch.KindSlurmMissing, Node: w.nodes[0].Name, Message: fmt.Sprintf("the head node cannot ask Slurm for its nodes: %v", err),
			Advice: "name a node first that has Slurm's programs and reaches slurmctld, or choose another launcher",
		}}
	}
	names := map[*nodeWork]string{}
	for _, n := range w.nodes {
		short, _, _ := strings.Cut(n.found.Facts.Hostname, ".")
		at := slices.IndexFunc(known, func(s launch.SlurmNode) bool {
			return s.Host == n.found.Facts.Hostname || s.Host == short || s.Name == short || s.Address == n.Address
		})
		if at < 0 {
			return nil, &Stop{job.CouldNotRun, job.Failure{
				Kind: launch.KindSlurmRejected, Node: n.Name, Message: fmt.Sprintf("Slurm knows no node with the host name %s or the address %s", short, n.Address),
				Advice: "see scontrol show nodes; add the node to Slurm, or leave it out of nodes",
			}}
		}
		names[n] = known[at].Name
		if state := known[at].State; strings.Contains(state, "DOWN") || strings.Contains(state, "DRAIN") || strings.Contains(state, "FAIL") {
			w.emit(job.Event{Type: job.EventNode, Node: n.Name, Outcome: job.Warn, Message: strings.TrimSpace(fmt.Sprintf("Slurm has it as %s: %s", state, known[at].Reason))})
		}
	}
	return names, nil
}

// start runs what a run consists of to its end.
func (w *work) start(ctx context.Context, r run, watch *watch, output *lineMerger) error {
	if r.batch == nil {
		return r.at.Run(ctx, r.command, output.stream(), output.stream())
	}
	watch.timer.Stop() // until the batch job has started
	f := &launch.Follower{
		Batch: *r.batch, Record: w.Dir.Slurm(r.name), Read: w.readOnNode, Remove: w.removeOnNode,
		Tell:    func(message string) { w.emit(job.Event{Type: job.EventOutput, Message: r.name + ": " + message}) },
		Running: func() { watch.timer.Reset(cmp.Or(r.limit, r.batch.Limit)) },
	}
	f.Batch.Name = "ocihpc-" + w.Job.Key() + "-" + r.name
	if err := w.makeOnNodes(ctx, r); err != nil {
		return err
	}
	w.batching.Lock()
	w.batches = append(w.batches, f)
	w.batching.Unlock()
	return f.Run(ctx, output.stream())
}

// makeOnNodes makes the directory that batch jobs write to: any of their nodes can be the one that the script runs on.
func (w *work) makeOnNodes(ctx context.Context, r run) error {
	for _, n := range r.nodes {
		if n == w.nodes[0] { // it has the job's directory
			continue
		}
		line := "umask 077 && mkdir -p " + shellescape.Quote(r.batch.Dir)
		if err := n.at.Host.Run(ctx, remote.Command{Line: line, Stdout: io.Discard, Stderr: io.Discard}); err != nil {
			return fmt.Errorf("make %s on %s: %w", r.batch.Dir, n.Name, err)
		}
	}
	return nil
}

// bySlurmName gives a node other than the head node; nil when the file is to be looked for there.
func (w *work) bySlurmName(name string) *nodeWork {
	for n, is := range w.slurm.of {
		if is == name && n != w.nodes[0] && w.slurmSettings().SharedDir == "" {
			return n
		}
	}
	return nil
}

func (w *work) readOnNode(ctx context.Context, host, file string, from int64) ([]byte, error) {
	n := w.bySlurmName(host)
	if n == nil {
		return readFrom(file, from)
	}
	var out bytes.Buffer
	line := fmt.Sprintf("test ! -e %[1]s || tail -c +%[2]d %[1]s | head -c %[3]d", shellescape.Quote(file), from+1, readLimit)
	if err := n.at.Host.Run(ctx, remote.Command{Line: line, Stdout: &out, Stderr: io.Discard}); err != nil {
		return nil, fmt.Errorf("read %s on %s: %w", file, n.Name, err)
	}
	return out.Bytes(), nil
}

func readFrom(file string, from int64) ([]byte, error) {
	f, err := os.Open(file) // #nosec G304 -- of our own batch job
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(io.NewSectionReader(f, from, readLimit))
}

func (w *work) removeOnNode(ctx context.Context, host string, files ...string) {
	n := w.bySlurmName(host)
	if n == nil {
		for _, file := range files {
			_ = os.Remove(file) // it may be on no node
		}
		return
	}
	line := "rm -f " + shellescape.QuoteCommand(files)
	_ = n.at.Host.Run(ctx, remote.Command{Line: line, Stdout: io.Discard, Stderr: io.Discard}) // they do no harm
}
