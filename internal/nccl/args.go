// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Program gives the name of the program that measures a collective, such as all_reduce_perf.
func Program(collective string) (string, error) {
	if !slices.Contains(job.Collectives, collective) {
		return "", fmt.Errorf("nccl-tests do not measure %q: choose one of %s", collective, strings.Join(job.Collectives, ", "))
	}
	return collective + "_perf", nil
}

// Args gives the arguments of the program for a benchmark, with gpusPerProcess GPUs (ranks) in each process.
// Results are always checked.
func Args(b job.Benchmark, gpusPerProcess int) []string {
	args := []string{
		"-b", strconv.FormatInt(b.MinSizeBytes, 10),
		"-e", strconv.FormatInt(b.MaxSizeBytes, 10),
		"-f", strconv.Itoa(b.StepFactor),
		"-g", strconv.Itoa(gpusPerProcess),
		"-n", strconv.Itoa(b.Iterations),
		"-w", strconv.Itoa(b.WarmupIterations),
		"-c", "1",
	}
	if b.DataType != "" {
		args = append(args, "-d", b.DataType)
	}
	if b.RedOp != "" {
		args = append(args, "-o", b.RedOp)
	}
	return args
}
