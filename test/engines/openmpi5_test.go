// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/standin"
)

// TestOpenMPI5 has the ranks started by Open MPI 5, of an image with a newer distribution than this machine's.
func TestOpenMPI5(t *testing.T) {
	root := os.Getenv("OPEN_MPI_5_ROOT")
	if root == "" {
		t.Skip("OPEN_MPI_5_ROOT names no root of a distribution with Open MPI 5 and its compiler (debootstrap --include openmpi-bin,libopenmpi-dev,gcc trixie)")
	}
	n := start(t, job.Docker)
	n.image = n.registry.Push(t, "team/nccl-tests:5", openMPI5Image(t, root))
	want := n.base
	want.Images = []string{n.image}
	want.Versions = map[string]string{"docker": "26.1.5"}
	passes(t, n.setUp(t, want))
	result, _ := n.passes(t, inside(job.Container{Engine: job.Docker, Image: n.image}))
	for _, node := range result.Nodes {
		if version := node.Facts.OpenMPIVersion; !strings.HasPrefix(version, "5.") {
			t.Errorf("%s has Open MPI %s", node.Name, version)
		}
	}
	n.noContainers(t, "docker")
	t.Run("killed", func(t *testing.T) { n.killed(t, job.Container{Engine: job.Docker, Image: n.image}, "docker") })
}

// openMPI5Image is the distribution, with nccl-tests that its own compiler has made.
func openMPI5Image(t *testing.T, root string) v1.Image {
	t.Helper()
	scratch, err := os.MkdirTemp(filepath.Join(root, "tmp"), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	wrapper := fmt.Sprintf("#!/bin/bash\nexec chroot %[1]s mpicc \"${@#%[1]s}\"\n", root)
	if err := os.WriteFile(filepath.Join(scratch, "mpicc"), []byte(wrapper), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	t.Setenv("PATH", scratch+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", scratch)
	build := filepath.Join(root, containertest.TestsDir)
	if err := os.MkdirAll(build, 0o755); err != nil { // #nosec G301 -- of an image
		t.Fatal(err)
	}
	if err := standin.Build(t.Context(), build); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return treeArchive(t.Context(), root) })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(containertest.Image(t, 0), layer)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// treeArchive gives a tar archive of a root without what only compilers need.
func treeArchive(ctx context.Context, root string) (io.ReadCloser, error) {
	cmd := exec.CommandContext(ctx, "tar", "-C", root, "--exclude=./tmp/*", "--exclude=./dev/*", "--exclude=./usr/lib/gcc", "--exclude=./usr/libexec", "--exclude=./usr/include", "--exclude=*.a", "-cf", "-", ".")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return out, cmd.Start()
}
