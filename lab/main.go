// SPDX-License-Identifier: MPL-2.0

// Command ocihpc-lab runs a local OCI region whose instances are Linux hosts on this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// version is set by the linker.
var version = "dev"

// Exit statuses; they stay as they are.
const (
	exitError       = 1
	exitUsage       = 2
	exitNotRunning  = 3
	exitRunning     = 4
	exitUnsupported = 5
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // A second signal ends this at once; the lab then takes itself away.
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		var status statusError
		if !errors.As(err, &status) {
			fmt.Fprintln(os.Stderr, "ocihpc-lab:", err)
		}
		os.Exit(exitStatus(err))
	}
}

// statusError passes on the exit status of a command that the lab ran.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("the command ended with status %d", int(s)) }

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func exitStatus(err error) int {
	var status statusError
	var usage usageError
	switch {
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage), errors.Is(err, lab.ErrConfig):
		return exitUsage
	case errors.Is(err, lab.ErrNotRunning):
		return exitNotRunning
	case errors.Is(err, lab.ErrRunning):
		return exitRunning
	case errors.Is(err, lab.ErrUnsupported):
		return exitUnsupported
	}
	return exitError
}
