// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
)

func newJobsCommand() *cobra.Command {
	out := &output{form: "table"}
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List the jobs of this node",
		Long: `List the jobs in ~/.ocihpc/jobs, newest first. Conditions: not_started, running, finished, died (its runner ended without
a result, as at a reboot; "start" takes it up again) and unreadable.`,
		Example: `  ocihpc-runner jobs
  ocihpc-runner jobs --output json | jq '.[] | select(.condition == "running") | .dir'`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := ownDir("jobs")
			if err != nil {
				return err
			}
			entries, err := jobdir.List(root)
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), entries, func(w io.Writer) error { return printJobs(w, entries) })
		},
	}
	out.flag(cmd)
	return cmd
}

// ownDir is a directory below the runner's own in the user's home.
func ownDir(name string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no home directory: %w", err)
	}
	return filepath.Join(home, job.Root, name), nil
}

// reasonWidth is how much of a reason the table shows.
const reasonWidth = 80

func printJobs(w io.Writer, entries []jobdir.Entry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "no jobs")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "JOB\tWHAT\tNODES\tCONDITION\tAGE\tOUTCOME\tREASON") // Flush tells
	for _, e := range entries {
		reason, _, _ := strings.Cut(e.Reason, "\n")
		if utf8.RuneCountInString(reason) > reasonWidth {
			reason = string([]rune(reason)[:reasonWidth]) + "…"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", e.Key, strings.Join(e.What, ","), e.Nodes, e.Condition,
			age(time.Since(e.Changed)), e.Outcome, reason)
	}
	return table.Flush()
}

// age words a duration in its largest unit.
func age(d time.Duration) string {
	for _, unit := range []struct {
		is   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= 2*unit.is {
			return fmt.Sprintf("%d %s", d/unit.is, unit.name)
		}
	}
	return fmt.Sprintf("%d s", max(0, d/time.Second))
}
