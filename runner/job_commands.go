// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
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
	cmd := &cobra.Command{
		Use:   "attach DIR",
		Short: "Follow a job to its end",
		Long: `Write the events of a job to stdout, one JSON object a line, and follow them until the job is over. The last event
holds the result; if the runner died without one, it says so. The exit status is 0 whatever came of the job.`,
		Example: `  ocihpc-runner attach ~/.ocihpc/jobs/demo
  ocihpc-runner attach ~/.ocihpc/jobs/demo --from 4096     # after a lost connection, from where it broke`,
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
			return jobdir.Attach(cmd.Context(), dir, from, cmd.OutOrStdout())
		},
	}
	cmd.Flags().Int64Var(&from, "from", 0, "first `byte` of the event stream to write")
	return cmd
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
