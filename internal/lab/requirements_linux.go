// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost"
)

// programs that hosts run, and the Debian packages that have them.
var programs = []struct{ name, aptPackage string }{
	{"sshd", "openssh-server"},
	{"sudo", "sudo"},
	{"cloud-init", "cloud-init"},
	{"mpirun", "openmpi-bin"},
	{"mpicc", "libopenmpi-dev"},
}

// checkPrograms names at once everything that is missing from the directories of path.
func checkPrograms(path string) error {
	var missing, packages []string
	for _, program := range programs {
		if !slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
			info, err := os.Stat(filepath.Join(dir, program.name))
			return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
		}) {
			missing = append(missing, program.name)
			packages = append(packages, program.aptPackage)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s missing; install with `sudo apt-get install -y %s`",
		ErrUnsupported, strings.Join(missing, ", "), strings.Join(packages, " "))
}

// checkInit says why hosts cannot have an init on this machine.
func checkInit(init Init) error {
	if init != InitSystemd {
		return nil
	}
	if missing := labhost.MissingForSystemd(); len(missing) > 0 {
		return fmt.Errorf("%w with systemd as their init: install with `sudo apt-get install -y %s`", ErrUnsupported, strings.Join(missing, " "))
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w with systemd as their init, for they need control groups: run the lab as root", ErrUnsupported)
	}
	return nil
}
