// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
)

func newSuperviseCommand() *cobra.Command {
	var c launch.Command
	var variables []string
	cmd := &cobra.Command{
		Use:   "supervise [--env NAME=VALUE]... -- PROGRAM [ARGUMENT]...",
		Short: "Run a program that ends when standard input does",
		Long: `Run a program, and end it, with all that it started, when standard input is at its end or a signal arrives: SIGTERM
first, SIGKILL after 5 seconds. A running job starts everything on its nodes through this, so that nothing stays
behind when the job is cancelled or a connection breaks.

The exit status is the program's; 128 + N when signal N ended it.`,
		Hidden: true,
		Args:   arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Argv, c.Env = args, map[string]string{}
			for _, variable := range variables {
				name, value, ok := strings.Cut(variable, "=")
				if !ok || name == "" {
					return usageError{fmt.Errorf("--env %q is not NAME=VALUE", variable)}
				}
				c.Env[name] = value
			}
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			status, err := launch.Supervise(ctx, c, os.Stdin)
			if err != nil {
				cmd.PrintErrf("ocihpc-runner: %v\n", err)
			}
			if status != 0 {
				return exitCode(status)
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringArrayVar(&variables, "env", nil, "set a `variable` for the program")
	cmd.Flags().StringVar(&c.LibraryDir, "library-dir", "", "search this `directory` first for shared libraries")
	return cmd
}
