// SPDX-License-Identifier: MPL-2.0

package ncclbuild

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func archiveOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// What comes from another node is programs of plain names, and nothing else.
func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]tar.Header{
		"a way out":      {Typeflag: tar.TypeReg, Name: "../all_reduce_perf", Size: 1},
		"a folder":       {Typeflag: tar.TypeDir, Name: "all_reduce_perf"},
		"a link":         {Typeflag: tar.TypeSymlink, Name: "all_reduce_perf", Linkname: "/etc/shadow"},
		"a subdirectory": {Typeflag: tar.TypeReg, Name: "a/b", Size: 1},
	} {
		dir := t.TempDir()
		if err := unpack(bytes.NewReader(archiveOf(t, header)), dir); !errors.Is(err, ErrOther) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("%s left %q", name, left)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(archiveOf(f, tar.Header{Typeflag: tar.TypeReg, Name: "all_reduce_perf", Mode: 0o755, Size: 3}))
	f.Fuzz(func(t *testing.T, text []byte) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = unpack(bytes.NewReader(text), dir) // whatever it says
		if left, _ := filepath.Glob(filepath.Join(outer, "*")); len(left) != 1 {
			t.Errorf("it wrote outside of its folder: %q", left)
		}
	})
}

// The identity is that of all programs; one that was changed since is no longer what was built.
func TestFindNoticesChanges(t *testing.T) {
	t.Parallel()
	r := Request{Dir: t.TempDir(), Key: "0a"}
	build := t.TempDir()
	for _, name := range []string{"all_reduce_perf", "sendrecv_perf"} {
		if err := os.WriteFile(filepath.Join(build, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	place, err := r.Place()
	if err != nil {
		t.Fatal(err)
	}
	built, err := install(build, place)
	if err != nil || len(built) != 64 {
		t.Fatalf("%q, %v", built, err)
	}
	if found, err := r.Find(); err != nil || found != built {
		t.Errorf("%q, %v", found, err)
	}
	var given bytes.Buffer
	if err := r.Give(t.Context(), &given); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "0a")
	if taken, err := replace(other, func(dir string) error { return unpack(&given, dir) }); err != nil || taken != built {
		t.Errorf("%q, %v", taken, err)
	}
	if err := os.WriteFile(filepath.Join(place, "sendrecv_perf"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := r.Find(); err != nil || found != "" {
		t.Errorf("%q, %v", found, err)
	}
	if none, err := (Request{Dir: r.Dir, Key: "0b"}).Find(); err != nil || none != "" {
		t.Errorf("%q, %v", none, err)
	}
}

func TestKeyHasAllThatGoesIn(t *testing.T) {
	t.Parallel()
	s := job.NCCLTestsSource{GitURL: "https://a.b/c", GitRef: "v1", Make: map[string]string{"CUDA_HOME": "/x"}}
	keys := map[string]bool{}
	always, other := s, s
	always.Always = true
	other.Make = map[string]string{"CUDA_HOME": "/y"}
	for _, key := range []string{s.Key("x86_64", "4.1.4", ""), s.Key("aarch64", "4.1.4", ""), s.Key("x86_64", "5.0.3", ""), s.Key("x86_64", "4.1.4", "image:1"), other.Key("x86_64", "4.1.4", "")} {
		keys[key] = true
	}
	if len(keys) != 5 {
		t.Errorf("%d keys of 5 builds", len(keys))
	}
	if always.Key("x86_64", "4.1.4", "") != s.Key("x86_64", "4.1.4", "") {
		t.Error("when it is built is no part of what is built")
	}
}

func TestAdviceForABuild(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"make: nvcc: No such file or directory":             "CUDA toolkit",
		"fatal error: nccl.h: No such file or directory":    "NCCL's headers",
		"/usr/bin/ld: cannot find -lmpi":                    "Open MPI's headers",
		"nvcc fatal : Unsupported gpu architecture 'x'":     "NVCC_GENCODE",
		"error: expected ';' before '}' token in common.cu": "compiler's messages",
	} {
		if got := adviceFor(errors.New("exit status 2"), said); !strings.Contains(got, want) {
			t.Errorf("%q: %s", said, got)
		}
	}
}
