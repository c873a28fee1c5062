// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/progress"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/report"
)

// cancelLimit is how long a runner may take to end everything that it started.
const cancelLimit = 2 * time.Minute

var completeDirectory = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)

func newStartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "start DIR",
		Short: "Work on the job in a directory, detached",
		Long: `Work on DIR/job.json as "run" does, detached from this session: as a transient service of systemd, or in a
session of its own where systemd is not. A job that is running, or has passed, is left alone; any other is run anew.

Prints {"state": "started"}, {"state": "running"} or {"state": "finished"}.`,
		Example:           `  ocihpc-runner start ~/.ocihpc/jobs/demo && ocihpc-runner attach ~/.ocihpc/jobs/demo`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: completeDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := jobdir.Open(args[0])
			if err != nil {
				return err
			}
			runner, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			state, err := jobdir.Start(cmd.Context(), dir, runner)
			if err != nil {
				return fmt.Errorf("start the job: %w", err)
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]jobdir.State{"state": state})
		},
	}
}

func newAttachCommand() *cobra.Command {
	var from int64
	out := &output{form: "text"}
	cmd := &cobra.Command{
		Use:   "attach DIR",
		Short: "Follow a job to its end",
		Long: `Follow a job until it is over, from its begin. On a terminal it is shown as by "run": progress on stderr, the result on
stdout. Elsewhere, and with --output json, its events are written to stdout, one JSON object a line; the last one holds the
result. If the runner died without one, it says so.

Exit status:
  0   the job is over, whatever came of it
  2   it could not be followed
  64  wrong usage`,
		Example: `  ocihpc-runner attach ~/.ocihpc/jobs/demo
  ocihpc-runner attach ~/.ocihpc/jobs/demo --output json --from 4096   # after a lost connection, from where it broke`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: completeDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			if from < 0 {
				return usageError{fmt.Errorf("--from is %d, but there is nothing before byte 0", from)}
			}
			dir, err := jobdir.Open(args[0])
			if err != nil {
				return err
			}
			to := cmd.OutOrStdout()
			if out.value == "" && isTerminal(to) || out.value == out.form {
				to = viewer{newPrinter(cmd.ErrOrStderr()), to}
			}
			return jobdir.Attach(cmd.Context(), dir, from, to)
		},
	}
	cmd.Flags().Int64Var(&from, "from", 0, "first `byte` of the event stream to write")
	out.flag(cmd)
	cmd.Flags().Lookup("output").DefValue = "text on a terminal, else json"
	return cmd
}

// viewer shows the events of a job that are written to it in whole lines.
type viewer struct {
	progress *progress.Printer
	to       io.Writer // for the result
}

func (v viewer) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		var e job.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("read an event: %w", err)
		}
		v.progress.Handle(e)
		if e.Result == nil {
			continue
		}
		if err := report.Table(v.to, *e.Result); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

func newCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel DIR",
		Short: "End a running job",
		Long: `End a running job: its runs on all nodes are ended, and its result says that it was cancelled. Returns when nothing
of it is left. A job that is not running is left as it is.`,
		Example:           `  ocihpc-runner cancel ~/.ocihpc/jobs/demo`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: completeDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := jobdir.Open(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), cancelLimit)
			defer cancel()
			running, err := jobdir.Cancel(ctx, dir)
			if err != nil {
				return fmt.Errorf("cancel the job: %w", err)
			}
			if _, err := os.Stat(dir.Job()); err != nil {
				cmd.PrintErrf("there is no job in %s: a job is cancelled on its head node; ocihpc-runner jobs lists those of this one\n", dir)
			} else if !running {
				cmd.PrintErrln("the job is not running")
			}
			return nil
		},
	}
}
