// SPDX-License-Identifier: MPL-2.0

package container

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// endGrace is how long an engine's client has for its end after it was asked to.
const endGrace = 10 * time.Second

// look finds a program in the last PATH of an environment.
func look(program string, env []string) (string, error) {
	path := ""
	for _, variable := range env {
		if value, is := strings.CutPrefix(variable, "PATH="); is {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return found, nil
		}
	}
	return "", setup.Advise(fmt.Errorf("%s is not installed: %w", program, exec.ErrNotFound), "set the engine up by ocihpc_container_runtime, or name another")
}

// execInPlace replaces this process.
func execInPlace(path string, argv, env []string) error {
	if err := syscall.Exec(path, argv, env); err != nil { // #nosec G204 -- an engine
		return fmt.Errorf("start %s: %w", path, err)
	}
	return errors.New("exec returned")
}

// tail keeps the end of what a program says.
type tail struct{ text []byte }

const tailLimit = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if len(t.text) > tailLimit {
		t.text = t.text[len(t.text)-tailLimit:]
	}
	return len(p), nil
}

// last gives it in one line.
func (t *tail) last() string { return strings.Join(strings.Fields(string(t.text)), " ") }
