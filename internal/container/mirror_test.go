// SPDX-License-Identifier: MPL-2.0

package container

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// TestMakeMirror makes a mirror from another, over HTTP, and from its own files again.
func TestMakeMirror(t *testing.T) {
	t.Parallel()
	from, dir := t.TempDir(), t.TempDir()
	var all Manifest
	for _, packages := range []string{"deb", "rpm"} {
		file, content := packages+".tar.gz", archiveOf(t, map[string]string{packages: "x"})
		if err := os.WriteFile(filepath.Join(from, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
		all.Files = append(all.Files, Artifact{Component: compToolkit, Version: "1.18.2", OS: "linux", Arch: "arm64", Packages: packages, File: file, SHA256: hexSum(content)})
	}
	if err := all.Write(from); err != nil {
		t.Fatal(err)
	}
	requests := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests[r.URL.Path]++
		http.FileServer(http.Dir(from)).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	o := MirrorOptions{Engines: []job.Engine{job.Podman, job.Docker}, Archs: []string{"arm64"}, Packages: []string{"deb", "rpm"}, From: server.URL, Output: io.Discard}
	for range 2 {
		if _, err := MakeMirror(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
	}
	if requests["/deb.tar.gz"] != 1 || requests["/rpm.tar.gz"] != 1 {
		t.Errorf("requests: %v", requests)
	}
	s, err := newSource(t.Context(), dir, Platform{Arch: "arm64", Packages: "rpm"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.of(compToolkit, "")
	if err != nil || filepath.Base(a.address) != "rpm.tar.gz" {
		t.Fatalf("archive is %+v, %v", a, err)
	}
	if sum, err := sumOf(a.address); err != nil || sum != a.sha256 {
		t.Errorf("the file has %s, %v", sum, err)
	}
	o.Engines = []job.Engine{job.Containerd}
	if _, err := MakeMirror(t.Context(), dir, o); err == nil || !strings.Contains(err.Error(), "bypass4netns for linux/arm64") {
		t.Errorf("error of what the other mirror lacks is %v", err)
	}
}
