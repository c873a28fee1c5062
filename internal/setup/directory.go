// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Directory is a directory, or a link to one. What is in it is left alone; missing ones above it are made with mode 0755.
type Directory struct {
	Ident
	Place
}

// Title says the step.
func (d Directory) Title() string { return d.title("Make the directory " + d.Path) }

// Check compares mode and owner.
func (d Directory) Check(context.Context) (State, error) {
	info, err := os.Stat(d.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, _, err := d.ids(); err != nil {
			return State{}, err
		}
		return State{Detail: fmt.Sprintf("it is not there; mode %s", octal(d.Mode))}, nil
	case err != nil:
		return State{}, err
	case !info.IsDir():
		return State{}, Advise(fmt.Errorf("%s is not a directory", d.Path), "move it away, or name another path")
	}
	differ, err := d.differences(info)
	return State{Done: len(differ) == 0, Detail: strings.Join(differ, "; ")}, err
}

// Apply makes it.
func (d Directory) Apply(context.Context, io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(d.Path), 0o755); err != nil { // #nosec G301 -- as the system's own are
		return err
	}
	if err := os.Mkdir(d.Path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	handle, err := os.Open(d.Path)
	if err != nil {
		return err
	}
	return errors.Join(d.give(handle), handle.Sync(), handle.Close(), syncDir(filepath.Dir(d.Path)))
}
