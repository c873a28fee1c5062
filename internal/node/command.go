// SPDX-License-Identifier: MPL-2.0

package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// commandLimit bounds a program that only has to answer a question. nvidia-smi takes many seconds on a
// node without persistence mode, and forever on one with a lost GPU. Tests shorten it.
var commandLimit = 30 * time.Second

// systemDirs are searched after PATH: a login over SSH often lacks the sbin folders.
var systemDirs = []string{"/usr/local/sbin", "/usr/sbin", "/sbin"}

// findProgram gives the path of a program of PATH or the system's folders.
func findProgram(name string) (string, error) {
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	for _, dir := range systemDirs {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: %w", name, exec.ErrNotFound)
}

// answer runs a program and gives what it wrote to stdout, also when it failed.
func answer(ctx context.Context, name string, args ...string) (string, error) {
	program, err := findProgram(name)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	// A program that waits for broken hardware inside the kernel cannot even be killed: it is left behind.
	text, err := within(ctx, commandLimit+2*killGrace, func() (string, error) { return output(limited, program, args) })
	if err != nil && (limited.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
		return text, fmt.Errorf("%s did not answer within %s: %w", name, commandLimit, context.DeadlineExceeded)
	}
	if err != nil {
		return text, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// killGrace is how long the output of a killed program may still be waited for.
const killGrace = time.Second

// output runs a program; the error holds the first line of what it said.
func output(ctx context.Context, program string, args []string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...) // #nosec G204 -- fixed names, no shell
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = killGrace
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	said := cmp.Or(strings.TrimSpace(stderr.String()), strings.TrimSpace(stdout.String()))
	first, _, _ := strings.Cut(said, "\n")
	return stdout.String(), fmt.Errorf("%w: %s", err, first)
}

// within gives what do gives, or after the limit context.DeadlineExceeded, with do left to itself.
func within[T any](ctx context.Context, limit time.Duration, do func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// answerAsRoot is answer for programs that only root may ask, by sudo where that needs no password.
func answerAsRoot(ctx context.Context, name string, args ...string) (string, error) {
	if os.Geteuid() == 0 {
		return answer(ctx, name, args...)
	}
	program, err := findProgram(name)
	if err != nil {
		return "", err
	}
	return answer(ctx, "sudo", append([]string{"-n", program}, args...)...)
}

// missing says that the error means "no such program here".
func missing(err error) bool { return errors.Is(err, exec.ErrNotFound) }
