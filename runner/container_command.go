// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/container"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

func newContainerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "container",
		Short: "Run the ranks of a job in a container on this node",
		Long: `Start the container that the ranks of a running job run in on this node, and run commands in it. A running job calls this
on each of its nodes: hold keeps the container for as long as its standard input is open, and takes it away then.`,
		Hidden: true,
		Args:   arguments(cobra.NoArgs),
		RunE:   func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var request string
	hold := &cobra.Command{
		Use:   "hold",
		Short: "Start the container, and take it away when standard input ends",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ranks, err := ranksOf(request, "hold")
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return withAdvice(ranks.Hold(ctx, os.Stdin, cmd.OutOrStdout(), io.Discard))
		},
	}
	enter := &cobra.Command{
		Use:   "enter --request JSON -- COMMAND...",
		Short: "Run a command in the container",
		Args:  arguments(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			ranks, err := ranksOf(request, append([]string{"enter"}, args...)...)
			if err != nil {
				return err
			}
			return withAdvice(ranks.Enter(args...))
		},
	}
	enter.Flags().SetInterspersed(false)
	for _, sub := range []*cobra.Command{hold, enter} {
		sub.Flags().StringVar(&request, "request", "", "the container, as JSON")
		cmd.AddCommand(sub)
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "inside",
		Short: "Be the first process of the container: it ends when standard input does",
		Args:  arguments(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return beInside(cmd.InOrStdin(), cmd.OutOrStdout()) },
	})
	return cmd
}

// ranksOf reads the request, as root where the engine is root's.
func ranksOf(request string, command ...string) (container.Ranks, error) {
	var ranks container.Ranks
	if err := job.DecodeStrict([]byte(request), &ranks); err != nil {
		return ranks, usageError{fmt.Errorf("--request: %w", err)}
	}
	if err := ranks.Validate(); err != nil {
		return ranks, usageError{fmt.Errorf("--request: %w", err)}
	}
	if ranks.NeedsRoot() && os.Geteuid() != 0 {
		again := []string{"container", command[0], "--request", request, "--"}
		return ranks, becomeRoot(append(again, command[1:]...)...)
	}
	return ranks, nil
}

// withAdvice puts the advice of an error into its text, which is all that the job hears.
func withAdvice(err error) error {
	if advice := setup.AdviceOf(err); err != nil && advice != "" {
		return fmt.Errorf("%w; advice: %s", err, advice)
	}
	return err
}

// beInside announces the container, reaps what others leave, and ends when in does.
func beInside(in io.Reader, out io.Writer) error {
	told := container.Announcement{MemlockBytes: -1}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return fmt.Errorf("read the limit of locked memory: %w", err)
	}
	if limit.Cur != unix.RLIM_INFINITY {
		told.MemlockBytes = int64(min(limit.Cur, 1<<62)) // #nosec G115 -- bounded
	}
	if err := json.NewEncoder(out).Encode(told); err != nil {
		return fmt.Errorf("announce the container: %w", err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended {
			for {
				if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 && !errors.Is(err, unix.EINTR) {
					break
				}
			}
		}
	}()
	_, err := io.Copy(io.Discard, in)
	return err
}
