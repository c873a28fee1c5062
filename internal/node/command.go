// SPDX-License-Identifier: MPL-2.0

package node

import (
	"bytes"
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
// node without persistence mode, and forever on one with a lost GPU.
const commandLimit = 60 * time.Second

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
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...) // #nosec G204 -- fixed names, no shell
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return stdout.String(), fmt.Errorf("%s did not answer: %w", name, ctx.Err())
	}
	said := strings.TrimSpace(stderr.String())
	if said == "" {
		said = strings.TrimSpace(stdout.String())
	}
	first, _, _ := strings.Cut(said, "\n")
	return stdout.String(), fmt.Errorf("%s: %w: %s", name, err, first)
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
