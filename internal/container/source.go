// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
)

// source is where archives come from: the vendors, or a mirror.
type source struct {
	platform Platform
	mirror   string
	manifest *Manifest // of the mirror
}

func newSource(ctx context.Context, mirror string, p Platform) (*source, error) {
	s := &source{platform: p, mirror: mirror}
	if mirror == "" {
		return s, nil
	}
	var err error
	s.manifest, err = ReadManifest(ctx, mirror)
	return s, err
}

// archive is a component's file and where it is found.
type archive struct {
	component, version string
	address            string // http(s), or a path of the node
	sha256             string // empty until it is read from sums
	sums               string // the vendor's list of digests
}

// of gives a component's archive. Without a version it is the pinned one, or the one that the mirror has instead.
func (s *source) of(component, version string) (archive, error) {
	r := releases[component]
	if s.manifest != nil {
		return s.mirrored(component, version, r.version)
	}
	if version == "" {
		version = r.version
	}
	a := archive{component: component, version: version,
		address: expand(r.dir+r.file, version, s.platform.Arch, s.platform.Packages),
		sums:    expand(r.dir+r.sums, version, s.platform.Arch, s.platform.Packages)}
	a.sha256, _ = digest(component, version, s.platform.Arch)
	return a, nil
}

func (s *source) mirrored(component, version, pinned string) (archive, error) {
	found, err := s.manifest.find(component, version, s.platform)
	if err != nil && version == "" {
		found, err = s.manifest.find(component, pinned, s.platform)
	}
	if err != nil {
		return archive{}, fmt.Errorf("mirror %s: %w", s.mirror, err)
	}
	a := archive{component: component, version: found.Version, sha256: found.SHA256}
	a.address = filepath.Join(s.mirror, found.File)
	if isAddress(s.mirror) {
		if a.address, err = url.JoinPath(s.mirror, found.File); err != nil {
			return archive{}, fmt.Errorf("make the address of %s: %w", found.File, err)
		}
	}
	return a, nil
}

// digest is what the file must have. It is the table's or the manifest's, or else what the vendor publishes.
func (a archive) digest(ctx context.Context) (string, error) {
	if a.sha256 != "" {
		return a.sha256, nil
	}
	sum, err := publishedSum(ctx, a.sums, filepath.Base(a.address))
	if err != nil {
		return "", fmt.Errorf("find the digest of %s %s: %w; is there such a version? Those known here are %v", a.component, a.version, err, known(a.component))
	}
	return sum, nil
}

// origin tells where the archive comes from and how it is verified.
func (a archive) origin() string {
	if a.sha256 == "" {
		return fmt.Sprintf("%s, verified by the vendor's %s", a.address, a.sums)
	}
	return fmt.Sprintf("%s, sha256 %s", a.address, a.sha256)
}
