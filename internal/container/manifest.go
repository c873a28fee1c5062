// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// ManifestName is the file in a mirror that says what the mirror holds.
const ManifestName = "manifest.json"

// manifestLimit bounds a manifest, which is foreign text.
const manifestLimit = 4 << 20

// Manifest says what a mirror holds.
type Manifest struct {
	Files []Artifact `json:"files"`
}

// Artifact is one file of a mirror.
type Artifact struct {
	Component string `json:"component"` // such as containerd
	Version   string `json:"version"`   // such as 2.2.7
	OS        string `json:"os"`        // linux
	Arch      string `json:"arch"`      // amd64 or arm64
	// Packages is deb or rpm for an archive of packages, and empty for all others.
	Packages string `json:"packages,omitempty"`
	File     string `json:"file"`   // relative to the manifest
	SHA256   string `json:"sha256"` // in hex
}

// ErrManifest says that a mirror's manifest cannot be used.
var ErrManifest = errors.New("unusable manifest of a mirror")

// ReadManifest reads the manifest of a mirror: a directory, or an http or https address.
func ReadManifest(ctx context.Context, mirror string) (*Manifest, error) {
	text, err := readMirror(ctx, mirror, ManifestName)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of mirror %s: %w", mirror, err)
	}
	m, err := ParseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("mirror %s: %w", mirror, err)
	}
	return m, nil
}

// ParseManifest reads a manifest, and refuses one that names files outside of the mirror or lacks a digest.
func ParseManifest(text []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	for _, a := range m.Files {
		if sum, err := hex.DecodeString(a.SHA256); err != nil || len(sum) != 32 {
			return nil, fmt.Errorf("%w: %s has no SHA-256 in hex", ErrManifest, a.File)
		}
		if !filepath.IsLocal(a.File) {
			return nil, fmt.Errorf("%w: %q is not a file of the mirror", ErrManifest, a.File)
		}
	}
	return &m, nil
}

// Write puts the manifest into a directory, sorted.
func (m *Manifest) Write(dir string) error {
	slices.SortFunc(m.Files, func(a, b Artifact) int { return strings.Compare(a.File, b.File) })
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ManifestName), append(text, '\n'), 0o644); err != nil { // #nosec G306 -- a mirror is public
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// find gives the component's file for a platform. Without a version it is the only one that the mirror has.
func (m *Manifest) find(component, version string, p Platform) (Artifact, error) {
	var found []Artifact
	var versions []string
	for _, a := range m.Files {
		if a.Component != component || a.OS != "linux" || a.Arch != p.Arch || a.Packages != "" && a.Packages != p.Packages {
			continue
		}
		versions = append(versions, a.Version)
		if version == "" || a.Version == version {
			found = append(found, a)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(versions) == 0:
		return Artifact{}, setup.Advise(fmt.Errorf("it has no %s for linux/%s", component, p.Arch), "make it again with `ocihpc-runner mirror`, for this engine and architecture")
	case len(found) == 0:
		return Artifact{}, setup.Advise(fmt.Errorf("it has no %s %s for linux/%s, but %s", component, version, p.Arch, strings.Join(versions, ", ")),
			"name one of these in versions, or add the other to the mirror: ocihpc-runner mirror DIR --version "+component+"="+version)
	}
	return Artifact{}, setup.Advise(fmt.Errorf("it has %s %s for linux/%s", component, strings.Join(versions, ", "), p.Arch), "name one of these in versions")
}

// has says whether the mirror holds the component for a platform.
func (m *Manifest) has(component string, p Platform) bool {
	return slices.ContainsFunc(m.Files, func(a Artifact) bool {
		return a.Component == component && a.Arch == p.Arch && (a.Packages == "" || a.Packages == p.Packages)
	})
}

// isAddress tells an http or https mirror from a directory.
func isAddress(mirror string) bool {
	return strings.HasPrefix(mirror, "http://") || strings.HasPrefix(mirror, "https://")
}

// readMirror reads a small file of a mirror.
func readMirror(ctx context.Context, mirror, file string) ([]byte, error) {
	if isAddress(mirror) {
		address, err := url.JoinPath(mirror, file)
		if err != nil {
			return nil, fmt.Errorf("make the address of %s: %w", file, err)
		}
		return get(ctx, address, manifestLimit)
	}
	text, err := os.ReadFile(filepath.Join(mirror, file)) // #nosec G304 -- the mirror that the job names
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	return text, nil
}
