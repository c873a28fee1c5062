// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"fmt"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Reached says how far a run came that did not end: which phase of its start, or which of so many sizes.
func Reached(reports []job.Report, sizes int) string {
	if len(reports) == 0 {
		return "before nccl-tests began: the launcher or MPI was starting"
	}
	r := &reports[len(reports)-1]
	switch rows := len(r.Rows); {
	case r.Complete:
		return "after the last size, while it ended"
	case rows > 0:
		if last := r.Rows[rows-1]; last.OutOfPlace == nil || last.InPlace == nil {
			return fmt.Sprintf("at size %d of %d, %s", rows, sizes, FormatBytes(last.SizeBytes))
		}
		return fmt.Sprintf("at size %d of %d, after %s", min(rows+1, sizes), sizes, FormatBytes(r.Rows[rows-1].SizeBytes))
	case len(r.Ranks) > 0:
		return fmt.Sprintf("at NCCL's start or the first of %d sizes, when all %d ranks had their GPUs", sizes, len(r.Ranks))
	}
	return "when nccl-tests began: not all ranks have come up with their GPUs"
}
