// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote/sshdtest"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)
	c := mustDial(t, to, nil)
	content := make([]byte, 5<<20)
	_, _ = rand.Read(content)
	const path = "a b/it's/$(runner)"
	file := filepath.Join(h.Home, path)

	put := func(path string, mode fs.FileMode, sum string, content []byte) error {
		return c.Upload(t.Context(), path, mode, int64(len(content)), sum, bytes.NewReader(content))
	}
	for name, tt := range map[string]struct {
		path string
		mode fs.FileMode
	}{
		"new": {path, 0o700}, "over it, narrower": {path, 0o600}, "absolute": {filepath.Join(h.Home, "absolute"), 0o600}, "dash": {"-n", 0o600},
	} {
		if err := put(tt.path, tt.mode, sha256Hex(content), content); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		file := tt.path
		if !filepath.IsAbs(file) {
			file = filepath.Join(h.Home, file)
		}
		if readFile(t, file) != string(content) {
			t.Errorf("%s: the content is another", name)
		}
		checkMode(t, file, tt.mode)
	}
	checkMode(t, filepath.Join(h.Home, "a b"), 0o700)
	checkMode(t, filepath.Join(h.Home, "a b", "it's"), 0o700)

	// What arrives is not what was meant: the old file stays, and nothing else.
	var exit *ExitError
	if err := put(path, 0o600, sha256Hex([]byte("x")), []byte("y")); !errors.As(err, &exit) || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("altered content: %v", err)
	}
	err := c.Upload(t.Context(), path, 0o600, 10, sha256Hex([]byte("x")), strings.NewReader("x"))
	if !errors.As(err, &exit) || !strings.Contains(err.Error(), "received 1 of 10 bytes") {
		t.Errorf("short content: %v", err)
	}
	if err := put(path, 0o644, sha256Hex(content), content); err == nil {
		t.Error("mode 0644 was accepted")
	}
	if err := put("a b/it's", 0o600, sha256Hex(content), content); err == nil {
		t.Error("a directory was overwritten")
	}
	if readFile(t, file) != string(content) {
		t.Error("a refused upload changed the file")
	}
	noneBeside(t, file)
}

// An upload that is cut off leaves neither the file nor a part of it.
func TestUploadCut(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"connection", "context"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h, to := startHost(t)
			proxy := sshdtest.NewProxy(t, h)
			to.Address = proxy.Address
			c := mustDial(t, to, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			dir := filepath.Join(h.Home, "dir")
			endless := io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), readerFunc(func([]byte) (int, error) {
				eventually(t, "a part of the file", func() bool {
					entries, _ := os.ReadDir(dir)
					return len(entries) > 0
				})
				if how == "connection" {
					proxy.Cut()
				}
				if how == "context" {
					cancel()
				}
				<-t.Context().Done()
				return 0, io.EOF
			}))
			err := c.Upload(ctx, "dir/file", 0o600, 2<<20, sha256Hex(nil), endless)
			if how == "connection" && !errors.Is(err, ErrTransportLost) || how == "context" && !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v", err)
			}
			eventually(t, "the end of the remains", func() bool {
				entries, _ := os.ReadDir(dir)
				return len(entries) == 0
			})
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// noneBeside checks that a file is alone in its directory.
func noneBeside(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside %s: %v, %v", file, entries, err)
	}
}

func TestEnsureRunner(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)
	proxy := sshdtest.NewProxy(t, h)
	to.Address = proxy.Address
	c := mustDial(t, to, nil)
	var asked []string
	runners := func(content string) Runners {
		return func(goarch string) ([]byte, string, error) {
			asked = append(asked, goarch)
			return []byte(content), sha256Hex([]byte(content)), nil
		}
	}
	path, err := EnsureRunner(t.Context(), c, runners("#!/bin/sh\necho one\n"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.Home, path)
	checkMode(t, file, 0o700)
	if want := ".ocihpc/bin/ocihpc-runner-" + sha256Hex([]byte("#!/bin/sh\necho one\n"))[:16]; path != want {
		t.Errorf("path %q, want %q", path, want)
	}
	out, err := c.Output(t.Context(), "cd && "+path)
	if err != nil || string(out) != "one\n" {
		t.Errorf("it ran as %q, %v", out, err)
	}

	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureRunner(t.Context(), c, runners("#!/bin/sh\necho one\n")); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("the same runner was uploaded again: %v", err)
	}
	if err := os.WriteFile(file, []byte("tampered"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureRunner(t.Context(), c, runners("#!/bin/sh\necho one\n")); err != nil || readFile(t, file) == "tampered" {
		t.Errorf("a changed runner was kept: %v", err)
	}
	if other, err := EnsureRunner(t.Context(), c, runners("#!/bin/sh\necho two\n")); err != nil || other == path {
		t.Errorf("another runner: %q, %v", other, err)
	}
	for _, arch := range asked {
		if arch != "amd64" && arch != "arm64" {
			t.Errorf("asked for %q", arch)
		}
	}
	none := errors.New("none here")
	if _, err := EnsureRunner(t.Context(), c, func(string) ([]byte, string, error) { return nil, "", none }); !errors.Is(err, none) {
		t.Errorf("without a runner: %v", err)
	}
}
