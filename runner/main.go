// SPDX-License-Identifier: MPL-2.0

// Command ocihpc-runner sets up the nodes of a GPU cluster, checks them and measures them with nccl-tests, from the
// cluster's head node. The Terraform provider ocihpc uses it, and so can any shell, CI job or scheduler.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/jobdir"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/manpage"
)

// version is set by the linker for a release.
var version = "dev"

func main() {
	os.Exit(statusOf(newRootCommand().ExecuteContext(context.Background())))
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "ocihpc-runner",
		Short: "Set up, check and measure the nodes of a GPU cluster",
		Long: `ocihpc-runner works on jobs: it reaches every node of a cluster from the head node, sets them up, checks them,
runs nccl-tests on each node alone and then over all of them, and judges what they print.

It needs nothing on the nodes but sshd and, for measuring, nccl-tests and, over several nodes, Open MPI 4 or 5.

Exit status:
  0   done; where something is judged, it passes, possibly with warnings
  1   what was judged fails: a verdict, a check, a step of a set-up
  2   it could not be done, was cancelled, or ran out of time: nothing was judged
  64  wrong usage, or an invalid job
These stay as they are. A command's own help says what they mean for it.`,
		Example: `  ocihpc-runner check --shape BM.GPU4.8 --timezone Asia/Tokyo     # look at this node
  ocihpc-runner setup --engine containerd --dry-run              # what would have to be changed for containers
  ocihpc-runner run job.json                                     # work on a job, in the foreground
  ocihpc-runner start ~/.ocihpc/jobs/demo                        # the same, detached
  ocihpc-runner attach ~/.ocihpc/jobs/demo                       # follow it`,
		Args:          arguments(cobra.NoArgs), // with RunE, or an unknown command would be no wrong usage
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(newRunCommand(), newStartCommand(), newAttachCommand(), newCancelCommand(), newCheckCommand(), newMirrorCommand(),
		newParseCommand(), newRanksCommand(), newReportCommand(), newRshCommand(), newShapesCommand(), newSuperviseCommand(), newVersionCommand())
	root.AddCommand(newContainerCommand(), newNCCLTestsCommand(), newSetupCommand(), newApplyCommand(), newGiveCommand(), newJobsCommand(), newCleanCommand(),
		manpage.Command("ocihpc-runner", arguments))
	return root
}

// usageError says that the command line or the job is wrong.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// arguments makes a wrong number of arguments a usageError.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}

// statusOf prints an error and gives the program's exit status.
func statusOf(err error) int {
	var code exitCode
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	_, _ = fmt.Fprintf(os.Stderr, "ocihpc-runner: %v\n", err) // there is nobody else to tell
	if errors.As(err, &usage) {
		return jobdir.StatusUsage
	}
	return jobdir.StatusCouldNotRun
}

// exitCode ends the program with this status, without a further message.
type exitCode int //nolint:errname // a status that is returned as an error

// Error makes it an error.
func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }
