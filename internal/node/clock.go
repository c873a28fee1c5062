// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// clockOff is how far a synchronised clock may be from its source.
const clockOff = 100 * time.Millisecond

// clock is how the time is kept.
type clock struct {
	synchronised bool
	source       string        // of chrony; empty without it
	off          time.Duration // from that source, as far as chrony knows
	// machine says that the node is a machine of its own. A container's clock is its host's.
	machine bool
}

// readClock asks the kernel, as timedatectl does, and chrony.
func readClock(ctx context.Context, root fs.FS) (clock, error) {
	var state unix.Timex
	if _, err := unix.Adjtimex(&state); err != nil {
		return clock{}, fmt.Errorf("adjtimex: %w", err)
	}
	c := clock{synchronised: state.Status&unix.STA_UNSYNC == 0, machine: isMachine(root)}
	if text, err := answer(ctx, "chronyc", "-n", "-c", "tracking"); err == nil {
		c.source, c.off, _ = parseTracking(text)
	}
	return c, nil
}

// isMachine says whether systemd booted this node, and in no container.
func isMachine(root fs.FS) bool {
	_, err := fs.Stat(root, "run/systemd/system")
	return err == nil && line(root, "run/systemd/container") == ""
}

// parseTracking reads chrony's report of comma-separated fields: the second is the source, the fifth the
// seconds by which the system's clock is off, the last the leap status.
func parseTracking(text string) (source string, off time.Duration, ok bool) {
	fields := strings.Split(strings.TrimSpace(text), ",")
	if len(fields) < 14 || fields[len(fields)-1] == "Not synchronised" {
		return "", 0, false
	}
	seconds, err := strconv.ParseFloat(fields[4], 64)
	if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > 1e9 {
		return "", 0, false
	}
	return fields[1], time.Duration(math.Abs(seconds) * float64(time.Second)), true
}

func checkClock(f findings) job.Check {
	const name = "clock"
	c := f.clock.value
	switch {
	case f.clock.err != nil:
		return check(name, job.CannotTell, f.clock.err.Error(), "")
	case !c.synchronised && !c.machine:
		return check(name, job.CannotTell, "the clock is not synchronised; it is that of the container's host", "check the host of the container")
	case !c.synchronised:
		return check(name, job.Warn, "no time service has set the clock", "")
	case c.source == "":
		return check(name, job.Pass, "the clock is synchronised", "")
	case c.off > clockOff:
		return check(name, job.Warn, fmt.Sprintf("the clock is %s off from %s", c.off.Round(time.Millisecond), c.source), "")
	}
	return check(name, job.Pass, fmt.Sprintf("the clock is synchronised with %s, %s off", c.source, c.off.Round(time.Microsecond)), "")
}
