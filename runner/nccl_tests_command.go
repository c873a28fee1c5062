// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ncclbuild"
)

func newNCCLTestsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nccl-tests",
		Short: "Build nccl-tests on this node for a running job",
		Long: `Build nccl-tests from an archive or a repository, once for each key, below ~/.ocihpc/nccl-tests, or take them from a node that
has built them. A running job calls this where nodes or images have none.`,
		Hidden: true,
		Args:   arguments(cobra.NoArgs),
		RunE:   func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var request, identity string
	add := func(name, short string, do func(ctx context.Context, r ncclbuild.Request, cmd *cobra.Command) (string, error)) *cobra.Command {
		sub := &cobra.Command{
			Use: name, Short: short, Args: arguments(cobra.NoArgs),
			RunE: func(cmd *cobra.Command, _ []string) error {
				var r ncclbuild.Request
				err := job.DecodeStrict([]byte(request), &r)
				if err == nil {
					err = r.Validate()
				}
				if err != nil {
					return usageError{fmt.Errorf("--request: %w", err)}
				}
				ctx, stop := untilSignal(cmd.Context())
				defer stop()
				said, err := do(ctx, r, cmd)
				if err != nil {
					return withAdvice(err)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
				return err
			},
		}
		sub.Flags().StringVar(&request, "request", "", "what to build, as JSON")
		cmd.AddCommand(sub)
		return sub
	}
	add("place", "Tell where it belongs, and make the folder around it", func(_ context.Context, r ncclbuild.Request, _ *cobra.Command) (string, error) {
		place, err := r.Place()
		if err != nil {
			return "", err
		}
		return place, os.MkdirAll(filepath.Dir(place), 0o755) // #nosec G301 -- ranks of any user run what is in it
	})
	add("find", "Tell the identity of what is there", func(_ context.Context, r ncclbuild.Request, _ *cobra.Command) (string, error) { return r.Find() })
	add("fetch", "Get the source", func(ctx context.Context, r ncclbuild.Request, _ *cobra.Command) (string, error) {
		return "", r.Fetch(ctx, io.Discard)
	})
	add("build", "Build it, and tell its identity", func(ctx context.Context, r ncclbuild.Request, _ *cobra.Command) (string, error) {
		return r.Build(ctx, io.Discard)
	})
	take := add("take", "Take it from another node, whose offer is on standard input", func(ctx context.Context, r ncclbuild.Request, cmd *cobra.Command) (string, error) {
		line, err := bufio.NewReader(cmd.InOrStdin()).ReadBytes('\n')
		if err != nil {
			return "", fmt.Errorf("read the offer: %w", err)
		}
		var offer handover.Offer
		if err := json.Unmarshal(line, &offer); err != nil {
			return "", fmt.Errorf("read the offer: %w", err)
		}
		return "", r.Take(ctx, offer, identity)
	})
	take.Flags().StringVar(&identity, "identity", "", "what it must be")
	return cmd
}

func newGiveNCCLTestsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "nccl-tests",
		Short: "Hand on nccl-tests that were built on this node, which the first line of stdin names",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := launch.Adopt(); err != nil {
				return err
			}
			defer launch.EndChildren()
			in := bufio.NewReader(cmd.InOrStdin())
			var r ncclbuild.Request
			if err := readAsked(in, &r, func() error { return r.Validate() }); err != nil {
				return fmt.Errorf("read which build: %w", err)
			}
			return handover.Give(cmd.Context(), in, cmd.OutOrStdout(), true, r.Give)
		},
	}
}
