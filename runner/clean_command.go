// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
)

// cleaned is what was, or would be, removed.
type cleaned struct {
	DryRun  bool     `json:"dry_run"`
	Jobs    []string `json:"jobs"`
	Runners []string `json:"runners"`
}

func newCleanCommand() *cobra.Command {
	var olderThan time.Duration
	found := cleaned{Jobs: []string{}, Runners: []string{}}
	out := &output{form: "text"}
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove old jobs and runners of this node",
		Long: `Remove from ~/.ocihpc the jobs to which nothing has happened for some time, and the runners that were put there before
that. What runs stays, whatever its age.`,
		Example: `  ocihpc-runner clean --older-than 720h --dry-run`,
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if olderThan < 0 {
				return usageError{fmt.Errorf("--older-than %s is negative", olderThan)}
			}
			before := time.Now().Add(-olderThan)
			if err := errors.Join(found.jobs(before), found.runners(before)); err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), found, found.text)
		},
	}
	cmd.Flags().DurationVar(&olderThan, "older-than", 30*24*time.Hour, "`age` of what is removed")
	cmd.Flags().BoolVar(&found.DryRun, "dry-run", false, "tell what would be removed, and remove nothing")
	out.flag(cmd)
	return cmd
}

func (c *cleaned) jobs(before time.Time) error {
	root, err := ownDir("jobs")
	if err != nil {
		return err
	}
	entries, err := jobdir.List(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Condition == jobdir.ConditionRunning || !e.Changed.Before(before) {
			continue
		}
		if !c.DryRun {
			err := jobdir.Remove(e.Dir)
			if errors.Is(err, jobdir.ErrRunning) { // it was started a moment ago
				continue
			}
			if err != nil {
				return err
			}
		}
		c.Jobs = append(c.Jobs, string(e.Dir))
	}
	return nil
}

func (c *cleaned) runners(before time.Time) error {
	root, err := ownDir("bin")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(root, "ocihpc-runner-*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at a runner: %w", err)
		}
		if file == self || !info.ModTime().Before(before) || inUse(file) {
			continue
		}
		if !c.DryRun {
			if err := os.Remove(file); err != nil {
				return fmt.Errorf("remove a runner: %w", err)
			}
		}
		c.Runners = append(c.Runners, file)
	}
	return nil
}

// inUse says whether a process of this node runs the program: a job starts more of it.
func inUse(file string) bool {
	links, _ := filepath.Glob("/proc/[0-9]*/exe") // the pattern is well-formed
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == file {
			return true
		}
	}
	return false
}

func (c *cleaned) text(w io.Writer) error {
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	for _, path := range append(c.Jobs, c.Runners...) {
		if _, err := fmt.Fprintln(w, verb, path); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d jobs, %d runners\n", verb, len(c.Jobs), len(c.Runners))
	return err
}
