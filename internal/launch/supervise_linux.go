// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killAfter is how long a command has to end by itself after SIGTERM. Open MPI's daemons use it to end
// their ranks.
const killAfter = 5 * time.Second

// EndChildren ends all descendants of this process: SIGTERM first, SIGKILL after 5 seconds. Those that made themselves
// daemons are among them if this process called [Adopt] before.
func EndChildren() {
	signalTree(os.Getpid(), unix.SIGTERM)
	endChildren(time.Now().Add(killAfter))
}

// Adopt makes orphans among this process' descendants its children rather than init's: none escapes.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// Supervise runs a program on this node, with this process' stdout and stderr and without input, and gives
// its exit status as a shell does (128 + signal). When the context ends or the lifeline is at its end, the
// program gets SIGTERM, and after 5 seconds SIGKILL. In every case all its descendants, also those that
// made themselves daemons, are gone when Supervise returns.
func Supervise(ctx context.Context, c Command, lifeline io.Reader) (int, error) {
	if err := Adopt(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, lifeline) // whatever ends it
		cancel()
	}()
	program, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return statusNotFound, err
	}
	cmd := exec.CommandContext(ctx, program, c.Argv[1:]...) // #nosec G204 -- this is its purpose
	cmd.Env = append(os.Environ(), c.environment()...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	var deadline time.Time // of the descendants; none has time once the program ended by itself
	cmd.Cancel = func() error {
		deadline = time.Now().Add(killAfter)
		signalTree(os.Getpid(), unix.SIGTERM)
		return nil
	}
	cmd.WaitDelay = killAfter
	err = cmd.Run()
	endChildren(deadline)
	if cmd.ProcessState == nil {
		return statusCannotRun, fmt.Errorf("run %s: %w", program, err)
	}
	if signal := cmd.ProcessState.Sys().(syscall.WaitStatus); signal.Signaled() {
		return 128 + int(signal.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// Statuses of a program that did not start, as shells give them.
const (
	statusNotFound  = 127
	statusCannotRun = 126
)

func (c Command) environment() []string {
	var set []string
	for _, name := range sortedKeys(c.Env) {
		set = append(set, name+"="+c.Env[name])
	}
	if c.LibraryDir != "" && c.Env["LD_LIBRARY_PATH"] == "" {
		path := c.LibraryDir
		if present := os.Getenv("LD_LIBRARY_PATH"); present != "" {
			path += ":" + present
		}
		set = append(set, "LD_LIBRARY_PATH="+path)
	}
	return set
}

// endChildren reaps all descendants, and kills those that are left at the deadline. New ones may come
// while it looks.
func endChildren(deadline time.Time) {
	for {
		if !time.Now().Before(deadline) {
			signalTree(os.Getpid(), unix.SIGKILL)
		}
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.ECHILD) {
			return
		}
		if pid <= 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// signalTree sends a signal to all descendants of a process.
func signalTree(root int, signal unix.Signal) {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, stat := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if parent, ok := parentOf(stat); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	pending := children[root]
	for len(pending) > 0 {
		pid := pending[0]
		pending = append(pending[1:], children[pid]...)
		_ = unix.Kill(pid, signal) // it may be gone by itself
	}
}

// parentOf reads the parent from /proc/PID/stat, whose second field, in parentheses, may hold anything.
func parentOf(stat string) (int, bool) {
	text, err := os.ReadFile(stat) // #nosec G304 -- below /proc
	if err != nil {
		return 0, false
	}
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}
