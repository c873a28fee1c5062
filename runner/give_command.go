// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
)

func newGiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "give",
		Short: "Hand something on to other nodes for a running job",
		Long: `Let other nodes fetch something from this one, each once, by a token that it shows: the tokens are read from stdin, a line
each. The port is told on stdout. A running job calls this on nodes that have what others lack. It ends when stdin does.`,
		Hidden: true,
		Args:   arguments(cobra.NoArgs),
		RunE:   func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGiveRunnerCommand())
	return cmd
}

func newGiveRunnerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "runner",
		Short: "Hand on this very program, which receivers know by its SHA-256",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return handover.Give(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), false, giveThisProgram)
		},
	}
}

func giveThisProgram(_ context.Context, to io.Writer) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("open this program: %w", err)
	}
	defer self.Close() //nolint:errcheck // nothing was written
	_, err = io.Copy(to, self)
	return err
}
