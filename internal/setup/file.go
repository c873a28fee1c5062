// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// File is a file with this content. What is there instead, be it a link, is replaced in one step; only a directory is
// left alone.
type File struct {
	Ident
	Place
	Content []byte
}

// Title says the step.
func (f File) Title() string { return f.title("Write " + f.Path) }

// Check compares content, mode and owner. How the content differs is shown only where everybody on the node may read
// both the present and the wanted file: of others, which may hold secrets, only the sizes are told.
func (f File) Check(context.Context) (State, error) {
	info, err := os.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, _, err := f.ids(); err != nil {
			return State{}, err
		}
		return State{Detail: fmt.Sprintf("it is not there; %s with mode %s", size(len(f.Content)), octal(f.Mode))}, nil
	case err != nil:
		return State{}, err
	case info.IsDir():
		return State{}, Advise(fmt.Errorf("%s is a directory", f.Path), "move it away, or name another path")
	case !info.Mode().IsRegular():
		return State{Detail: "it is no file: " + info.Mode().Type().String()}, nil
	}
	differ, err := f.differences(info)
	if err != nil {
		return State{}, err
	}
	if content, err := f.contentDiffers(info); err != nil || content != "" {
		if err != nil {
			return State{}, err
		}
		differ = append(differ, content)
	}
	if len(differ) == 0 {
		return State{Done: true, Detail: size(len(f.Content))}, nil
	}
	return State{Detail: strings.Join(differ, "; ")}, nil
}

func (f File) contentDiffers(info fs.FileInfo) (string, error) {
	public := info.Mode()&f.Mode&0o004 != 0
	told := fmt.Sprintf("the content differs (%s, not %s)", size(int(info.Size())), size(len(f.Content)))
	if info.Size() != int64(len(f.Content)) && (!public || info.Size() > diffBytes) {
		return told, nil
	}
	present, err := os.ReadFile(f.Path)
	if err != nil {
		return "", err
	}
	if bytes.Equal(present, f.Content) {
		return "", nil
	}
	if !public {
		return told, nil
	}
	if lines := diff(present, f.Content); lines != "" {
		return "the content differs:\n" + lines, nil
	}
	return told, nil
}

// Apply writes the file.
func (f File) Apply(context.Context, io.Writer) error {
	return f.Replace(func(w io.Writer) error {
		_, err := w.Write(f.Content)
		return err
	})
}

func size(bytes int) string {
	if bytes == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", bytes)
}
