// SPDX-License-Identifier: MPL-2.0

// Package runnerbin holds the ocihpc-runner that the provider carries for its nodes.
package runnerbin

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// all: so that it compiles when make has not put the runners there.
//
//go:embed all:dist
var dist embed.FS

// MissingError says that this build carries no runner for an architecture.
type MissingError struct{ Arch string } // amd64, arm64

func (e *MissingError) Error() string {
	return fmt.Sprintf("this build of the provider carries no ocihpc-runner for linux/%s: build it with make, "+
		"or set runner_path to an ocihpc-runner", e.Arch)
}

// Open gives the runner for an architecture in Go's words, and its SHA-256 in hex. The error is
// *[MissingError] when this build does not carry it.
func Open(goarch string) (content []byte, sum string, err error) { return open(dist, goarch) }

func open(files fs.FS, goarch string) ([]byte, string, error) {
	compressed, err := fs.ReadFile(files, "dist/ocihpc-runner_linux_"+goarch+".gz")
	if err != nil {
		return nil, "", &MissingError{Arch: goarch}
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, "", fmt.Errorf("read the embedded runner for %s: %w", goarch, err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return nil, "", fmt.Errorf("read the embedded runner for %s: %w", goarch, err)
	}
	return content, sha256Hex(content), nil
}

// FromFile reads a runner from a file and gives what stands in for [Open]: it has the runner for that file's
// architecture alone.
func FromFile(path string) (func(goarch string) (content []byte, sum string, err error), error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the runner: %w", err)
	}
	arch, err := archOf(content)
	if err != nil {
		return nil, fmt.Errorf("%s is no runner for a node: %w", path, err)
	}
	sum := sha256Hex(content)
	return func(goarch string) ([]byte, string, error) {
		if goarch != arch {
			return nil, "", fmt.Errorf("%s is built for %s, but the node is %s", path, arch, goarch)
		}
		return content, sum, nil
	}, nil
}

// archOf reads the architecture from an ELF header: e_ident and e_machine, as in elf(5).
func archOf(content []byte) (string, error) {
	const class64, littleEndian, x8664, aarch64 = 2, 1, 62, 183
	if len(content) < 20 || string(content[:4]) != "\x7fELF" {
		return "", errors.New("not an ELF file")
	}
	if content[4] != class64 || content[5] != littleEndian {
		return "", errors.New("not a 64-bit little-endian ELF file")
	}
	switch machine := binary.LittleEndian.Uint16(content[18:]); machine {
	case x8664:
		return "amd64", nil
	case aarch64:
		return "arm64", nil
	default:
		return "", fmt.Errorf("for neither x86_64 nor aarch64 (ELF machine %d)", machine)
	}
}

func sha256Hex(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
