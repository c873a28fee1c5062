// SPDX-License-Identifier: MPL-2.0

package runnerbin

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := w.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"dist/ocihpc-runner_linux_amd64.gz": {Data: compressed.Bytes()},
		"dist/ocihpc-runner_linux_arm64.gz": {Data: compressed.Bytes()[:20]},
	}
	content, sum, err := open(files, "amd64")
	if err != nil || string(content) != "abc" || sum != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("open = %q, %q, %v", content, sum, err)
	}
	if _, _, err := open(files, "arm64"); err == nil {
		t.Error("a truncated runner was accepted")
	}
	var missing *MissingError
	if _, _, err := open(files, "riscv64"); !errors.As(err, &missing) || missing.Arch != "riscv64" || !strings.Contains(err.Error(), "runner_path") {
		t.Errorf("error = %v", err)
	}
}

// The embedded directory is there whether or not make has filled it.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	for _, arch := range []string{"amd64", "arm64"} {
		content, _, err := Open(arch)
		var missing *MissingError
		switch {
		case errors.As(err, &missing):
		case err != nil:
			t.Error(err)
		default:
			if found, err := archOf(content); err != nil || found != arch {
				t.Errorf("the runner for %s is for %q: %v", arch, found, err)
			}
		}
	}
}

func TestFromFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the test's own program is the ELF file")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	open, err := FromFile(self)
	if err != nil {
		t.Fatal(err)
	}
	content, sum, err := open(runtime.GOARCH)
	if err != nil || len(content) == 0 || len(sum) != 64 {
		t.Errorf("open: %d bytes, %q, %v", len(content), sum, err)
	}
	if _, _, err := open("riscv64"); err == nil || !strings.Contains(err.Error(), "riscv64") {
		t.Errorf("error for another architecture = %v", err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho a script is no runner\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{script, script + ".none"} {
		if _, err := FromFile(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("FromFile(%s) = %v", path, err)
		}
	}
}

func FuzzArchOf(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00"))
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, content []byte) {
		arch, err := archOf(content)
		if (err == nil) != (arch == "amd64" || arch == "arm64") {
			t.Errorf("archOf = %q, %v", arch, err)
		}
	})
}
