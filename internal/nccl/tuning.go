// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"maps"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Setting is a variable of NCCL with values worth trying.
type Setting struct {
	Name   string
	Values []string
}

// Settings that matter, those with the largest effect first, by what the ranks talk by. Source: NCCL's documentation of its
// environment variables (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html).
var (
	settingsAnywhere = []Setting{
		{"NCCL_ALGO", []string{"Ring", "Tree"}},
		{"NCCL_PROTO", []string{"Simple", "LL128"}},
		{"NCCL_BUFFSIZE", []string{"8388608", "16777216"}}, // bytes; the default is 4 MiB
		{"NCCL_MIN_NCHANNELS", []string{"16", "32"}},
	}
	settingsOverRDMA = []Setting{
		{"NCCL_IB_QPS_PER_CONNECTION", []string{"2", "4", "8"}}, // the default is 1
		{"NCCL_IB_SPLIT_DATA_ON_QPS", []string{"0", "1"}},
		{"NCCL_NCHANNELS_PER_NET_PEER", []string{"2", "4"}},
		{"NCCL_PXN_DISABLE", []string{"0", "1"}},
	}
	settingsOverTCP = []Setting{
		{"NCCL_NSOCKS_PERTHREAD", []string{"2", "4", "8"}}, // the product of both must not be above 64
		{"NCCL_SOCKET_NTHREADS", []string{"2", "4", "8"}},
	}
)

// SettingsToTry gives what a search for better settings tries: what the user names, else what matters for the network that
// the runs over several nodes used, but for what the user has set. log is nil where NCCL did not tell.
func SettingsToTry(t job.Tuning, nodes int, log *job.NCCLLog, set map[string]string) []Setting {
	if len(t.Settings) > 0 {
		var settings []Setting
		for _, name := range slices.Sorted(maps.Keys(t.Settings)) {
			settings = append(settings, Setting{name, t.Settings[name]})
		}
		return settings
	}
	settings := settingsAnywhere
	switch {
	case nodes < 2:
	case log != nil && log.Network == "Socket":
		settings = slices.Concat(settingsOverTCP, settingsAnywhere)
	default:
		settings = slices.Concat(settingsOverRDMA, settingsAnywhere)
	}
	return slices.DeleteFunc(slices.Clone(settings), func(s Setting) bool {
		_, has := set[s.Name]
		return has
	})
}

// AtLargest gives the bus bandwidth of a report's largest size, the lower one of both placements; ok is false when it has
// none.
func AtLargest(r *job.Report) (gbPerS float64, sizeBytes int64, ok bool) {
	if r == nil {
		return 0, 0, false
	}
	for _, row := range r.Rows {
		for _, p := range placements(row) {
			if p.busbw == nil || row.SizeBytes < sizeBytes {
				continue
			}
			if row.SizeBytes > sizeBytes || !ok || *p.busbw < gbPerS {
				gbPerS, sizeBytes, ok = *p.busbw, row.SizeBytes, true
			}
		}
	}
	return gbPerS, sizeBytes, ok
}

// Significant says whether a chance is small enough for something else than chance.
func Significant(chance *float64) bool { return chance != nil && *chance <= significance }
