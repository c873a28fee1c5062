// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// endGrace is how long a program has for its end after SIGTERM.
const endGrace = 5 * time.Second

// streamGrace is how long whoever takes the output of a program that has ended may take for the last of it.
const streamGrace = 5 * time.Minute

// systemDirs are searched after PATH: a login over SSH often lacks the sbin folders, and sudo's secure_path some others.
var systemDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// Program is a program to run on the node.
type Program struct {
	Argv []string
	Env  []string // in addition, as NAME=VALUE
	// User runs it as this user, with the user's groups and home; empty is root.
	User  string
	Stdin io.Reader // nil is empty
	// Stdout takes what the program writes there, as it is and however much; nil has it kept, and shown.
	Stdout io.Writer
}

// ProgramError says that a program ran, and ended otherwise than by exit status 0.
type ProgramError struct {
	Program  string
	State    string // how it ended, such as "exit status 1"
	Signaled bool   // it was ended by a signal
	Said     string // its last line
}

func (e *ProgramError) Error() string {
	text := e.Program + " ended with " + e.State
	if e.Said != "" {
		text += ": " + e.Said
	}
	return text
}

// Run runs it to its end, and gives what it wrote to stdout. Both stdout and stderr go to output, too, where that is
// set. What it leaves running goes on, unless the context ends: then its whole process group is ended.
func (p Program) Run(ctx context.Context, output io.Writer) (string, error) {
	if output == nil {
		output = io.Discard
	}
	path, err := findProgram(p.Argv[0])
	if err != nil {
		return "", err
	}
	var stdout bytes.Buffer
	var last tail
	both, first := &gate{to: io.MultiWriter(output, &last)}, &gate{to: &stdout}
	defer both.shut()
	cmd := exec.CommandContext(ctx, path, p.Argv[1:]...) // #nosec G204 -- steps run programs
	cmd.Env = append(os.Environ(), append([]string{"LC_ALL=C", "PATH=" + searchPath()}, p.Env...)...)
	cmd.Stdin = p.Stdin
	cmd.Stderr = both
	cmd.Stdout = io.MultiWriter(first, both)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endGrace
	if p.Stdout != nil {
		cmd.Stdout, cmd.WaitDelay = p.Stdout, streamGrace
	}
	if p.User != "" {
		if err := becomeUser(cmd, p.User); err != nil {
			return "", err
		}
	}
	err = cmd.Run()
	first.shut()
	if ctx.Err() != nil {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what of its group is left
		}
		return stdout.String(), context.Cause(ctx)
	}
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay) && p.Stdout == nil: // a daemon of it holds its output open
		return stdout.String(), nil
	case errors.As(err, &exit):
		return stdout.String(), &ProgramError{Program: p.Argv[0], State: exit.String(), Signaled: exit.ExitCode() < 0, Said: lastLine(last.String())}
	}
	return stdout.String(), fmt.Errorf("run %s: %w", p.Argv[0], err)
}

// gate lets one write through at a time, and none any more once it is shut: a daemon may hold a pipe for longer.
type gate struct {
	lock sync.Mutex
	to   io.Writer
}

func (g *gate) Write(p []byte) (int, error) {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.to.Write(p)
}

func (g *gate) shut() {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.to = io.Discard
}

// answer runs a program that only has to answer a question.
func answer(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("%s did not answer within a minute", argv[0]))
	defer cancel()
	return Program{Argv: argv}.Run(ctx, nil)
}

func searchPath() string {
	return strings.Join(append(filepath.SplitList(os.Getenv("PATH")), systemDirs...), ":")
}

// findProgram gives the path of a program of PATH or the system's folders.
func findProgram(name string) (string, error) {
	if found, err := exec.LookPath(name); err == nil || strings.Contains(name, "/") {
		return found, err
	}
	for _, dir := range systemDirs {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: %w", name, exec.ErrNotFound)
}

// missing says that there is no such program.
func missing(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist)
}

// hint is how programs tell of their help, after the line that matters.
var hint = regexp.MustCompile(`^(See|Run|Try) ['"\x60].*help`)

func lastLine(text string) string {
	said := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !hint.MatchString(line) {
			said = line
		}
	}
	return said
}
