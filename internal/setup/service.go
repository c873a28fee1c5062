// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Service is a unit of systemd that is enabled and runs, or is off.
type Service struct {
	Ident
	Unit string
	Off  bool
	// User asks that user's own systemd; empty is the system's.
	User string
	// Reads are files that the unit reads when it starts: one that runs since before a change of them is restarted.
	Reads []string
}

// Title says the step.
func (s Service) Title() string {
	if s.Off {
		return s.title("Stop and disable " + s.Unit)
	}
	return s.title("Enable and start " + s.Unit)
}

// unitState is what systemctl show says of a unit.
type unitState map[string]string

func (s Service) systemctl(args ...string) Program {
	argv := append([]string{"systemctl", "--no-ask-password"}, args...)
	if s.User != "" {
		argv = slices.Insert(argv, 1, "--user")
	}
	return Program{Argv: argv, User: s.User}
}

func (s Service) show(ctx context.Context) (unitState, error) {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return nil, Advise(errors.New("systemd is not the init of this node"), "services are started by systemd; on a node without it, leave the step out")
	}
	text, err := s.systemctl("show", "--property=LoadState,ActiveState,SubState,UnitFileState,NeedDaemonReload,"+
		"ExecMainStartTimestampMonotonic,ActiveEnterTimestampMonotonic", "--", s.Unit).Run(ctx, nil)
	if err != nil {
		return nil, err
	}
	state := unitState{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		state[name] = value
	}
	return state, nil
}

// enabled says whether it starts at boot, as far as it can be made to.
func (u unitState) enabled() bool {
	return slices.Contains([]string{"enabled", "enabled-runtime", "static", "indirect", "generated", "transient", "alias", "linked", ""}, u["UnitFileState"])
}

// started is when it began to run.
func (u unitState) started() (time.Time, error) {
	for _, property := range []string{"ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic"} {
		microseconds, err := strconv.ParseInt(u[property], 10, 64)
		if err != nil || microseconds == 0 {
			continue
		}
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return time.Time{}, fmt.Errorf("read the clock: %w", err)
		}
		return time.Now().Add(time.Duration(microseconds)*time.Microsecond - time.Duration(now.Nano())), nil
	}
	return time.Time{}, errors.New("systemd does not say when it started")
}

// Check asks systemd.
func (s Service) Check(ctx context.Context) (State, error) {
	unit, err := s.show(ctx)
	if err != nil {
		return State{}, err
	}
	runs := unit["ActiveState"] == "active" || unit["ActiveState"] == "reloading"
	told := fmt.Sprintf("%s is %s (%s), %s", s.Unit, unit["ActiveState"], unit["SubState"], unit["UnitFileState"])
	absent := unit["LoadState"] == "not-found"
	switch {
	case s.Off && absent:
		return State{Done: true, Detail: s.Unit + " is not installed"}, nil
	case s.Off:
		return State{Done: !runs && unit["ActiveState"] != "activating" && !strings.HasPrefix(unit["UnitFileState"], "enabled"), Detail: told}, nil
	case absent && unit["NeedDaemonReload"] != "yes":
		return State{Detail: s.Unit + " is not known to systemd"}, nil
	case unit["NeedDaemonReload"] == "yes":
		return State{Detail: told + "; its files have changed since systemd read them"}, nil
	case !runs || !unit.enabled():
		return State{Detail: told}, nil
	}
	changed, err := s.changedSince(unit)
	if err != nil || changed == "" {
		return State{Done: err == nil, Detail: told}, err
	}
	return State{Detail: "it runs since before " + changed + " was changed"}, nil
}

// changedSince gives the first file that changed after the unit started.
func (s Service) changedSince(unit unitState) (string, error) {
	if len(s.Reads) == 0 {
		return "", nil
	}
	started, err := unit.started()
	if err != nil {
		return "", err
	}
	for _, path := range s.Reads {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		// Not its modification: package managers keep that of their archives.
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && time.Unix(stat.Ctim.Unix()).After(started) {
			return path, nil
		}
	}
	return "", nil
}

// Apply enables and (re)starts it, or stops and disables it.
func (s Service) Apply(ctx context.Context, output io.Writer) error {
	if s.Off {
		_, err := s.systemctl("disable", "--now", "--", s.Unit).Run(ctx, output)
		return err
	}
	if _, err := s.systemctl("daemon-reload").Run(ctx, output); err != nil {
		return err
	}
	unit, err := s.show(ctx)
	if err != nil {
		return err
	}
	if unit["LoadState"] == "not-found" {
		return Advise(fmt.Errorf("there is no unit %s", s.Unit), "install the package or file that brings it by a step before this one")
	}
	if unit["LoadState"] == "masked" {
		return Advise(fmt.Errorf("%s is masked", s.Unit), "somebody wants it never to start; if not: systemctl unmask "+s.Unit)
	}
	if !unit.enabled() {
		if _, err := s.systemctl("enable", "--", s.Unit).Run(ctx, output); err != nil {
			return err
		}
	}
	_, err = s.systemctl("restart", "--", s.Unit).Run(ctx, output)
	if err == nil {
		if unit, err = s.show(ctx); err == nil && unit["ActiveState"] == "activating" { // it is started again
			err = fmt.Errorf("%s ended soon after its start", s.Unit)
		}
	}
	if err != nil {
		_, _ = s.systemctl("status", "--no-pager", "--full", "--lines=20", "--", s.Unit).Run(ctx, output) // for its output
		journal := "journalctl -u " + s.Unit
		if s.User != "" {
			journal = "journalctl _SYSTEMD_USER_UNIT=" + s.Unit
		}
		return Advise(err, "see the output, and on the node: "+journal)
	}
	return nil
}
