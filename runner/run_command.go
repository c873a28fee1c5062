// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/phase"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/progress"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/report"
)

func newRunCommand() *cobra.Command {
	var dir string
	out := &output{form: "text", junit: true}
	var connectTimeout time.Duration
	cmd := &cobra.Command{
		Use:   "run JOB.json",
		Short: "Work on a job in the foreground",
		Long: `Work on a job in the foreground, on the first node of the job: reach the other nodes, check all, run nccl-tests
on each node alone and over all nodes, and judge the results. Where all nodes together miss their mark, are wrong, hang or
do not start, groups of them are measured side by side until it is known which node or link is at fault; "pattern" in the
benchmark (per_node, all, pairs, two_pass, round_robin, rails) asks for other groups. A run that hangs ends at
"timeout_seconds" of the benchmark, and says how far it came and which rank stands still. Progress goes to stderr, the
result to stdout.

The job directory, ~/.ocihpc/jobs/KEY unless --dir says otherwise, must hold id_ed25519, a private key that
logs in to the other nodes; it is removed at the end. The directory receives events.ndjson, result.json, the raw
output of every run (*.log), and at the very end the exit status (exit).

The benchmark says how ranks are started: "launcher" (single, mpirun, slurm) with "slurm", "container" to run them in, and
"nccl_tests_source" to build nccl-tests from; the guide on how ranks are started shows each.

Exit status:
  0   the verdict is pass, possibly with warnings
  1   the job ran, and the verdict is fail
  2   the job could not be run, was cancelled, or ran out of time: there is no verdict
  64  wrong usage, or the job is invalid`,
		Example: `  ocihpc-runner run job.json --dir ./job
  ocihpc-runner run job.json --output json | jq .outcome
  ocihpc-runner run job.json --output junit > results.xml    # for CI

A small job:
  {"version": 1, "ssh": {"user": "opc", "port": 22}, "timeout_seconds": 3600,
   "nodes": [{"name": "gpu-1", "address": "10.0.1.2", "host_key": ""},
             {"name": "gpu-2", "address": "10.0.1.3", "host_key": "ssh-ed25519 AAAA..."}],
   "checks": {"cloud_init_wait_seconds": 600},
   "benchmark": {"collective": "all_reduce", "min_size_bytes": 1048576, "max_size_bytes": 1073741824,
                 "step_factor": 2, "iterations": 20, "warmup_iterations": 5, "timeout_seconds": 900,
                 "expect": {"min_busbw_gb_per_s": 150}, "expect_per_node": {}}}`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			result, err := runJob(cmd.Context(), args[0], dir, connectTimeout, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return printResult(cmd.OutOrStdout(), out, result)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "job `directory` (default ~/.ocihpc/jobs/KEY)")
	// Whoever sent the job to the head node has reached every node a moment ago.
	cmd.Flags().DurationVar(&connectTimeout, "connect-timeout", time.Minute, "`time` to wait for nodes that cannot be reached at once")
	out.flag(cmd)
	return cmd
}

// printResult prints a result, and gives the exit status for it as an error.
func printResult(w io.Writer, out *output, result job.Result) error {
	text := func(w io.Writer) error { return report.Table(w, result) }
	junit := func(w io.Writer) error { return report.JUnit(w, result) }
	if err := out.print(w, result, text, junit); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	if status := jobdir.StatusOf(result.Outcome); status != jobdir.StatusPass {
		return exitCode(status)
	}
	return nil
}

// runJob works on the job in a file, and shows how it goes.
func runJob(ctx context.Context, file, directory string, connectTimeout time.Duration, stderr io.Writer) (job.Result, error) {
	j, err := jobdir.ReadJob(file)
	if err != nil {
		return job.Result{}, usageError{err}
	}
	dir, err := directoryOf(j, directory)
	if err != nil {
		return job.Result{}, err
	}
	return workOn(ctx, j, dir, connectTimeout, stderr)
}

// workOn works on a job in its directory, and shows how it goes.
func workOn(ctx context.Context, j job.Job, dir job.Dir, connectTimeout time.Duration, stderr io.Writer) (job.Result, error) {
	runner, err := os.Executable()
	if err != nil {
		return job.Result{}, fmt.Errorf("find this program: %w", err)
	}
	w, err := jobdir.Begin(dir, j)
	if err != nil {
		return job.Result{}, err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	printer := newPrinter(stderr)
	result := phase.Execute(ctx, phase.Config{
		Job: j, Dir: dir, Runner: runner, ConnectTimeout: connectTimeout,
		Emit: func(e job.Event) {
			if err := w.Append(e); err != nil { // the job is worth more than its events
				_, _ = fmt.Fprintf(stderr, "ocihpc-runner: %v\n", err)
			}
			printer.Handle(e)
		},
	})
	_, _ = fmt.Fprintf(stderr, "Events, logs and result are in %s\n", dir) // it is only told
	return result, w.End(result)
}

func directoryOf(j job.Job, directory string) (job.Dir, error) {
	if directory == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", usageError{fmt.Errorf("no home directory (%w): name a job directory by --dir", err)}
		}
		directory = filepath.Join(home, string(job.DirOf(j.Key())))
	}
	return jobdir.Create(directory)
}

// untilSignal gives a context that a signal cancels; a second signal ends the program.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-signals:
			cancel(phase.ErrCancelled)
			signal.Stop(signals)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

func isTerminal(to io.Writer) bool {
	file, ok := to.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) // #nosec G115 -- a descriptor
}

// newPrinter draws live on a terminal. NO_COLOR is as in no-color.org.
func newPrinter(to io.Writer) *progress.Printer {
	file, _ := to.(*os.File)
	if !isTerminal(to) || os.Getenv("TERM") == "dumb" {
		return progress.Plain(to)
	}
	width := func() int {
		columns, _, err := term.GetSize(int(file.Fd())) // #nosec G115 -- a descriptor
		if err != nil || columns < 1 {
			return 80
		}
		return columns
	}
	return progress.Live(to, width, os.Getenv("NO_COLOR") == "")
}
