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
)

// Link is a symbolic link. It replaces another link, but no file or directory: those are somebody's.
type Link struct {
	Ident
	Path   string
	Target string // as it is to stand in the link; it need not exist
}

// Title says the step.
func (l Link) Title() string { return l.title("Link " + l.Path + " to " + l.Target) }

// Check reads the link.
func (l Link) Check(context.Context) (State, error) {
	info, err := os.Lstat(l.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return State{Detail: "it is not there"}, nil
	case err != nil:
		return State{}, err
	case info.Mode()&fs.ModeSymlink == 0:
		return State{}, Advise(fmt.Errorf("%s is no link", l.Path), "move it away, or name another path")
	}
	target, err := os.Readlink(l.Path)
	return State{Done: target == l.Target, Detail: "it points to " + target}, err
}

// Apply makes it, in place of another link in one step.
func (l Link) Apply(context.Context, io.Writer) error {
	temporary := Place{Path: l.Path}.temporary()
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(l.Target, temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, l.Path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return syncDir(filepath.Dir(l.Path))
}
