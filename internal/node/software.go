// SPDX-License-Identifier: MPL-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Where Oracle's HPC images keep Open MPI, newest version last, and nccl-tests.
var (
	openMPIPlaces   = []string{"/usr/mpi/gcc/openmpi-*/bin", "/opt/openmpi-*/bin"}
	ncclTestsPlaces = []string{
		"/opt/oci-hpc/nccl-test/build", "/opt/oci-hpc/nccl-tests/build", "/opt/nccl-tests/build",
		"/usr/local/nccl-tests/build", "/usr/local/nccl-tests/bin",
	}
)

// ProgramPlaces are folders, as a shell's patterns, that may hold mpirun or nccl-tests beside those of PATH.
func ProgramPlaces() []string { return slices.Concat(openMPIPlaces, ncclTestsPlaces) }

var openMPIVersion = regexp.MustCompile(`\(Open MPI\)\s+(\d+(?:\.\d+)*\S*)`)

// openMPI finds the folder and version of mpirun: the one of PATH first, then the known places.
func openMPI(ctx context.Context) (bin, version string, err error) {
	var candidates []string
	if found, err := exec.LookPath("mpirun"); err == nil {
		candidates = append(candidates, found)
	}
	for _, place := range openMPIPlaces {
		found, _ := filepath.Glob(filepath.Join(place, "mpirun")) // the pattern is well-formed
		slices.SortFunc(found, func(a, b string) int { return compareVersions(b, a) })
		candidates = append(candidates, found...)
	}
	reasons := []error{errors.New("there is no Open MPI in PATH, /usr/mpi/gcc or /opt")}
	for _, mpirun := range candidates {
		text, err := answer(ctx, mpirun, "--version")
		if match := openMPIVersion.FindStringSubmatch(text); match != nil {
			return filepath.Dir(mpirun), match[1], nil
		}
		if err == nil {
			err = fmt.Errorf("%s is another MPI", mpirun)
		}
		reasons = append(reasons, err)
	}
	return "", "", errors.Join(reasons...)
}

var digits = regexp.MustCompile(`\d+`)

// compareVersions orders texts by the numbers in them.
func compareVersions(a, b string) int {
	return slices.CompareFunc(digits.FindAllString(a, -1), digits.FindAllString(b, -1), func(x, y string) int {
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	})
}

// ncclTests finds the program for a collective. Where Open MPI starts it, one that was built for that under a name of its own,
// as in NVIDIA's images (nccl-tests' NAME_SUFFIX), goes first: the other one may lack MPI.
func ncclTests(wanted, collective string, mpi bool) (string, error) {
	names := []string{collective + "_perf", collective + "_perf" + job.MPISuffix}
	if mpi {
		slices.Reverse(names)
	}
	places, where := []string{wanted}, wanted
	if wanted == "" {
		places, where = append(slices.Clone(ncclTestsPlaces), ""), strings.Join(ncclTestsPlaces, ", ")+" or PATH"
	}
	for _, dir := range places {
		for _, name := range names {
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found, nil
			}
		}
	}
	return "", fmt.Errorf("no program %s_perf in %s", collective, where)
}
