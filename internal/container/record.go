// SPDX-License-Identifier: MPL-2.0

package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// Record is what the set-up put on this node, in that order: what a removal takes away, and nothing else.
type Record struct {
	Engine job.Engine `json:"engine"`
	User   string     `json:"user,omitempty"` // of the rootless engine
	Placed []Placed   `json:"placed"`
	// Ran are the engines' services that ran before the first set-up: a removal has them read their own settings again.
	Ran []string `json:"ran,omitempty"`
	// PackagesBefore are the packages that were there, sorted, while others are installed.
	PackagesBefore []string `json:"packages_before,omitempty"`
	// Images that came from other nodes, by reference.
	Images map[string]ReceivedImage `json:"images,omitempty"`

	path string
}

// ReceivedImage is an image that came from another node. Docker and Podman forget on the way which digest its registry has for it.
type ReceivedImage struct {
	ID     string `json:"id"`     // the SHA-256 of its configuration, which names its layers by theirs
	Digest string `json:"digest"` // name@sha256:…
}

// Kind of a thing that was put on the node.
type Kind string

// Kinds.
const (
	KindComponent Kind = "component" // files of an archive
	KindFile      Kind = "file"
	KindPackage   Kind = "package"
	KindService   Kind = "service"
	KindLinger    Kind = "linger"    // of a user
	KindUserFile  Kind = "user_file" // in a user's home, which root may not be able to write to
)

// Placed is one thing that was put on the node.
type Placed struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`           // component, path, package, unit or user
	User string `json:"user,omitempty"` // whose unit or file it is; empty is the system's
	// Version and SHA256 of a component's archive, and its Files by path with their own SHA-256.
	Version string            `json:"version,omitempty"`
	SHA256  string            `json:"sha256,omitempty"`
	Files   map[string]string `json:"files,omitempty"`
	// Before is the copy of what was at a file's path before.
	Before string `json:"before,omitempty"`
}

// recordPath is the record's place; backupDir holds what was at a path before.
var (
	recordPath = filepath.Join(stateDir, "container.json")
	backupDir  = filepath.Join(stateDir, "container-before")
)

// readRecord reads the record; without one, nothing was put there.
func readRecord(path string) (*Record, error) {
	r := &Record{path: path}
	text, err := os.ReadFile(path) // #nosec G304 -- a fixed path; tests have their own
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was set up before: %w", err)
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read what was set up before: %s: %w", path, err)
	}
	return r, nil
}

func (r *Record) find(kind Kind, name, user string) *Placed {
	for i, p := range r.Placed {
		if p.Kind == kind && p.Name == name && p.User == user {
			return &r.Placed[i]
		}
	}
	return nil
}

// put notes a thing, in the place of an earlier note of it.
func (r *Record) put(p Placed) error {
	r.set(p)
	return r.save()
}

func (r *Record) set(p Placed) {
	if old := r.find(p.Kind, p.Name, p.User); old != nil {
		*old = p
	} else {
		r.Placed = append(r.Placed, p)
	}
}

// drop forgets a thing.
func (r *Record) drop(p Placed) error {
	r.Placed = slices.DeleteFunc(r.Placed, func(q Placed) bool {
		return q.Kind == p.Kind && q.Name == p.Name && q.User == p.User
	})
	return r.save()
}

func (r *Record) save() error {
	if err := os.MkdirAll(filepath.Dir(r.path), 0o755); err != nil { // #nosec G301 -- it holds no secret
		return fmt.Errorf("note what was set up: %w", err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("note what was set up: %w", err)
	}
	return setup.Place{Path: r.path, Mode: 0o644}.Replace(func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err //nolint:wrapcheck // it names the file
	})
}
