// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// IterationArgs have a program of nccl-tests time single iterations, and print the fastest, the slowest, the 99th percentile
// and the coefficient of variation beside each mean. They cost one CUDA event each.
//
// The program does not wait between iterations (-z 0, its default), as in runs without: so the mean stays comparable with that
// of others. With -z 3 all ranks would wait and meet after each iteration, and the mean would have the cost of the launch in
// it; that makes the times of single processes comparable, which are in the JSON report alone. That report is not asked for:
// it lies on the node of rank 0, and holds the whole environment of the program. With -z 1 the times would have the meeting
// in them, and before 2.19.5 the times of -z 3 were not right.
var IterationArgs = []string{"-I", "1"}

// TimesIterations says whether a report is of a version that knows [IterationArgs]. One that does not would print its usage.
func TimesIterations(r job.Report) bool {
	return versionOf([]job.Report{r}).atLeast(version{2, 19, 2})
}

// HelpTimesIterations says whether the usage of a program lists [IterationArgs].
func HelpTimesIterations(usage string) bool { return strings.Contains(usage, "[-I,--per_iter_timing ") }
