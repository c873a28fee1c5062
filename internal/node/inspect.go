// SPDX-License-Identifier: MPL-2.0

// Package node is what is done on a node itself: gathering facts and checking them against what the job
// expects. A fact that cannot be read is named as unknown, with the reason; it is never guessed.
package node

import (
	"context"
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

// Inspect waits for cloud-init as long as the request says, then gathers the facts and judges them. It
// always gives a report; what the end of the context kept from being read is unknown in it.
func Inspect(ctx context.Context, r Request) Report {
	found := gather(ctx, r, waitForCloudInit(ctx, r.Checks.CloudInitWaitSeconds))
	return Report{Facts: found.Facts, Checks: judge(r, found), At: time.Now().UTC()}
}
