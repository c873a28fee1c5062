// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/phase"
)

// cleaned is what was, or would be, removed from a node.
type cleaned struct {
	Node    string   `json:"node,omitempty"`
	DryRun  bool     `json:"dry_run"`
	Jobs    []string `json:"jobs"`
	Runners []string `json:"runners"`
	Builds  []string `json:"builds,omitempty"` // of nccl-tests
	Error   string   `json:"error,omitempty"`
	// Others are the further nodes, where they were asked for.
	Others []cleaned `json:"others,omitempty"`
}

// cleanOptions is the command line of clean.
type cleanOptions struct {
	olderThan, connectWithin time.Duration
	dryRun                   bool
	nodes, key               string
}

func newCleanCommand() *cobra.Command {
	var o cleanOptions
	out := &output{form: "text"}
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove old jobs and runners of this node, or of all nodes of a job",
		Long: `Remove from ~/.ocihpc the jobs to which nothing has happened for some time, and the runners that nobody has used since
before that, and nccl-tests that were built and that no measurement has used since. What runs stays, whatever its age. With --nodes, all nodes of a job file are cleaned, of which the first is this
one; each gets this runner for it.`,
		Example: `  ocihpc-runner clean --older-than 720h --dry-run
  ocihpc-runner clean --nodes job.json --key ~/.ssh/id_ed25519`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.olderThan < 0 {
				return usageError{fmt.Errorf("--older-than %s is negative", o.olderThan)}
			}
			if (o.nodes == "") != (o.key == "") {
				return usageError{errors.New("--nodes and --key belong together")}
			}
			found, err := o.clean(cmd.Context())
			if err != nil {
				return err
			}
			if err := out.print(cmd.OutOrStdout(), found, found.text); err != nil {
				return err
			}
			if slices.ContainsFunc(found.Others, func(c cleaned) bool { return c.Error != "" }) {
				return exitCode(jobdir.StatusCouldNotRun)
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&o.olderThan, "older-than", 30*24*time.Hour, "`age` of what is removed")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "tell what would be removed, and remove nothing")
	cmd.Flags().StringVar(&o.nodes, "nodes", "", "clean all nodes of this job `file`, of which the first is this one")
	cmd.Flags().DurationVar(&o.connectWithin, "connect-timeout", time.Minute, "`time` to wait for nodes that cannot be reached at once")
	cmd.Flags().StringVar(&o.key, "key", "", "private key `file` that logs in to the other nodes")
	out.flag(cmd)
	return cmd
}

func (o cleanOptions) clean(ctx context.Context) (cleaned, error) {
	found := cleaned{DryRun: o.dryRun, Jobs: []string{}, Runners: []string{}}
	before := time.Now().Add(-o.olderThan)
	if err := errors.Join(found.jobs(before), found.runners(before), found.builds(before)); err != nil || o.nodes == "" {
		return found, err
	}
	j, err := jobdir.ReadJob(o.nodes)
	if err != nil {
		return found, usageError{err}
	}
	found.Node = j.Nodes[0].Name
	if len(j.Nodes) > 1 {
		found.Others, err = o.others(ctx, j)
	}
	return found, err
}

// others has the other nodes clean themselves.
func (o cleanOptions) others(ctx context.Context, j job.Job) ([]cleaned, error) {
	runner, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	key, err := os.ReadFile(o.key)
	if err != nil {
		return nil, usageError{err}
	}
	temporary, err := os.MkdirTemp("", "ocihpc-clean-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // the key in it is gone by then
	dir := job.Dir(temporary)
	if err := os.WriteFile(dir.Key(), key, 0o600); err != nil { // #nosec G703 -- in a folder that was just made
		return nil, fmt.Errorf("copy the key: %w", err)
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	answers, err := phase.AskNodes(ctx, phase.Config{
		Job: j, Dir: dir, Runner: runner, ConnectTimeout: o.connectWithin, Emit: func(job.Event) {},
	}, "clean", "--output", outputJSON, "--older-than", o.olderThan.String(), fmt.Sprintf("--dry-run=%t", o.dryRun))
	if err != nil {
		return nil, fmt.Errorf("clean the other nodes: %w", err)
	}
	others := make([]cleaned, len(answers))
	for i, answer := range answers {
		if answer.Err == nil {
			answer.Err = job.DecodeStrict(answer.Output, &others[i])
		}
		if answer.Err != nil {
			others[i] = cleaned{Jobs: []string{}, Runners: []string{}, Error: answer.Err.Error()}
		}
		others[i].Node, others[i].DryRun = answer.Node, o.dryRun
	}
	return others, nil
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

// builds removes nccl-tests that were built, unless a rank runs one of them. A measurement that uses them says so by their time.
func (c *cleaned) builds(before time.Time) error {
	root, err := ownDir("nccl-tests")
	if err != nil {
		return err
	}
	dirs, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at nccl-tests: %w", err)
		}
		programs, _ := filepath.Glob(filepath.Join(dir, "*_perf"))
		if !info.ModTime().Before(before) || slices.ContainsFunc(programs, inUse) {
			continue
		}
		if !c.DryRun {
			if err := os.RemoveAll(dir); err != nil {
				return fmt.Errorf("remove nccl-tests: %w", err)
			}
		}
		c.Builds = append(c.Builds, dir)
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

func (c cleaned) text(w io.Writer) error {
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	at := ""
	if c.Node != "" {
		at = c.Node + ": "
	}
	if c.Error != "" {
		_, err := fmt.Fprintf(w, "%snot cleaned: %s\n", at, c.Error)
		return err
	}
	for _, path := range slices.Concat(c.Jobs, c.Runners, c.Builds) {
		if _, err := fmt.Fprintln(w, at+verb, path); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%s%s: %d jobs, %d runners", at, verb, len(c.Jobs), len(c.Runners))
	if len(c.Builds) > 0 {
		line += fmt.Sprintf(", %d builds of nccl-tests", len(c.Builds))
	}
	if _, err := fmt.Fprintln(w, line); err != nil {
		return err
	}
	for _, other := range c.Others {
		if err := other.text(w); err != nil {
			return err
		}
	}
	return nil
}
