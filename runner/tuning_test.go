// SPDX-License-Identifier: MPL-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// A search for better settings is made after the runs that were asked for, with the same ranks, and leaves nothing.
func TestTuning(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	b := c.job.Benchmark
	b.GPUsPerNode, b.Pattern, b.MinSizeBytes, b.MaxSizeBytes = 1, job.PatternAll, 1<<18, 1<<20
	b.Tuning = &job.Tuning{Settings: map[string][]string{"NCCL_ALGO": {"Ring", "Tree"}}}
	result, status := c.run()
	tuned := result.Tuned
	if status != 0 || tuned == nil || tuned.Conclusion == "" || tuned.SizeBytes != 1<<20 {
		t.Fatalf("status %d: %+v, %+v", status, result.Failure, tuned)
	}
	if len(tuned.Trials) != 3 || len(tuned.Trials[0].Environment) != 0 || tuned.Trials[1].Environment["NCCL_ALGO"] != "Ring" || tuned.Trials[2].BusbwGBPerS == nil {
		t.Errorf("trials: %+v", tuned.Trials)
	}
	if len(result.Runs) != 1 || result.Runs[0].Environment["NCCL_ALGO"] != "" {
		t.Errorf("the search is among the runs that were asked for: %d", len(result.Runs))
	}
	logs, err := filepath.Glob(filepath.Join(string(c.dir), "tuning-*.log"))
	if err != nil || len(logs) < 3 {
		t.Errorf("logs: %v (%v)", logs, err)
	}
	c.checkSchema()
	c.nothingLeft()
}
