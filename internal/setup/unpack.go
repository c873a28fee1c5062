// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Unpack has the files of a tar archive, gzipped or not, in a directory. What is in the directory besides is left alone.
// It compares every byte: a file that was changed since is put right.
type Unpack struct {
	Ident
	Archive string
	Dir     string
	Owner   string // of all of it, as in [Place]; the archive's own does not count
	// Strip takes this many leading folders from the names.
	Strip int
	// Only unpacks the entries whose names, as stripped, this accepts; nil accepts all.
	Only func(name string) bool
}

// Title says the step.
func (u Unpack) Title() string {
	return u.title("Unpack " + filepath.Base(u.Archive) + " into " + u.Dir)
}

// errDiffers ends the look at an archive at the first difference.
var errDiffers = errors.New("differs")

// Check compares the archive with the directory.
func (u Unpack) Check(ctx context.Context) (State, error) {
	if _, err := os.Stat(u.Archive); errors.Is(err, fs.ErrNotExist) {
		return State{Detail: u.Archive + " is not there"}, nil
	}
	detail := ""
	files := 0
	err := u.each(ctx, func(name string, header *tar.Header, content io.Reader) error {
		files++
		if what := differsFrom(filepath.Join(u.Dir, name), header, content); what != "" {
			detail = filepath.Join(u.Dir, name) + " " + what
			return errDiffers
		}
		return nil
	})
	if errors.Is(err, errDiffers) {
		return State{Detail: detail}, nil
	}
	return State{Done: err == nil, Detail: fmt.Sprintf("%d files", files)}, err
}

// Apply writes what differs.
func (u Unpack) Apply(ctx context.Context, _ io.Writer) error {
	if err := os.MkdirAll(u.Dir, 0o755); err != nil { // #nosec G301 -- programs for all users
		return err
	}
	return u.each(ctx, func(name string, header *tar.Header, content io.Reader) error {
		target := filepath.Join(u.Dir, name)
		if err := u.makeParents(name); err != nil {
			return err
		}
		mode := header.FileInfo().Mode() & fs.ModePerm
		switch header.Typeflag {
		case tar.TypeDir:
			return Directory{Place: Place{Path: target, Mode: mode, Owner: u.Owner}}.Apply(ctx, nil)
		case tar.TypeSymlink:
			return Link{Path: target, Target: header.Linkname}.Apply(ctx, nil)
		}
		return Place{Path: target, Mode: mode, Owner: u.Owner}.Replace(func(w io.Writer) error {
			_, err := io.Copy(w, content) // #nosec G110 -- the archive is known by its digest
			return err
		})
	})
}

// makeParents makes the directories above an entry. A link among them would lead out of the directory.
func (u Unpack) makeParents(name string) error {
	at := u.Dir
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.Mkdir(at, 0o755); err != nil { // #nosec G301 -- programs for all users
				return err
			}
		case err != nil:
			return err
		case !info.IsDir() && at != u.Dir:
			return Advise(fmt.Errorf("%s is no directory", at), "move it away, or unpack elsewhere")
		}
	}
	return nil
}

// each goes over the archive's directories, files and links.
func (u Unpack) each(ctx context.Context, visit func(name string, header *tar.Header, content io.Reader) error) error {
	file, err := os.Open(u.Archive)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	unzipped, err := gunzip(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", u.Archive, err)
	}
	archive := tar.NewReader(unzipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", u.Archive, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name, err := u.nameOf(header)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		if err := visit(name, header, archive); err != nil {
			return err
		}
	}
}

// nameOf is the entry's name below the directory; empty for one that is not asked for.
func (u Unpack) nameOf(header *tar.Header) (string, error) {
	name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
	for range u.Strip {
		_, name, _ = strings.Cut(name, "/")
	}
	if name == "" || u.Only != nil && !u.Only(name) {
		return "", nil
	}
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
		return name, nil
	case tar.TypeXGlobalHeader:
		return "", nil
	}
	return "", fmt.Errorf("%s: %s is neither file, directory nor symbolic link", u.Archive, header.Name)
}

// gunzip reads through gzip where the content is gzipped.
func gunzip(file *os.File) (io.Reader, error) {
	magic := make([]byte, 2)
	n, err := io.ReadFull(file, magic)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if n < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return file, nil
	}
	return gzip.NewReader(file)
}

// differsFrom says how what is at a path differs from an entry; empty when it does not.
func differsFrom(target string, header *tar.Header, content io.Reader) string {
	info, err := os.Lstat(target)
	if err != nil {
		return "is not there"
	}
	wanted := header.FileInfo().Mode()
	switch {
	case header.Typeflag == tar.TypeDir:
		if !info.IsDir() {
			return "is no directory"
		}
		return ""
	case header.Typeflag == tar.TypeSymlink:
		if points, err := os.Readlink(target); err != nil || points != header.Linkname {
			return "does not point to " + header.Linkname
		}
		return ""
	case !info.Mode().IsRegular():
		return "is no file"
	case info.Mode().Perm() != wanted.Perm():
		return fmt.Sprintf("has mode %s, not %s", octal(info.Mode()), octal(wanted.Perm()))
	case info.Size() != header.Size || !sameContent(target, content):
		return "has another content"
	}
	return ""
}

func sameContent(target string, content io.Reader) bool {
	file, err := os.Open(target) // #nosec G304 -- below the directory
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // nothing was written
	mine, its := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, end := io.ReadFull(content, its)
		if _, err := io.ReadFull(file, mine[:n]); err != nil || !bytes.Equal(mine[:n], its[:n]) {
			return n == 0 && errors.Is(end, io.EOF)
		}
		if end != nil {
			return errors.Is(end, io.EOF) || errors.Is(end, io.ErrUnexpectedEOF)
		}
	}
}
