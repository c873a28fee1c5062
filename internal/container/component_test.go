// SPDX-License-Identifier: MPL-2.0

package container

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// archiveOf makes a compressed tar file.
func archiveOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var text bytes.Buffer
	zipped := gzip.NewWriter(&text)
	w := tar.NewWriter(zipped)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// mirrorOf is a mirror with one archive.
func mirrorOf(t *testing.T, component, version string, content []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	file := component + "-" + version + ".tar.gz"
	if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
		t.Fatal(err)
	}
	m := Manifest{Files: []Artifact{{Component: component, Version: version, OS: "linux", Arch: "amd64", File: file, SHA256: hexSum(content)}}}
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSource(t *testing.T) {
	t.Parallel()
	content := archiveOf(t, map[string]string{"bin/containerd": "one"})
	dir := mirrorOf(t, compContainerd, "2.2.0", content)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	for _, mirror := range []string{dir, server.URL} {
		s, err := newSource(t.Context(), mirror, debian12)
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.of(compContainerd, "") // the mirror's only one, not the pinned one
		if err != nil || a.version != "2.2.0" || a.sha256 != hexSum(content) || !strings.HasPrefix(a.address, mirror) {
			t.Errorf("archive is %+v, %v", a, err)
		}
		if _, err := s.of(compContainerd, "2.2.1"); err == nil || !strings.Contains(err.Error(), "but 2.2.0") {
			t.Errorf("error of a version that the mirror lacks is %v", err)
		}
		if _, err := s.of(compRunc, ""); err == nil || !strings.Contains(err.Error(), "no runc") {
			t.Errorf("error of a component that the mirror lacks is %v", err)
		}
	}
}

// TestComponent installs, changes and repairs a component in a folder.
func TestComponent(t *testing.T) {
	t.Parallel()
	bin, state := t.TempDir(), t.TempDir()
	record, err := readRecord(filepath.Join(state, "container.json"))
	if err != nil {
		t.Fatal(err)
	}
	place := layout{to: bin, strip: 1}
	step := func(version string, files map[string]string) component {
		content := archiveOf(t, files)
		s, err := newSource(t.Context(), mirrorOf(t, compContainerd, version, content), debian12)
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.of(compContainerd, version)
		if err != nil {
			t.Fatal(err)
		}
		return component{archive: a, record: record, layout: &place, downloads: state}
	}
	must := func(c component, done bool) {
		t.Helper()
		if state, err := c.Check(t.Context()); err != nil || state.Done != done {
			t.Fatalf("%s: %+v, %v", c.Title(), state, err)
		}
	}
	first := step("2.2.0", map[string]string{"bin/containerd": "one", "bin/gone-later": "x", "README.md": "-", "bin/deep/er": "-"})
	must(first, false)
	if err := first.Apply(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	must(first, true)
	entries, _ := os.ReadDir(bin)
	if len(entries) != 2 {
		t.Errorf("%v were installed", entries)
	}
	if err := os.WriteFile(filepath.Join(bin, "containerd"), []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(first, false)

	second := step("2.2.1", map[string]string{"bin/containerd": "two"})
	must(second, false)
	if err := second.Apply(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	must(second, true)
	if text, _ := os.ReadFile(filepath.Join(bin, "containerd")); string(text) != "two" {
		t.Errorf("containerd is %q", text)
	}
	if _, err := os.Stat(filepath.Join(bin, "gone-later")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a program that the new version does not have is still there")
	}
	again, err := readRecord(record.path) // as another run finds it
	if err != nil || again.find(KindComponent, compContainerd, "").Version != "2.2.1" {
		t.Errorf("record is %+v, %v", again, err)
	}

	tampered := step("2.2.2", map[string]string{"bin/containerd": "three"})
	if err := os.WriteFile(tampered.archive.address, []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = tampered.Apply(t.Context(), io.Discard)
	if !errors.Is(err, setup.ErrDigest) || !strings.Contains(err.Error(), hexSum([]byte("evil"))) || !strings.Contains(err.Error(), tampered.archive.sha256) {
		t.Errorf("a tampered archive gives %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(bin, "containerd")); string(text) != "two" {
		t.Errorf("a tampered archive was installed: %q", text)
	}
}

// TestPublishedDigest reads the digest of a version that the table lacks from the vendor's list.
func TestPublishedDigest(t *testing.T) {
	t.Parallel()
	content := []byte("a program")
	mux := http.NewServeMux()
	mux.HandleFunc("/sums", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("0", 64)+"  other\n"+strings.ToUpper(hexSum(content))+" *./x.tgz\n")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	a := archive{component: compRunc, version: "9.9.9", address: server.URL + "/x.tgz", sums: server.URL + "/sums"}
	if sum, err := a.digest(t.Context()); err != nil || sum != hexSum(content) {
		t.Errorf("digest is %s, %v", sum, err)
	}
	a.sums = server.URL + "/nowhere"
	if _, err := a.digest(t.Context()); err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "1.3.6") {
		t.Errorf("error of a version that the vendor does not have is %v", err)
	}
}

func TestSumIn(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	for list, want := range map[string]string{
		sum + "  file\n":           sum,
		sum + " *file":             sum,
		sum + "  dir/file\n":       sum,
		sum + "  file.asc\n":       "",
		"not a digest  file\n":     "",
		strings.Repeat("a", 64):    "",
		"# x\n\n" + sum + "  file": sum,
	} {
		if got := sumIn(list, "file"); got != want {
			t.Errorf("%q gives %q", list, got)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"files":[{"component":"runc","version":"1","os":"linux","arch":"amd64","file":"../x","sha256":"00"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest(text)
		if err != nil {
			return
		}
		for _, a := range m.Files {
			if !filepath.IsLocal(a.File) || len(a.SHA256) != 64 {
				t.Errorf("%+v was taken", a)
			}
		}
	})
}
