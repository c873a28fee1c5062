// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// makeArchive writes a gzipped tar archive and gives its path and SHA-256.
func makeArchive(t *testing.T, path string, files map[string]string) (string, string) {
	t.Helper()
	var text bytes.Buffer
	zipped := gzip.NewWriter(&text)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if target, link := strings.CutPrefix(files[name], "->"); link {
			header.Typeflag, header.Linkname, header.Size = tar.TypeSymlink, target, 0
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := archive.Write([]byte(files[name])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, sha(text.Bytes())
}

func sha(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// No entry of an archive gets out of the directory, by its name or through a link before it.
func TestUnpackStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for name, files := range map[string]map[string]string{
		"name": {"../../escaped": "x"},
		"link": {"a": "->..", "a/escaped": "x"},
	} {
		top := t.TempDir()
		archive, _ := makeArchive(t, filepath.Join(top, "a.tgz"), files)
		got, _ := outcomes(t, Options{}, Unpack{Archive: archive, Dir: filepath.Join(top, "one/two")})
		if _, err := os.Stat(filepath.Join(top, "one/escaped")); err == nil {
			t.Errorf("%s: escaped (%s)", name, got)
		}
		if _, err := os.Stat(filepath.Join(top, "escaped")); err == nil {
			t.Errorf("%s: escaped (%s)", name, got)
		}
	}
}

// server gives a file, and breaks off or fails as the requests are told to.
type fileServer struct {
	content []byte
	lock    sync.Mutex
	answers []func(w http.ResponseWriter, r *http.Request) // for the first requests
	ranges  []string
}

func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	var answer func(http.ResponseWriter, *http.Request)
	if len(s.answers) > 0 {
		answer, s.answers = s.answers[0], s.answers[1:]
	}
	s.lock.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
}

func breakOff(content []byte, after int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:after])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func say(status int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func TestDownload(t *testing.T) {
	t.Parallel()
	needRoot(t)
	content := bytes.Repeat([]byte("0123456789"), 50000)
	other := bytes.Repeat([]byte("x"), 1000)
	for name, test := range map[string]struct {
		answers []func(http.ResponseWriter, *http.Request)
		part    []byte // what an earlier attempt left
		sum     string
		outcome string
		says    string
		ranges  string // asked for
	}{
		"plain":                {outcome: "changed"},
		"broken off":           {answers: []func(http.ResponseWriter, *http.Request){breakOff(content, 1000)}, outcome: "changed", ranges: "|bytes=1000-"},
		"server is busy":       {answers: []func(http.ResponseWriter, *http.Request){say(503)}, outcome: "changed", ranges: "|"},
		"goes on":              {part: content[:1234], outcome: "changed", ranges: "bytes=1234-"},
		"all was there":        {part: content, outcome: "changed", ranges: "bytes=500000-"},
		"another file's start": {part: other, outcome: "changed", ranges: "bytes=1000-|"},
		"another file, longer": {part: append(slices.Clone(content), 'x'), outcome: "changed", ranges: "bytes=500001-|"},
		"no ranges":            {part: other, answers: []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }}, outcome: "changed", ranges: "bytes=1000-"},
		"tampered":             {sum: sha(other), outcome: "failed", says: "wrong SHA-256"},
		"not there":            {answers: []func(http.ResponseWriter, *http.Request){say(404)}, outcome: "failed", says: "404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := &fileServer{content: content, answers: test.answers}
			server := httptest.NewServer(files)
			defer server.Close()
			d := Download{Ident{ID: "d"}, Place{Path: filepath.Join(t.TempDir(), "f"), Mode: 0o640, Owner: "nobody"}, server.URL + "/f", sha(content)}
			if test.sum != "" {
				d.SHA256 = test.sum
			}
			if test.part != nil {
				if err := os.WriteFile(d.temporary(), test.part, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, results := outcomes(t, Options{}, d)
			if got != test.outcome || !strings.Contains(results[0].Message, test.says) || got == "failed" && results[0].Advice == "" {
				t.Fatalf("%s: %+v", got, results[0])
			}
			if ranges := strings.Join(files.ranges, "|"); test.ranges != "" && ranges != test.ranges {
				t.Errorf("asked for %q", ranges)
			}
			if got == "changed" {
				if again, _ := outcomes(t, Options{}, d); again != "unchanged" {
					t.Errorf("again: %s", again)
				}
			} else if _, err := os.Stat(d.Path); err == nil {
				t.Error("what is refused is in place")
			}
			if _, err := os.Stat(d.temporary()); err == nil {
				t.Error("the part is left behind")
			}
		})
	}
}
