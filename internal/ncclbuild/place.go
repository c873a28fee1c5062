// SPDX-License-Identifier: MPL-2.0

package ncclbuild

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
)

// sumsName is the file with the digests of the programs, in the form of sha256sum. Its own digest is the identity of all.
const sumsName = "SHA256SUMS"

// ErrOther says that what is there is not what was built.
var ErrOther = errors.New("it is not what was built")

// maxProgram bounds a program that another node gives, in bytes.
const maxProgram = 1 << 30

// Find gives the identity of what is there already; empty when nothing is, or something else.
func (r Request) Find() (string, error) {
	place, err := r.Place()
	if err != nil {
		return "", err
	}
	identity, err := verify(place)
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(place, now, now) // ocihpc-runner clean keeps what is used
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrOther) {
		return "", nil
	}
	return identity, err
}

// install puts the programs of a build into their place, all at once.
func install(from, place string) (string, error) {
	programs, _ := filepath.Glob(filepath.Join(from, "*_perf")) // the pattern is well-formed
	if len(programs) == 0 {
		return "", fmt.Errorf("the build left no program *_perf in %s", from)
	}
	return replace(place, func(dir string) error {
		for _, program := range programs {
			if err := copyFile(program, filepath.Join(dir, filepath.Base(program))); err != nil {
				return err
			}
		}
		return writeSums(dir)
	})
}

// replace fills a new folder, and puts it in the place of the one that is there.
func replace(place string, fill func(dir string) error) (string, error) {
	next := place + ".new"
	if err := errors.Join(os.RemoveAll(next), os.MkdirAll(next, 0o755)); err != nil { // #nosec G301 -- ranks of any user run it
		return "", fmt.Errorf("make a folder for nccl-tests: %w", err)
	}
	if err := fill(next); err != nil {
		_ = os.RemoveAll(next)
		return "", err
	}
	identity, err := verify(next)
	if err != nil {
		return "", err
	}
	if err := giveAway(next); err != nil {
		return "", err
	}
	if err := errors.Join(os.RemoveAll(place), os.Rename(next, place)); err != nil {
		return "", fmt.Errorf("put nccl-tests in place: %w", err)
	}
	return identity, nil
}

// giveAway makes what root builds in a container its parent's owner's, who is to clean it up one day.
func giveAway(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	parent, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return err
	}
	owner, ok := parent.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range append(files, dir) {
		if err := os.Lchown(path, int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("give %s to its owner: %w", path, err)
		}
	}
	return nil
}

func copyFile(from, to string) (err error) {
	source, err := os.Open(from) // #nosec G304 -- of our own build
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // only read
	return writeProgram(to, source)
}

func writeProgram(path string, content io.Reader) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) // #nosec G302 G304 -- ranks of any user run it
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

func writeSums(dir string) error {
	var text strings.Builder
	programs, _ := filepath.Glob(filepath.Join(dir, "*_perf"))
	for _, program := range programs {
		sum, err := sumOf(program)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, filepath.Base(program))
	}
	return os.WriteFile(filepath.Join(dir, sumsName), []byte(text.String()), 0o644) // #nosec G306 -- it is no secret
}

// verify holds the programs against their digests, and gives the identity of all.
func verify(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, sumsName)) // #nosec G304 -- in our own folder
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		want, name, found := strings.Cut(strings.TrimRight(line, "\n"), "  ")
		if !found || name != filepath.Base(name) {
			return "", fmt.Errorf("%s: %w", filepath.Join(dir, sumsName), ErrOther)
		}
		got, err := sumOf(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if got != want {
			return "", fmt.Errorf("%s: %w", filepath.Join(dir, name), ErrOther)
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path) // #nosec G304 -- in our own folder
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Give writes what was built as a tar archive.
func (r Request) Give(_ context.Context, to io.Writer) error {
	place, err := r.Place()
	if err != nil {
		return err
	}
	files, _ := filepath.Glob(filepath.Join(place, "*"))
	slices.Sort(files)
	archive := tar.NewWriter(to)
	for _, path := range files {
		content, err := os.ReadFile(path) // #nosec G304 -- in our own folder
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.Base(path), Mode: 0o755, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// Take gets from another node what has this identity.
func (r Request) Take(ctx context.Context, from handover.Offer, identity string) error {
	place, err := r.Place()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil { // #nosec G301 -- ranks of any user run it
		return fmt.Errorf("make a folder for nccl-tests: %w", err)
	}
	got, err := replace(place, func(dir string) error {
		return handover.Take(ctx, from, func(content io.Reader) error { return unpack(content, dir) })
	})
	if err == nil && got != identity {
		return errors.Join(fmt.Errorf("nccl-tests of %s: %w", from.Address, ErrOther), os.RemoveAll(place))
	}
	return err
}

func unpack(content io.Reader, dir string) error {
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, content) // to the sign of the end
			return err
		}
		if err != nil {
			return fmt.Errorf("read what came: %w", err)
		}
		if header.Typeflag != tar.TypeReg || header.Name != filepath.Base(header.Name) || header.Size > maxProgram {
			return fmt.Errorf("%q came: %w", header.Name, ErrOther)
		}
		if err := writeProgram(filepath.Join(dir, header.Name), io.LimitReader(archive, maxProgram)); err != nil { // #nosec G305 -- it is a plain name
			return err
		}
	}
}

// tail keeps the end of what a compiler says.
type tail struct{ text string }

const (
	tailLimit = 4096
	tailLines = 20
)

func (t *tail) Write(p []byte) (int, error) {
	t.text += string(p)
	if len(t.text) > tailLimit {
		t.text = t.text[len(t.text)-tailLimit:]
	}
	return len(p), nil
}

// lines are the last of it.
func (t *tail) lines() string {
	lines := strings.Split(strings.TrimSpace(t.text), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
