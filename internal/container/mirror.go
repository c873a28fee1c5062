// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// MirrorOptions say what a mirror is to hold.
type MirrorOptions struct {
	Engines  []job.Engine
	Archs    []string          // by Go's names
	Packages []string          // deb, rpm: the kinds that the toolkit's packages are wanted in
	Versions map[string]string // by component; others are the pinned ones
	From     string            // another mirror; empty is the vendors
	Output   io.Writer         // is told what is downloaded
}

// mirrored are the components of each engine that are archives. All else are packages of repositories: Docker, Podman,
// slirp4netns, uidmap and iptables are not in a mirror.
var mirrored = map[job.Engine][]string{
	job.Containerd: {compContainerd, compRunc, compCNI, compNerdctl, compRootlessKit, compBypass4netns, compToolkit},
	job.Docker:     {compToolkit},
	job.Podman:     {compToolkit},
}

// MakeMirror downloads all archives that a set-up needs into a directory, verifies them, and writes the manifest. What is
// there already is not downloaded again; what the manifest had before stays in it.
func MakeMirror(ctx context.Context, dir string, o MirrorOptions) (*Manifest, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- a mirror is public
		return nil, fmt.Errorf("make the mirror's folder: %w", err)
	}
	m := &Manifest{}
	if _, err := os.Stat(filepath.Join(dir, ManifestName)); err == nil {
		if m, err = ReadManifest(ctx, dir); err != nil {
			return nil, err
		}
	}
	for _, arch := range o.Archs {
		for _, packages := range o.Packages {
			s, err := newSource(ctx, o.From, Platform{Arch: arch, Packages: packages})
			if err != nil {
				return nil, err
			}
			for _, component := range o.components() {
				a, err := s.mirrorOne(ctx, dir, component, o)
				if err != nil {
					return nil, fmt.Errorf("mirror %s for linux/%s: %w", component, arch, err)
				}
				m.put(a)
			}
		}
	}
	return m, m.Write(dir)
}

// components that the engines need, each once.
func (o MirrorOptions) components() []string {
	var all []string
	for _, engine := range o.Engines {
		all = append(all, mirrored[engine]...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(component string) bool { return o.Versions[component] == job.NoComponent })
}

// mirrorOne downloads one archive.
func (s *source) mirrorOne(ctx context.Context, dir, component string, o MirrorOptions) (Artifact, error) {
	version := o.Versions[component]
	if component == compBypass4netns {
		version = o.Versions[compNerdctl]
	}
	a, err := s.of(component, version)
	if err != nil {
		return Artifact{}, err
	}
	// Vendors give some files the same name in every version.
	file := filepath.Join(component+"-"+a.version, filepath.Base(a.address))
	_, sum, err := a.download(ctx, filepath.Join(dir, file), 0o644, o.Output)
	if err != nil {
		return Artifact{}, err
	}
	made := Artifact{Component: component, Version: a.version, OS: "linux", Arch: s.platform.Arch, File: file, SHA256: sum}
	if component == compToolkit {
		made.Packages = s.platform.Packages
	}
	return made, nil
}

// put adds a file, or replaces what the manifest says of it.
func (m *Manifest) put(a Artifact) {
	m.Files = append(slices.DeleteFunc(m.Files, func(b Artifact) bool { return b.File == a.File }), a)
}
