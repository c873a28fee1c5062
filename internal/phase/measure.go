// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// run is one nccl-tests run to be made.
type run struct {
	scope   job.Scope
	nodes   []*nodeWork
	name    string // of its log
	at      launch.Node
	command launch.Command
	batch   *launch.Batch // of Slurm, in place of the command
	expect  job.Expectation
	ranks   int
	// baseline to compare with, if there is one.
	baseline *job.Baseline
	// number of this one among its repeats, from 1; 0 where it is the only one and judged by itself.
	number  int
	purpose string        // of a run that searches for a culprit; its rows are not told
	rail    *int          // the only GPU of each node
	limit   time.Duration // 0: the job's for a run
}

// measure makes a run and judges it. The raw output stays in the job's directory.
func (w *work) measure(ctx context.Context, r run) job.Measurement {
	m := job.Measurement{
		Scope: r.scope, Purpose: r.purpose, Rail: r.rail, Command: r.command.Argv, Environment: maps.Clone(r.command.Env), ExitStatus: -1,
		LogFile: path.Base(w.Dir.RunLog(r.name)), Repeat: r.number,
	}
	if m.Environment == nil {
		m.Environment = map[string]string{}
	}
	for _, n := range r.nodes {
		m.Nodes = append(m.Nodes, n.Name)
	}
	if err := job.CheckRanks(w.Job.Benchmark.Collective, r.ranks); err != nil {
		return couldNotRun(m, job.Failure{Kind: "invalid_job", Message: err.Error(), Advice: "choose another collective, gpus_per_node, or other nodes"})
	}
	log, err := os.OpenFile(filepath.FromSlash(w.Dir.RunLog(r.name)), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return couldNotRun(m, job.Failure{Kind: "internal", Message: fmt.Sprintf("the log could not be written: %v", err), Advice: "see that the job directory's file system has space"})
	}
	defer log.Close() //nolint:errcheck // a write that failed has ended the run

	limited, watch := w.limit(ctx, r)
	defer watch.stop()
	digest := sha256.New()
	parser := nccl.NewParser(w.reportRows(r))
	output := newLineMerger(io.MultiWriter(log, digest, parser))
	began := time.Now()
	err = w.start(limited, r, watch, output)
	output.flush()
	m.Seconds = time.Since(began).Seconds()
	m.LogSHA256 = hex.EncodeToString(digest.Sum(nil))
	return w.judge(limited, m, r, parser, watch, err)
}

// judge says what became of a run that has ended with err.
func (w *work) judge(ctx context.Context, m job.Measurement, r run, parser *nccl.Parser, watch *watch, err error) job.Measurement {
	var exit *remote.ExitError
	ended := err == nil
	if errors.As(err, &exit) && exit.Status >= 0 {
		ended = true
		m.ExitStatus = exit.Status
	} else if ended {
		m.ExitStatus = 0
	}
	status := &m.ExitStatus
	if !ended {
		status = nil
	}
	said := parser.Finish(status)
	if len(said.Reports) > 0 {
		m.Report = &said.Reports[0]
		if r.batch != nil && r.batch.Settings.Chooses() {
			m.Nodes = m.Report.Hosts()
		}
	}
	var batch *launch.BatchError
	switch {
	case errors.As(err, &batch):
		return couldNotRun(m, batch.Failure)
	case ctx.Err() != nil && !ended:
		return couldNotRun(m, watch.whereItHangs(interruption(ctx, "the run "+r.name), said.Reports))
	case !ended:
		return couldNotRun(m, job.Failure{Kind: nccl.KindConnectionLost, Message: fmt.Sprintf("the end of the run is not known: %v", err), Advice: "see whether the node still runs, then start the job again"})
	}
	m.NCCL = said.NCCL
	want := nccl.Want{Ranks: r.ranks, Hosts: r.hosts(), NCCL: said.NCCL}
	var remark string
	if want.RDMA, remark = w.needsRDMA(r, said.NCCL); remark != "" {
		m.Remarks = append(m.Remarks, remark)
	}
	if r.number > 0 { // the bandwidth is judged when all repeats are there
		m.Outcome, m.Failure = nccl.Right(said.Reports, said.Failure, want)
	} else {
		verdict := nccl.Judge(said.Reports, said.Failure, w.criteria(r, m), want)
		m.Outcome, m.Failure, m.Limits = verdict.Outcome, verdict.Failure, verdict.Limits
		m.Remarks = append(m.Remarks, verdict.Remarks...)
	}
	m.Failure = r.named(m.Failure)
	return m
}

// named gives a failure of a run on one node that node's name.
func (r run) named(failure *job.Failure) *job.Failure {
	if failure == nil || failure.Node != "" || len(r.nodes) != 1 || r.hosts() != 1 {
		return failure
	}
	named := *failure
	named.Node = r.nodes[0].Name
	return &named
}

func couldNotRun(m job.Measurement, failure job.Failure) job.Measurement {
	if len(m.Nodes) == 1 {
		failure.Node = m.Nodes[0]
	}
	m.Outcome, m.Failure = job.CouldNotRun, &failure
	return m
}

// reportRows gives what tells of every row of the table as it appears.
func (w *work) reportRows(r run) func(job.Row) {
	if r.purpose != "" {
		return func(job.Row) {} // several run at the same time
	}
	event := job.Event{Type: job.EventOutput, Total: rowsOf(*w.Job.Benchmark)}
	if len(r.nodes) == 1 {
		event.Node = r.nodes[0].Name
	}
	return func(row job.Row) {
		event.Done++
		event.Message = describe(row)
		w.emit(event)
	}
}

// rowsOf gives the number of sizes that a benchmark asks for.
func rowsOf(b job.Benchmark) int {
	rows := 1
	for size := b.MinSizeBytes; size <= b.MaxSizeBytes/int64(b.StepFactor); size *= int64(b.StepFactor) {
		rows++
	}
	return rows
}

// describe puts a row into words, without what is not in it.
func describe(row job.Row) string {
	text := nccl.FormatBytes(row.SizeBytes)
	for _, half := range []struct {
		name string
		p    *job.Placement
	}{{"out of place", row.OutOfPlace}, {"in place", row.InPlace}} {
		if half.p != nil && half.p.BusbwGBPerS != nil {
			text += fmt.Sprintf("  %s %.2f GB/s", half.name, *half.p.BusbwGBPerS)
		}
		if half.p != nil && half.p.WrongResults != nil && *half.p.WrongResults > 0 {
			text += fmt.Sprintf(" (%d wrong)", *half.p.WrongResults)
		}
	}
	return text
}

// environment is what the ranks get: the shape's settings, and over them the user's. NCCL tells of its transport
// unless the user says what it is to log.
func (w *work) environment() map[string]string {
	env := map[string]string{}
	if s, ok := shape.Lookup(w.Job.Shape); ok {
		env = s.Environment()
	}
	if !w.userLogs() {
		maps.Copy(env, map[string]string{"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET"})
	}
	maps.Copy(env, w.Job.Benchmark.Environment)
	return env
}

// gpusPerNode is the number of ranks on each node: what the job says, else what every node has.
func (w *work) gpusPerNode() (int, error) {
	if n := w.Job.Benchmark.GPUsPerNode; n > 0 {
		return n, nil
	}
	least := w.nodes[0]
	for _, n := range w.nodes {
		if len(n.found.Facts.GPUs) < len(least.found.Facts.GPUs) {
			least = n
		}
	}
	if len(least.found.Facts.GPUs) == 0 {
		return 0, &Stop{job.CouldNotRun, job.Failure{
			Kind: "too_few_gpus", Node: least.Name,
			Message: fmt.Sprintf("%s shows no GPU: %s", least.Name, least.found.Facts.Unknown["gpus"]),
			Advice:  "see that nvidia-smi works on the node, or name the number of GPUs a node in the job",
		}}
	}
	return len(least.found.Facts.GPUs), nil
}

// program is the nccl-tests program on a node.
func (w *work) program(n *nodeWork) (string, error) {
	name, err := nccl.Program(w.Job.Benchmark.Collective)
	if err != nil {
		return "", &Stop{job.CouldNotRun, job.Failure{Kind: "invalid_job", Message: err.Error()}}
	}
	return cmp.Or(n.found.Facts.NCCLTests, name), nil
}
