// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/container"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// statusAbandoned is EX_TEMPFAIL of sysexits.h: the set-up was not ended, and can be taken up again.
const statusAbandoned = 75

func newApplyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "apply",
		Short: "Set up this node for a running job",
		Long: `Read a request for a set-up from stdin, apply it on this node as root, by sudo where need be, and write what comes of it
to stdout, one JSON object a line. A running job calls this on each of its nodes. It ends, with all that it runs at the
moment, when stdin does: then its exit status is 75, and the same request takes the set-up up again.`,
		Hidden: true,
		Args:   arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if os.Geteuid() != 0 {
				return becomeRoot("apply")
			}
			if err := launch.Adopt(); err != nil {
				return err
			}
			// A node that shuts down ends us by a signal: to the job, that is a lost node. SIGPIPE, which would end us at the
			// next message, comes of a lost connection: what runs must be ended first.
			ctx, stop := context.WithCancelCause(cmd.Context())
			defer stop(nil)
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
			go func() {
				<-signals
				stop(setup.ErrAbandoned)
			}()
			err := setup.Serve(ctx, cmd.InOrStdin(), cmd.OutOrStdout(), planSetup)
			if errors.Is(err, setup.ErrAbandoned) {
				launch.EndChildren()
				return exitCode(statusAbandoned)
			}
			return err
		},
	}
}

// becomeRoot starts this program anew by sudo, with this command and the same stdin and stdout. It returns only when that fails.
func becomeRoot(command ...string) error {
	sudo, err := exec.LookPath("sudo")
	if err != nil {
		return fmt.Errorf("this needs root, and there is no sudo: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	argv := append([]string{sudo, "-n", "--", self}, command...)
	return fmt.Errorf("start sudo: %w", syscall.Exec(sudo, argv, os.Environ())) // #nosec G204 -- fixed words and this very program
}

// planSetup gives the steps of whoever asks, then those of the container runtime.
func planSetup(ctx context.Context, request setup.Request) (setup.Plan, error) {
	steps, err := setup.Steps(request.Setup.Steps)
	want := request.Setup.ContainerRuntime
	if err != nil || want == nil {
		return setup.Plan{Steps: steps}, err
	}
	options := container.Options{Shape: request.Shape, RegistryAuth: request.AuthFile()}
	engine, err := container.Plan(ctx, *want, options)
	return setup.Plan{
		Steps: append(steps, engine...),
		Describe: func(ctx context.Context, found *job.NodeSetup) error {
			return container.Report(ctx, *want, options, found)
		},
	}, err
}
