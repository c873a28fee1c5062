// SPDX-License-Identifier: MPL-2.0

package containertest

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/standin"
)

// TestsDir is where an image of [MPIImage] has nccl-tests.
const TestsDir = "/opt/nccl-tests/build"

// fabrics are plugins of Open MPI for networks that no lab has; their libraries are large.
var fabrics = regexp.MustCompile(`ofi|psm|ucx|openib|usnic|portals|hcoll|cuda`)

// MPIImage makes an image with this machine's Open MPI and make, and the lab's all_reduce_perf.
func MPIImage(t testing.TB) v1.Image {
	t.Helper()
	dir := t.TempDir()
	if err := standin.Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{TestsDir + "/" + standin.AllReducePerf: filepath.Join(dir, standin.AllReducePerf)} // in the image: here
	for _, program := range []string{"mpirun", "orted", "make"} {
		found, err := exec.LookPath(program)
		if err != nil {
			t.Skip(err)
		}
		if files["/usr/bin/"+program], err = filepath.EvalSymlinks(found); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{"/usr/lib/*-linux-gnu/openmpi/lib/openmpi3/*.so", "/usr/lib/*-linux-gnu/pmix2/lib/pmix/*.so", "/usr/share/openmpi/*", "/usr/share/pmix*/*", "/etc/openmpi/*", "/etc/pmix*/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && !fabrics.MatchString(filepath.Base(file)) {
				files[file] = file
			}
		}
	}
	for _, file := range libraries(t, files) {
		files[file] = file
	}
	image, err := mutate.AppendLayers(Image(t, 0), fileLayer(t, files))
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.Config.Env = append(config.Config.Env, "OMPI_MCA_mca_base_component_show_load_errors=0")
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

var libraryLine = regexp.MustCompile(`(?m)^\s+(?:\S+ => )?(/\S+) \(0x`)

// libraries are all that programs and libraries are linked with.
func libraries(t testing.TB, files map[string]string) []string {
	t.Helper()
	arguments := []string{}
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && bytes.HasPrefix(content, []byte("\x7fELF")) { // #nosec G304 -- a test's
			arguments = append(arguments, file)
		}
	}
	text, err := exec.CommandContext(t.Context(), "ldd", arguments...).Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var all []string
	for _, match := range libraryLine.FindAllStringSubmatch(string(text), -1) {
		if !seen[match[1]] {
			seen[match[1]] = true
			all = append(all, match[1])
		}
	}
	return all
}

func fileLayer(t testing.TB, files map[string]string) v1.Layer {
	t.Helper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for name, file := range files {
		content, err := os.ReadFile(file) // #nosec G304 -- a test's
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/bin/env", Linkname: "/bin/busybox"}); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return layer
}
