// SPDX-License-Identifier: MPL-2.0

// Package ncclbuild builds nccl-tests on a node, from an archive or a repository, into a folder that is named by all that went
// into it, and hands what was built to other nodes.
package ncclbuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// Request says what to build.
type Request struct {
	job.NCCLTestsSource
	// Key of what is built; it names the folder.
	Key string `json:"key"`
	// Dir holds the folders; empty is [DefaultDir].
	Dir string `json:"dir,omitempty"`
	// OpenMPIBin is the folder of mpirun where the build runs.
	OpenMPIBin string `json:"open_mpi_bin,omitempty"`
}

// Validate finds what is wrong with the request.
func (r Request) Validate() error {
	err := r.NCCLTestsSource.Validate()
	if r.Key == "" || strings.Trim(r.Key, "0123456789abcdef") != "" {
		err = errors.Join(err, fmt.Errorf("the key %q is none", r.Key))
	}
	return err
}

// DefaultDir is where a login user has what was built.
func DefaultDir() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home directory: %w", err)
	}
	return filepath.Join(home, job.Root, "nccl-tests"), nil
}

// Place is the folder of what is built.
func (r Request) Place() (string, error) {
	dir, err := r.root()
	return filepath.Join(dir, r.Key), err
}

func (r Request) root() (string, error) {
	if r.Dir != "" {
		return r.Dir, nil
	}
	return DefaultDir()
}

// sources is where the source is while it is built.
func (r Request) sources() (string, error) {
	dir, err := r.root()
	return filepath.Join(dir, r.Key+".src"), err
}

// Fetch gets the source, in place of any that is left from before.
func (r Request) Fetch(ctx context.Context, log io.Writer) error {
	dir, err := r.sources()
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil { // #nosec G301 -- a container's user reads it, too
		return fmt.Errorf("make a folder for the source: %w", err)
	}
	if r.GitURL != "" {
		return r.clone(ctx, dir, log)
	}
	self, err := user.Current()
	if err != nil {
		return fmt.Errorf("find out who we are: %w", err)
	}
	archive := dir + ".tar"
	defer func() { _ = os.Remove(archive) }()
	download := setup.Download{Ident: setup.Ident{ID: "nccl-tests"}, Place: setup.Place{Path: archive, Mode: 0o600, Owner: self.Username}, Source: r.ArchiveURL, SHA256: r.SHA256}
	if err := download.Apply(ctx, log); err != nil {
		return fmt.Errorf("get the source of nccl-tests: %w", err)
	}
	if err := (setup.Unpack{Archive: archive, Dir: dir, Owner: self.Username}).Apply(ctx, log); err != nil {
		return fmt.Errorf("unpack the source of nccl-tests: %w", err)
	}
	return nil
}

func (r Request) clone(ctx context.Context, dir string, log io.Writer) error {
	for _, args := range [][]string{{"init", "--quiet"}, {"fetch", "--quiet", "--depth", "1", r.GitURL, r.GitRef}, {"-c", "advice.detachedHead=false", "checkout", "--quiet", "FETCH_HEAD"}} {
		_, err := setup.Program{Argv: append([]string{"git", "-C", dir}, args...), Env: []string{"GIT_TERMINAL_PROMPT=0"}}.Run(ctx, log)
		if errors.Is(err, exec.ErrNotFound) {
			return setup.Advise(fmt.Errorf("get the source of nccl-tests: git is not installed: %w", err), "install git on the first node, or name an archive")
		}
		if err != nil {
			return setup.Advise(fmt.Errorf("get %s of %s: %w", r.GitRef, r.GitURL, err), "see whether the node reaches the server, and whether there is such a tag, branch or commit")
		}
	}
	return nil
}

// Build builds what was fetched, and puts the programs into their place, with their digests. It gives their identity.
func (r Request) Build(ctx context.Context, log io.Writer) (string, error) {
	dir, err := r.sources()
	if err != nil {
		return "", err
	}
	makefile, err := findMakefile(dir)
	if err != nil {
		return "", err
	}
	argv := []string{"make", "-C", filepath.Dir(makefile), "-j" + strconv.Itoa(runtime.NumCPU())}
	for _, name := range slices.Sorted(maps.Keys(r.variables(ctx))) {
		argv = append(argv, name+"="+r.variables(ctx)[name])
	}
	defer func() { _ = os.RemoveAll(dir) }() // what root has built in a container is nobody else's to remove
	var said tail
	began := time.Now()
	_, err = setup.Program{Argv: argv}.Run(ctx, io.MultiWriter(log, &said))
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", setup.Advise(fmt.Errorf("build nccl-tests by %s: %w\n%s", strings.Join(argv, " "), err, said.lines()), adviceFor(err, said.text))
	}
	_, _ = fmt.Fprintf(log, "built in %s\n", time.Since(began).Round(time.Second)) // only a log
	place, err := r.Place()
	if err != nil {
		return "", err
	}
	return install(filepath.Join(filepath.Dir(makefile), "build"), place)
}

// findMakefile looks at the top, and one folder below, as archives of releases have it.
func findMakefile(dir string) (string, error) {
	for _, pattern := range []string{"Makefile", "*/Makefile"} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
			return found[0], nil
		}
	}
	return "", setup.Advise(fmt.Errorf("the source has no Makefile: %w", fs.ErrNotExist), "name the archive or the repository of nccl-tests itself")
}

// variables of the Makefile: those of the user, and else those that any node needs.
func (r Request) variables(ctx context.Context) map[string]string {
	all := map[string]string{"MPI": "1"}
	if home := mpiHome(ctx, r.OpenMPIBin); home != "" {
		all["MPI_HOME"] = home
	}
	maps.Copy(all, r.Make)
	return all
}

// mpiHome is the folder that has include/mpi.h and lib of an Open MPI; empty when nobody knows.
func mpiHome(ctx context.Context, bin string) string {
	var candidates []string
	if text, err := exec.CommandContext(ctx, filepath.Join(bin, "mpicc"), "--showme:incdirs").Output(); err == nil { // #nosec G204 -- beside mpirun
		for dir := range strings.FieldsSeq(string(text)) {
			candidates = append(candidates, filepath.Dir(dir))
		}
	}
	candidates = append(candidates, filepath.Dir(bin))
	for _, home := range candidates {
		if _, err := os.Stat(filepath.Join(home, "include", "mpi.h")); err == nil {
			return home
		}
	}
	return ""
}

// adviceFor says what to install.
func adviceFor(err error, said string) string {
	missing := func(sign string) bool { return strings.Contains(said, sign) }
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "install make and a C++ compiler where nccl-tests are built: on the first node, or in the image"
	case missing("Unsupported gpu architecture"):
		return "name the architectures that this CUDA toolkit knows by make = { NVCC_GENCODE = … }, or have a newer toolkit"
	case missing("nvcc: "), missing("cuda_runtime.h"), missing("cuda.h"):
		return "install the CUDA toolkit with nvcc there, or name it by make = { CUDA_HOME = \"/usr/local/cuda-…\" }"
	case missing("nccl.h"), missing("-lnccl"):
		return "install NCCL's headers and library there (libnccl-dev, libnccl-devel), or name them by make = { NCCL_HOME = … }"
	case missing("mpi.h"), missing("-lmpi"):
		return "install Open MPI's headers there (libopenmpi-dev, openmpi-devel), or name them by make = { MPI_HOME = … }"
	}
	return "see the compiler's messages"
}
