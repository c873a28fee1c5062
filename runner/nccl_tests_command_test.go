// SPDX-License-Identifier: MPL-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/standin"
)

// sourceArchive is a small nccl-tests: the lab's all_reduce_perf, with a Makefile of the same form. It stands for one that
// a compiler for GPUs would build.
func sourceArchive(t *testing.T, makefile string) []byte {
	t.Helper()
	files := map[string]string{"Makefile": makefile}
	const folder = "../internal/labhost/standin/src"
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		source, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files["src/"+entry.Name()] = string(source)
	}
	var text bytes.Buffer
	zipped := gzip.NewWriter(&text)
	archive := tar.NewWriter(zipped)
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "nccl-tests-1.0/" + name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

const goodMakefile = `
ifneq ($(MPI),1)
$(error it must be built with MPI=1)
endif
all:
	@test -f "$(MPI_HOME)/include/mpi.h"
	@mkdir -p build
	mpicc -std=gnu11 -O2 $(CFLAGS_OF_USER) -o build/all_reduce_perf src/all_reduce_perf.c -lm
`

// serveArchive serves an archive, and counts how often it is fetched.
func serveArchive(t *testing.T, content []byte) (job.NCCLTestsSource, *atomic.Int64) {
	t.Helper()
	var fetched atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256(content)
	return job.NCCLTestsSource{ArchiveURL: server.URL + "/nccl-tests-1.0.tar.gz", SHA256: hex.EncodeToString(sum[:]), Always: true}, &fetched
}

// One node builds, the others get what it built, and the next job builds nothing.
func TestNCCLTestsAreBuiltOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, "env", "HOME=/run/ocihpc/home") // which each node has for itself, as users' homes are on real ones
	c.mkdir(filepath.Join(c.run0, "home"), filepath.Join(c.home, "run-2", "home"))
	c.env = append(c.env, "HOME=/run/ocihpc/home")
	source, fetched := serveArchive(t, sourceArchive(t, goodMakefile))
	source.Make = map[string]string{"CFLAGS_OF_USER": "-DBUILT_BY_TEST"}
	c.job.Benchmark.NCCLTestsSource = &source
	key, builds := "", int64(1)
	for i := range 2 {
		c.giveKey()
		result, status := c.run()
		if status != 0 {
			t.Fatalf("status %d: %+v", status, result.Failure)
		}
		all := result.Overall()
		if all == nil || len(all.Report.Ranks) != 2*gpusPerNode {
			t.Fatalf("%+v", all)
		}
		for _, node := range result.Nodes {
			key = filepath.Base(filepath.Dir(node.Facts.NCCLTests))
			if !strings.Contains(node.Facts.NCCLTests, ".ocihpc/nccl-tests/") || !strings.Contains(strings.Join(all.Command, " "), key+"/"+standin.AllReducePerf) {
				t.Errorf("run %d: %s has them in %s, and it ran %q", i, node.Name, node.Facts.NCCLTests, all.Command)
			}
		}
		for _, e := range c.attach() { // on a busy machine a node may not wait for another
			if e.Phase == job.PhasePrepare && strings.Contains(e.Message, "built here, too, because") {
				t.Log(e.Message)
				builds++
			}
		}
		if fetched.Load() != builds {
			t.Errorf("run %d: the source was fetched %d times", i, fetched.Load())
		}
	}
	left, _ := filepath.Glob(filepath.Join(c.home, "run-*", "home", ".ocihpc", "nccl-tests", "*"))
	if len(left) != 2 || filepath.Base(left[0]) != key || filepath.Base(left[1]) != key {
		t.Fatalf("left of the build: %q", left)
	}
	// What was changed since is not what was built.
	c.write(filepath.Join(left[0], standin.AllReducePerf), "#!/bin/sh\nexit 0\n", 0o755)
	c.giveKey()
	if result, status := c.run(); status != 0 || fetched.Load() != 1 { // the other node has them still
		t.Errorf("status %d after %d fetches: %+v", status, fetched.Load(), result.Failure)
	}
}

func TestNCCLTestsThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		makefile string
		change   func(*job.NCCLTestsSource)
		message  string
		advice   string
	}{
		"another archive": {goodMakefile, func(s *job.NCCLTestsSource) { s.SHA256 = strings.Repeat("0a", 32) }, "wrong SHA-256", "it was changed on its way or at its source"},
		"no compiler":     {"all:\n\tnvcc -c x.cu\n", func(*job.NCCLTestsSource) {}, "nvcc: ", "install the CUDA toolkit"},
		"the code":        {"all:\n\tmpicc -o build/x -include nothing.h src/all_reduce_perf.c\n", func(*job.NCCLTestsSource) {}, "nothing.h: No such file", "see the compiler's messages"},
		"no repository": {goodMakefile, func(s *job.NCCLTestsSource) {
			*s = job.NCCLTestsSource{GitURL: "http://127.0.0.1:1/x", GitRef: "v1", Always: true}
		}, "get v1 of http://127.0.0.1:1/x", "whether the node reaches the server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1)
			source, _ := serveArchive(t, sourceArchive(t, test.makefile))
			test.change(&source)
			c.job.Benchmark.NCCLTestsSource = &source
			result, status := c.run()
			if status != 2 || result.Failure == nil || result.Failure.Kind != "nccl_tests_not_built" || !strings.Contains(result.Failure.Message, test.message) || !strings.Contains(result.Failure.Advice, test.advice) {
				t.Errorf("status %d: %+v", status, result.Failure)
			}
		})
	}
}

// Where there are some, nothing is fetched and built.
func TestNCCLTestsThatAreThere(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	source, fetched := serveArchive(t, sourceArchive(t, goodMakefile))
	source.Always = false
	c.job.Benchmark.NCCLTestsSource = &source
	if result, status := c.run(); status != 0 || fetched.Load() != 0 || result.Nodes[0].Facts.NCCLTests != filepath.Join(testsDir, standin.AllReducePerf) {
		t.Errorf("status %d, fetched %d times: %+v", status, fetched.Load(), result.Failure)
	}
}
