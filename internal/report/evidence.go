// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// evidence shows what the verdict on the run over all nodes rests on, and what it does not.
func (p *printer) evidence(r job.Result, overall *job.Measurement) {
	if overall != nil && overall.NCCL != nil {
		p.line("NCCL's log  %s", networkOf(overall.NCCL))
	}
	s := r.OverallSummary()
	if s == nil {
		return
	}
	if s.Repeats > 1 {
		p.line("Repeats     %d of %d are right; median peak %s", s.Runs, s.Repeats, summaryPeak(s))
	}
	for _, l := range s.Limits {
		p.line("Limit       %s", limitInWords(l))
	}
	for _, g := range s.Regressions {
		if g.Outcome != job.CannotTell {
			p.line("Baseline    %s %s: %s", nccl.FormatBytes(g.SizeBytes), strings.ReplaceAll(g.Placement, "_", " "), change(g))
		}
	}
	for _, remark := range s.Remarks {
		p.line("Remark      %s", remark)
	}
}

// limitInWords gives a limit with who set it.
func limitInWords(l job.AppliedLimit) string {
	text := nccl.FormatBytes(l.FromBytes) + " and more"
	if l.ToBytes > 0 {
		text = nccl.FormatBytes(l.FromBytes) + " to " + nccl.FormatBytes(l.ToBytes)
	}
	if l.MinBusbwGBPerS != nil {
		text += fmt.Sprintf(", at least %s GB/s", number(l.MinBusbwGBPerS))
	}
	if l.WarnBusbwGBPerS != nil {
		text += fmt.Sprintf(", warning below %s GB/s", number(l.WarnBusbwGBPerS))
	}
	return text + " (" + l.Origin + ")"
}

func change(g job.Regression) string {
	text := fmt.Sprintf("%s instead of %s GB/s, %.3g %% slower", number(&g.BusbwGBPerS), number(&g.BaselineGBPerS), g.SlowerPercent)
	if g.SlowerPercent < 0 {
		text = fmt.Sprintf("%s instead of %s GB/s, %.3g %% faster", number(&g.BusbwGBPerS), number(&g.BaselineGBPerS), -g.SlowerPercent)
	}
	if g.PValue != nil {
		text += fmt.Sprintf(", p = %.2g", *g.PValue)
	}
	return text + ": " + outcomeWord(g.Outcome)
}

func summaryPeak(s *job.Summary) string {
	gbPerS, size, ok := s.Peak()
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%s GB/s at %s", number(&gbPerS), nccl.FormatBytes(size))
}
