// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
)

func newRshCommand() *cobra.Command {
	var socket string
	cmd := &cobra.Command{
		Use:   "rsh HOST COMMAND...",
		Short: "Run a command on a node of the running job, for Open MPI",
		Long: `Run a command on a node of a running job, over the connection that the job has. Open MPI calls it in place of ssh
(plm_rsh_agent) to start its daemons. HOST is a node's address as in the job. As with ssh, the words of the command
are joined by blanks and read by a shell. The command has no input: Open MPI gives its agent none.

The exit status is the command's, or 255 when it could not be run.`,
		Example: `  mpirun --mca plm_rsh_agent "ocihpc-runner rsh" --host 10.0.1.2:8,10.0.1.3:8 -np 16 ./all_reduce_perf`,
		Args:    arguments(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if socket == "" {
				return usageError{fmt.Errorf("no job to ask: %s is not set, and --socket is not given", launch.SocketVariable)}
			}
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			status, err := launch.Rsh(ctx, socket, args[0], strings.Join(args[1:], " "), cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				cmd.PrintErrf("ocihpc-runner rsh: %s: %v\n", args[0], err)
			}
			if status != 0 {
				return exitCode(status)
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the host belongs to the command
	cmd.Flags().StringVar(&socket, "socket", os.Getenv(launch.SocketVariable), "`path` of the job's socket (default $"+launch.SocketVariable+")")
	return cmd
}
