// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// A node that has just booted is looked at until Oracle Cloud Agent has set RDMA up, no longer than asked for;
// what the agent does not set up is told at once.
func TestUntilSettled(t *testing.T) {
	t.Parallel()
	noAddress := func(r *recording) { r.address["rdma7"] = "" }
	tests := map[string]struct {
		booted time.Duration // before the first look
		wait   time.Duration
		broken func(*recording)
		mended time.Duration // when it is healthy, after the first look
		takes  time.Duration
		passes bool
	}{
		"healthy":            {time.Minute, time.Hour, func(*recording) {}, 0, 0, true},
		"addresses come":     {2 * time.Minute, 15 * time.Minute, noAddress, 5 * time.Minute, 5 * time.Minute, true},
		"the port comes up":  {2 * time.Minute, 15 * time.Minute, func(r *recording) { r.set("sys/class/infiniband/mlx5_7/ports/1/state", "1: DOWN") }, time.Minute, time.Minute, true},
		"too late":           {2 * time.Minute, 3 * time.Minute, noAddress, 5 * time.Minute, 3 * time.Minute, false},
		"never":              {2 * time.Minute, time.Hour, noAddress, 2 * time.Hour, settlingTime - 2*time.Minute, false},
		"no wait asked for":  {2 * time.Minute, 0, noAddress, time.Minute, 0, false},
		"long up":            {settlingTime, time.Hour, noAddress, time.Minute, 0, false},
		"two with one":       {2 * time.Minute, time.Hour, func(r *recording) { r.address["rdma7"] = r.address["rdma6"] }, time.Minute, 0, false},
		"an adapter is gone": {2 * time.Minute, time.Hour, func(r *recording) { r.remove("sys/class/infiniband/mlx5_7") }, time.Minute, 0, false},
		"a GPU is gone":      {2 * time.Minute, time.Hour, func(r *recording) { r.request.GPUsPerNode = 9 }, time.Minute, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, healthy := healthyNode(t), healthyNode(t)
			test.broken(broken)
			synctest.Test(t, func(t *testing.T) {
				waiting, cancel := context.WithTimeout(t.Context(), test.wait)
				defer cancel()
				begun := time.Now()
				report := untilSettled(waiting, func() (findings, Report) {
					r := broken
					if time.Since(begun) >= test.mended {
						r = healthy
					}
					r.set("proc/uptime", fmt.Sprintf("%.2f 0.00", (test.booted+time.Since(begun)).Seconds()))
					f := r.findings()
					return f, Report{Checks: judge(r.request, f)}
				})
				if took := time.Since(begun); took != test.takes {
					t.Errorf("took %v, want %v", took, test.takes)
				}
				if passes := !slices.ContainsFunc(report.Checks, func(c job.Check) bool { return c.Outcome == job.Fail }); passes != test.passes {
					t.Errorf("%+v", report.Checks)
				}
			})
		})
	}
}
