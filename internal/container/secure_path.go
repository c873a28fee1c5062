// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// securePath is a step: sudo finds what is in /usr/local. Oracle Linux's sudo does not, so that `sudo nerdctl` is
// "command not found" there.
type securePath struct{ record *Record }

const securePathFile = "/etc/sudoers.d/90-ocihpc-path"

// Name tells the step.
func (securePath) Name() string { return "sudo-path" }

// Title says what the step does.
func (securePath) Title() string { return "Have sudo find programs in " + binDir }

// Check asks sudo which programs it finds.
func (securePath) Check(ctx context.Context) (setup.State, error) {
	if !installed("sudo") {
		return setup.State{Done: true, Detail: "there is no sudo"}, nil
	}
	path, err := answer(ctx, "sudo", "-n", "printenv", "PATH")
	if err != nil {
		return setup.State{}, fmt.Errorf("ask sudo for its path: %w", err)
	}
	if missing := missingDirs(path); len(missing) > 0 {
		return setup.State{Detail: "it lacks " + strings.Join(missing, " and ")}, nil
	}
	return setup.State{Done: true, Detail: path}, nil
}

// Apply adds to the path that sudo has, and has visudo look at it first: a wrong file there locks everybody out.
func (s securePath) Apply(ctx context.Context, output io.Writer) error {
	path, err := answer(ctx, "sudo", "-n", "printenv", "PATH")
	if err != nil {
		return fmt.Errorf("ask sudo for its path: %w", err)
	}
	draft, err := os.CreateTemp("", "sudoers-")
	if err != nil {
		return fmt.Errorf("write sudo's settings: %w", err)
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	content := fmt.Sprintf("# Written by ocihpc-runner.\nDefaults secure_path = \"%s\"\n", strings.Join(append([]string{path}, missingDirs(path)...), ":"))
	_, err = draft.WriteString(content)
	if err = errors.Join(err, draft.Close()); err != nil {
		return fmt.Errorf("write sudo's settings: %w", err)
	}
	if err := run(ctx, output, "visudo", "--check", "--file", draft.Name()); err != nil {
		return err
	}
	if err := s.record.put(Placed{Kind: KindFile, Name: securePathFile}); err != nil {
		return err
	}
	return setup.File{Place: setup.Place{Path: securePathFile, Mode: 0o440}, Content: []byte(content)}.Apply(ctx, output) //nolint:wrapcheck // it names the file
}

// missingDirs are the folders of ours that a path lacks.
func missingDirs(path string) []string {
	has := strings.Split(path, ":")
	return slices.DeleteFunc([]string{binDir, sbinDir}, func(dir string) bool { return slices.Contains(has, dir) })
}
