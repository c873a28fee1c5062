// SPDX-License-Identifier: MPL-2.0

package jobdir

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Cancel asks the runner that works on the job to end, and waits until it has. running says whether there
// was one.
func Cancel(ctx context.Context, dir job.Dir) (running bool, err error) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	asked := 0
	for {
		holder, err := Holder(dir)
		if err != nil || holder == 0 {
			return running, err
		}
		running = true
		if holder != asked {
			if err := unix.Kill(holder, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
				return running, fmt.Errorf("end the runner (process %d): %w", holder, err)
			}
			asked = holder
		}
		select {
		case <-ctx.Done():
			return running, fmt.Errorf("wait for the end of the runner (process %d): %w", holder, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
