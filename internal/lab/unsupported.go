// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// Lab is a running lab; there is none on this system.
type Lab struct {
	Info    Info
	GoesOn  bool
	Warning string
}

var errSystem = fmt.Errorf("%w: they are made of Linux namespaces, and this is %s; run the lab on Linux, in a "+
	"virtual machine or in a privileged container", ErrUnsupported, runtime.GOOS)

// Start fails with [ErrUnsupported] on this system.
func Start(context.Context, Config) (*Lab, error) { return nil, errSystem }

// Open fails with [ErrUnsupported] on this system.
func Open(context.Context, string) (*Lab, error) { return nil, errSystem }

// Status fails with [ErrUnsupported] on this system.
func (*Lab) Status(context.Context) (Status, error) { return Status{}, errSystem }

// SetScenario fails with [ErrUnsupported] on this system.
func (*Lab) SetScenario(context.Context, ocisim.Scenario) error { return errSystem }

// Advance fails with [ErrUnsupported] on this system.
func (*Lab) Advance(context.Context, time.Duration) (ocisim.Clock, error) {
	return ocisim.Clock{}, errSystem
}

// SetFault fails with [ErrUnsupported] on this system.
func (*Lab) SetFault(context.Context, string, Fault) error { return errSystem }

// ClearFaults fails with [ErrUnsupported] on this system.
func (*Lab) ClearFaults(context.Context, string) error { return errSystem }

// Exec fails with [ErrUnsupported] on this system.
func (*Lab) Exec(context.Context, string, ...string) ([]byte, error) { return nil, errSystem }

// ExecFiles fails with [ErrUnsupported] on this system.
func (*Lab) ExecFiles(context.Context, string, []string, *os.File, *os.File, *os.File) (int, error) {
	return 0, errSystem
}

// Listen fails with [ErrUnsupported] on this system.
func (*Lab) Listen(context.Context, uint16) (net.Listener, error) { return nil, errSystem }

// Suspend fails with [ErrUnsupported] on this system.
func (*Lab) Suspend() error { return errSystem }

// Close fails with [ErrUnsupported] on this system.
func (*Lab) Close() error { return errSystem }

// Remove fails with [ErrUnsupported] on this system.
func Remove(context.Context, string) error { return errSystem }
