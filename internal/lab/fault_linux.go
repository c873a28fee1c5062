// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/standin"
)

// SetFault has something go wrong with a host, known by its OCID or host name.
func (l *Lab) SetFault(ctx context.Context, host string, f Fault) error {
	if f.BitsPerSecond > 0 {
		if err := l.askFault(ctx, controlRequest{Operation: operationFault, Host: host, Fault: &f}); err != nil {
			return err
		}
	}
	var lines []string
	if f.WrongGPU != nil {
		lines = append(lines, fmt.Sprintf("faulty=%d", *f.WrongGPU))
	}
	if f.Hang {
		lines = append(lines, "hang=1")
	}
	if f.NoStart {
		lines = append(lines, "no_start=1")
	}
	if f.ThrottleMilliseconds > 0 {
		lines = append(lines, fmt.Sprintf("throttle=%d", f.ThrottleMilliseconds))
	}
	if len(lines) == 0 {
		return nil
	}
	return l.onStandIns(ctx, host, `printf '%s\n' "$@" >>`+standin.GPUFilePath, lines...)
}

// ClearFaults ends all faults of a host that [Lab.SetFault] made.
func (l *Lab) ClearFaults(ctx context.Context, host string) error {
	if err := l.askFault(ctx, controlRequest{Operation: operationFault, Host: host}); err != nil {
		return err
	}
	return l.onStandIns(ctx, host, `sed -i '/^faulty=/d;/^hang=/d;/^no_start=/d;/^throttle=/d' `+standin.GPUFilePath)
}

func (l *Lab) askFault(ctx context.Context, request controlRequest) error {
	var reply scenarioReply
	if err := l.ask(ctx, request, &reply); err != nil {
		return fmt.Errorf("ask the lab for a fault: %w", err)
	}
	if reply.Error != "" {
		return errors.New(reply.Error)
	}
	return nil
}

// onStandIns runs a script on a host whose GPUs are the lab's.
func (l *Lab) onStandIns(ctx context.Context, host, script string, args ...string) error {
	const none = 3
	argv := append([]string{"sh", "-c", fmt.Sprintf("test -f %s || exit %d; %s", standin.GPUFilePath, none, script), "sh"}, args...)
	_, err := l.Exec(ctx, host, argv...)
	var exit *ExitError
	if errors.As(err, &exit) && exit.Status == none {
		if strings.HasPrefix(script, "sed") {
			return nil // nothing to clear
		}
		return fmt.Errorf("%s has none of the lab's GPUs", host)
	}
	return err
}

// fault slows a host, or with none ends that.
func (d *daemon) fault(request controlRequest) scenarioReply {
	var err error
	switch f := request.Fault; {
	case d.hosts == nil:
		err = errors.New("the lab has no hosts")
	case f == nil:
		err = d.hosts.Hasten(request.Host)
	default:
		err = d.hosts.Slow(request.Host, f.To, f.BitsPerSecond)
	}
	if err != nil {
		return scenarioReply{err.Error()}
	}
	return scenarioReply{}
}
