// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/standin"
)

// gpuMount gives containers the lab's GPUs: NVIDIA's hook for Enroot knows its own alone.
const gpuMount = standin.GPUFilePath + ":" + standin.GPUFilePath

// TestEnroot measures two nodes from within containers of the login user's Enroot, which imports the image by itself.
func TestEnroot(t *testing.T) {
	t.Parallel()
	n := startEnroot(t)
	n.passes(t, inside(job.Container{Engine: job.Enroot, Image: n.image, Mounts: []string{gpuMount + ":ro", "/var/tmp:/scratch"}}))
	for node := range n.ids {
		until(t, "the end of all containers", func() bool {
			return n.as(t, node, "enroot list; pgrep 'all_reduce|orted|prted|mpirun|prterun' || :") == ""
		})
	}
}

// TestPyxis has Slurm run the ranks in containers.
func TestPyxis(t *testing.T) {
	t.Parallel()
	plugin := os.Getenv("PYXIS_PLUGIN")
	if plugin == "" {
		t.Skip("PYXIS_PLUGIN names no spank_pyxis.so, built for the Slurm of this machine")
	}
	n := startEnroot(t)
	tree := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "install", "-D", "-m", "644", plugin, filepath.Join(tree, "opt/pyxis/spank_pyxis.so")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n.plantTree(t, tree)
	n.plant(t, "/etc/slurm/plugstack.conf", "644", "root:root", "required /opt/pyxis/spank_pyxis.so\n")
	acctest.StartSlurm(t, n.lab, n.ids)
	_, run := n.passes(t, job.Benchmark{
		Launcher: job.LauncherSlurm,
		Slurm:    &job.Slurm{Image: "docker://" + n.image, MPI: job.SlurmPMIx, Mounts: []string{gpuMount}},
	})
	t.Log(run.Command)
}

// startEnroot has two nodes with Enroot, as its packages install it, and an image with nccl-tests in a registry without a password.
func startEnroot(t *testing.T) *nodes {
	t.Helper()
	tree := os.Getenv("ENROOT_TREE")
	if tree == "" {
		t.Skip("ENROOT_TREE names no folder that Enroot was installed into (make install DESTDIR=… prefix=/usr sysconfdir=/etc)")
	}
	n := start(t, job.Docker) // which is not set up
	n.plantTree(t, tree)
	n.runs(t, "setcap cap_sys_admin+pe /usr/bin/enroot-mksquashovlfs; setcap cap_sys_admin,cap_mknod+pe /usr/bin/enroot-aufs2ovlfs", "")
	n.runs(t, "loginctl enable-linger "+user+"; until test -d /run/user/$(id -u "+user+"); do sleep 0.1; done", "") // as a login with pam_systemd has it
	open := containertest.StartRegistry(t, n.lab, containertest.Credentials{})
	n.plant(t, "/etc/enroot/enroot.conf.d/lab.conf", "644", "root:root", "ENROOT_ALLOW_HTTP yes\n")
	n.image = open.Push(t, "team/nccl-tests:1", containertest.MPIImage(t))
	return n
}

// plantTree copies a folder of this machine's over the root of each node.
func (n *nodes) plantTree(t *testing.T, tree string) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "tree.tar")
	if out, err := exec.CommandContext(t.Context(), "tar", "-C", tree, "--owner=0", "--group=0", "-cf", archive, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, id := range n.ids {
		content, err := os.Open(archive)
		if err != nil {
			t.Fatal(err)
		}
		status, err := n.lab.ExecFiles(t.Context(), id, []string{"tar", "-C", "/", "--keep-directory-symlink", "-xf", "-"}, content, os.Stderr, os.Stderr)
		if err = errors.Join(err, content.Close()); err != nil || status != 0 {
			t.Fatalf("status %d, %v", status, err)
		}
	}
}
