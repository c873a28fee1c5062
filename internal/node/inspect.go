// SPDX-License-Identifier: MPL-2.0

// Package node is what is done on a node itself: gathering facts and checking them against what the job
// expects. A fact that cannot be read is named as unknown, with the reason; it is never guessed.
package node

import (
	"context"
	"slices"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Request says what to look at on this node.
type Request struct {
	// Address by which the other nodes reach this one; it tells which network is asked for.
	Address string `json:"address,omitempty"`
	// Shape in OCI's words; empty means unknown.
	Shape  string     `json:"shape,omitempty"`
	Checks job.Checks `json:"checks"`
	// Collective that is to be measured, such as all_reduce; empty asks for no nccl-tests.
	Collective string `json:"collective,omitempty"`
	// NCCLTestsDir holds the nccl-tests programs; empty means the known places and PATH.
	NCCLTestsDir string `json:"nccl_tests_dir,omitempty"`
	// GPUsPerNode that are needed; 0 means whatever is there.
	GPUsPerNode int `json:"gpus_per_node,omitempty"`
	// Health asks for all checks of the node itself, beside what is expected of it.
	Health bool `json:"health,omitempty"`
	// MPI asks for Open MPI: the measurement spans several nodes.
	MPI bool `json:"mpi,omitempty"`
}

// Report is what was found on this node.
type Report struct {
	Facts  job.Facts   `json:"facts"`
	Checks []job.Check `json:"checks"`
	// At is the node's time at the end.
	At time.Time `json:"at"`
}

// Inspect waits for cloud-init as long as the request says, then gathers the facts and judges them: again and
// again within that time while RDMA is still being set up. It always gives a report; what the end of the
// context kept from being read is unknown in it.
func Inspect(ctx context.Context, r Request) Report {
	waiting, cancel := context.WithTimeout(ctx, time.Duration(r.Checks.CloudInitWaitSeconds)*time.Second)
	defer cancel()
	said := waitForCloudInit(ctx, waiting)
	return untilSettled(waiting, func() (findings, Report) {
		found := gather(ctx, r, said)
		return found, Report{Facts: found.Facts, Checks: judge(r, found), At: time.Now().UTC()}
	})
}

const (
	// settlingTime is for how long after its boot a node may still be without RDMA: Oracle Cloud Agent takes
	// about 10 minutes after the first login. Source: Oracle Japan's tutorials for cluster networks.
	settlingTime = 20 * time.Minute
	// settlingPoll is how often such a node is looked at.
	settlingPoll = 15 * time.Second
)

// untilSettled looks until Oracle Cloud Agent has nothing left to do, the node is too old for that, or the wait
// ends.
func untilSettled(waiting context.Context, look func() (findings, Report)) Report {
	ticker := time.NewTicker(settlingPoll)
	defer ticker.Stop()
	for {
		found, report := look()
		if !found.young() || !slices.ContainsFunc(report.Checks, leftToAgent) {
			return report
		}
		select {
		case <-waiting.Done():
			return report
		case <-ticker.C:
		}
	}
}

func leftToAgent(c job.Check) bool { return c.Outcome == job.Fail && c.Advice == job.AdviceWait }
