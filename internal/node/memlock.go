// SPDX-License-Identifier: MPL-2.0

package node

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// littleMemlock is less than NCCL and UCX register for a few channels, in bytes.
const littleMemlock = 1 << 30

// readMemlock gives how much this login may lock, in bytes.
func readMemlock() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return 0, fmt.Errorf("getrlimit: %w", err)
	}
	return limit.Cur, nil
}

// checkMemlock is for nodes with RDMA ports.
func checkMemlock(f findings) job.Check {
	const name = "memlock"
	limit := f.memlock.value
	switch {
	case len(f.rdma.hcas) == 0:
		return job.Check{}
	case f.memlock.err != nil:
		return check(name, job.CannotTell, f.memlock.err.Error(), "")
	case limit == unix.RLIM_INFINITY:
		return check(name, job.Pass, "a login may lock any amount of memory", "")
	case limit < littleMemlock:
		return check(name, job.Fail, fmt.Sprintf("a login may lock only %d KiB of memory", limit>>10), "")
	}
	return check(name, job.Warn, fmt.Sprintf("a login may lock only %d MiB of memory", limit>>20), "")
}
