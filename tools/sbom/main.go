// SPDX-License-Identifier: MPL-2.0

// Command sbom writes what a Go program consists of, as the linker recorded it in the binary, as a CycloneDX 1.6
// document (cyclonedx.org/docs/1.6/json). It is part of `make release`:
//
//	sbom VERSION BINARY DOCUMENT [EMBEDDED.gz ...]
//
// The same binary always gives the same document. Compressed programs that the binary embeds, as the provider does the
// runners of internal/runnerbin, are components with components of their own; those that it does not are left out.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

type document struct {
	BOMFormat    string      `json:"bomFormat"`
	SpecVersion  string      `json:"specVersion"`
	SerialNumber string      `json:"serialNumber"`
	Version      int         `json:"version"`
	Metadata     metadata    `json:"metadata"`
	Components   []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string      `json:"type"`
	BOMRef     string      `json:"bom-ref"`
	Name       string      `json:"name"`
	Version    string      `json:"version"`
	PURL       string      `json:"purl,omitempty"`
	Hashes     []hash      `json:"hashes,omitempty"`
	Components []component `json:"components,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom VERSION BINARY DOCUMENT [EMBEDDED.gz ...]")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(version, binary, to string, embedded []string) error {
	content, err := os.ReadFile(binary) // #nosec G703 -- named by the release
	if err != nil {
		return err
	}
	program, err := describe(filepath.Base(binary), version, content)
	if err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	components := program.Components
	program.Components = nil
	for _, path := range embedded {
		part, err := describeEmbedded(path, version, content)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		components = append(components, part...)
	}
	text, err := json.MarshalIndent(document{
		BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1,
		SerialNumber: uuid.NewSHA1(uuid.NameSpaceOID, content).URN(),
		Metadata:     metadata{program}, Components: components,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644) // #nosec G306 G703 -- it is published, and named by the release
}

// describeEmbedded describes a compressed program, or nothing when it is not inside the content.
func describeEmbedded(path, version string, inside []byte) ([]component, error) {
	compressed, err := os.ReadFile(path) // #nosec G703 -- named by the release
	if err != nil || !bytes.Contains(inside, compressed) {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	part, err := describe(strings.TrimSuffix(filepath.Base(path), ".gz"), version, content)
	return []component{part}, err
}

// describe lists a program's modules, Go's standard library among them.
func describe(name, version string, content []byte) (component, error) {
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return component{}, err
	}
	sum := sha256.Sum256(content)
	program := component{
		Type: "application", BOMRef: name, Name: name, Version: version,
		PURL:   "pkg:golang/" + info.Main.Path + "@v" + version + "#" + strings.TrimPrefix(strings.TrimPrefix(info.Path, info.Main.Path), "/"),
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
	}
	program.PURL = strings.TrimSuffix(program.PURL, "#") // the package below the module, if it is not its root
	library := func(module, version string) {
		purl := "pkg:golang/" + module + "@" + version
		program.Components = append(program.Components,
			component{Type: "library", BOMRef: name + " " + purl, Name: module, Version: version, PURL: purl})
	}
	library("stdlib", strings.TrimPrefix(info.GoVersion, "go"))
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		library(module.Path, module.Version)
	}
	return program, nil
}
