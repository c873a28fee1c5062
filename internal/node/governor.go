// SPDX-License-Identifier: MPL-2.0

package node

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// steadyGovernor keeps processors at their speed while they wait, as the threads of NCCL do.
const steadyGovernor = "performance"

// readGovernors gives the frequency governor of each processor; none where something below the kernel governs.
func readGovernors(root fs.FS) []string {
	var all []string
	for _, cpu := range names(root, "sys/devices/system/cpu") {
		if governor := line(root, path.Join("sys/devices/system/cpu", cpu, "cpufreq/scaling_governor")); governor != "" {
			all = append(all, governor)
		}
	}
	return all
}

// checkGovernor is for machines: the processors of a container are its host's.
func checkGovernor(f findings) job.Check {
	const name = "cpu_governor"
	var other []string
	slow := 0
	for _, governor := range f.governors {
		if governor == steadyGovernor {
			continue
		}
		slow++
		if !slices.Contains(other, governor) {
			other = append(other, governor)
		}
	}
	switch {
	case len(f.governors) == 0 || !f.clock.value.machine:
		return job.Check{}
	case slow > 0:
		return check(name, job.Warn, fmt.Sprintf("%d of %d processors lower their clocks when idle (%s)", slow, len(f.governors), strings.Join(other, ", ")), "")
	}
	return check(name, job.Pass, "all processors have the governor "+steadyGovernor, "")
}
