// SPDX-License-Identifier: MPL-2.0

package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

var csvHeader = []string{
	"scope", "nodes", "repeat", "purpose", "outcome", "collective", "ranks", "size_bytes", "type", "redop", "placement",
	"time_us", "algbw_gb_per_s", "busbw_gb_per_s", "wrong",
}

// CSV writes every measured size of every run, a line for each placement. What was not measured is empty. The error is
// the writer's.
func CSV(w io.Writer, r job.Result) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvHeader) // Error gives the first one
	for _, run := range r.Runs {
		if run.Report == nil {
			continue
		}
		for _, row := range run.Report.Rows {
			for _, half := range []struct {
				name string
				p    *job.Placement
			}{{"out_of_place", row.OutOfPlace}, {"in_place", row.InPlace}} {
				if half.p == nil {
					continue
				}
				_ = out.Write([]string{
					string(run.Scope), strings.Join(run.Nodes, " "), fmt.Sprint(max(1, run.Repeat)), run.Purpose, string(run.Outcome),
					run.Report.Collective, fmt.Sprint(len(run.Report.Ranks)), fmt.Sprint(row.SizeBytes), row.Type, row.RedOp, half.name,
					plain(half.p.TimeUS), plain(half.p.AlgbwGBPerS), plain(half.p.BusbwGBPerS), whole(half.p.WrongResults),
				})
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// plain is a number with all its digits; empty where there is none.
func plain(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func whole(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(*v, 10)
}
