// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/container"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/phase"
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
	cmd.AddCommand(newGiveRunnerCommand(), newGiveImageCommand(), newGiveNCCLTestsCommand())
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

func newGiveImageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "image",
		Short: "Hand on an image of this node's engine, which the first line of stdin names",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if os.Geteuid() != 0 {
				return becomeRoot("give", "image")
			}
			if err := launch.Adopt(); err != nil {
				return err
			}
			defer launch.EndChildren()
			in := bufio.NewReader(cmd.InOrStdin())
			var asked phase.ImageRequest
			if err := readAsked(in, &asked, func() error { return asked.ContainerRuntime.Validate() }); err != nil {
				return fmt.Errorf("read which image: %w", err)
			}
			return handover.Give(cmd.Context(), in, cmd.OutOrStdout(), true, func(ctx context.Context, to io.Writer) error {
				return container.Give(ctx, asked.ContainerRuntime, asked.Image, to)
			})
		},
	}
}

// readAsked reads what to hand on, which the first line says in JSON.
func readAsked(in *bufio.Reader, asked any, validate func() error) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := job.DecodeStrict(line, asked); err != nil {
		return err
	}
	return validate()
}
