// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// component is a step: the programs of a component, from its archive.
type component struct {
	archive   archive
	record    *Record
	layout    *layout // nil is a bare program
	downloads string  // where archives are for as long as they are unpacked
}

// Name tells the step.
func (c component) Name() string {
	return "install-" + strings.ReplaceAll(c.archive.component, "_", "-")
}

// Title says what the step does.
func (c component) Title() string {
	return fmt.Sprintf("Install %s %s", strings.ReplaceAll(c.archive.component, "_", " "), c.archive.version)
}

// Downloads says whether the archive comes from outside.
func (c component) Downloads() bool { return isAddress(c.archive.address) }

// Check compares the files of the node with those that the set-up put there.
func (c component) Check(context.Context) (setup.State, error) {
	placed := c.record.find(KindComponent, c.archive.component, "")
	switch {
	case placed == nil:
		return setup.State{Detail: "from " + c.archive.origin()}, nil
	case placed.Version != c.archive.version || c.archive.sha256 != "" && c.archive.sha256 != placed.SHA256:
		return setup.State{Detail: fmt.Sprintf("%s is installed; from %s", placed.Version, c.archive.origin())}, nil
	}
	for _, file := range slices.Sorted(maps.Keys(placed.Files)) {
		sum, err := sumOf(file)
		if errors.Is(err, fs.ErrNotExist) {
			return setup.State{Detail: file + " is gone"}, nil
		}
		if err != nil {
			return setup.State{}, err
		}
		if sum != placed.Files[file] {
			return setup.State{Detail: file + " was changed"}, nil
		}
	}
	return setup.State{Done: true, Detail: placed.Version + " is installed"}, nil
}

// Apply downloads the archive, verifies it and puts its programs in place of those that are there: what runs from
// the old ones goes on.
func (c component) Apply(ctx context.Context, output io.Writer) error {
	layout := c.layout
	if layout == nil {
		return c.applyProgram(ctx, output)
	}
	file, sum, err := c.archive.download(ctx, filepath.Join(c.downloads, filepath.Base(c.archive.address)), 0o600, output)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file) }()
	names := map[string]bool{}
	only := func(name string) bool {
		if !layout.takes(name) {
			return false
		}
		names[name] = true
		return true
	}
	err = setup.Unpack{Archive: file, Dir: layout.to, Strip: layout.strip, Only: only}.Apply(ctx, output)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", c.archive.component, err)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has none of the programs of %s", c.archive.address, c.archive.component)
	}
	return c.note(sum, layout.to, slices.Collect(maps.Keys(names)))
}

// applyProgram is Apply for a component that is published as a bare program.
func (c component) applyProgram(ctx context.Context, output io.Writer) error {
	_, sum, err := c.archive.download(ctx, filepath.Join(sbinDir, c.archive.component), 0o755, output)
	if err != nil {
		return err
	}
	return c.note(sum, sbinDir, []string{c.archive.component})
}

// note records what is installed, and removes programs of an earlier version that this one does not have.
func (c component) note(sum, dir string, names []string) error {
	placed := Placed{Kind: KindComponent, Name: c.archive.component, Version: c.archive.version, SHA256: sum, Files: map[string]string{}}
	for _, name := range names {
		path := filepath.Join(dir, name)
		digest, err := sumOf(path)
		if err != nil {
			return err
		}
		placed.Files[path] = digest
	}
	if old := c.record.find(KindComponent, c.archive.component, ""); old != nil {
		for path := range old.Files {
			if _, kept := placed.Files[path]; !kept {
				_ = os.Remove(path) // it does no harm where it stays
			}
		}
	}
	return c.record.put(placed)
}

// download puts the verified file at a path, and gives the digest that it was verified by, too.
func (a archive) download(ctx context.Context, path string, mode fs.FileMode, output io.Writer) (file, sum string, err error) {
	if sum, err = a.digest(ctx); err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- folders of programs
		return "", "", fmt.Errorf("make a folder: %w", err)
	}
	_, _ = fmt.Fprintf(output, "downloading %s, sha256 %s\n", a.address, sum) // only a log
	d := setup.Download{Place: setup.Place{Path: path, Mode: mode}, Source: a.address, SHA256: sum}
	return path, sum, d.Apply(ctx, output) //nolint:wrapcheck // it names the address
}

// sumOf is the SHA-256 of a file, in hex.
func sumOf(path string) (string, error) {
	file, err := os.Open(path) // #nosec G304 -- paths of our own record
	if err != nil {
		return "", fmt.Errorf("read what is installed: %w", err)
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
