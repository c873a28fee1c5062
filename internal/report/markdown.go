// SPDX-License-Identifier: MPL-2.0

package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

// Markdown writes a summary for a pull request or the summary of a CI job. The error is the writer's.
func Markdown(w io.Writer, r job.Result) error {
	out := bufio.NewWriter(w)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	overall := r.Overall()
	line("## %s %s: %s\n", mark(r.Outcome), verdictWord(r.Outcome), cellText(headline(overall)))
	if f := r.Failure; f != nil {
		line("**%s**\n", cellText(reason(f)))
		if f.Advice != "" {
			line("What to do: %s\n", cellText(f.Advice))
		}
	}
	for _, s := range r.Suspects {
		line("- **%s** (%s): %s", cellText(s.Name()), s.Confidence, cellText(strings.Join(s.Evidence, "; ")))
	}
	if len(r.Suspects) > 0 {
		line("")
	}
	if r.Conclusion != "" {
		line("%s\n", cellText(r.Conclusion))
	}
	if overall != nil && overall.Report != nil && len(overall.Report.Rows) > 0 {
		if isLab(overall.Report) {
			line("**A result of the lab**: the devices are %s, and no number here is a GPU's.\n", cellText(deviceNames(overall.Report)))
		}
		line("| size | out of place, µs | GB/s | in place, µs | GB/s | wrong |\n|---:|---:|---:|---:|---:|---:|")
		for _, row := range overall.Report.Rows {
			o, i := cells(row.OutOfPlace), cells(row.InPlace)
			line("| %s | %s | %s | %s | %s | %s |", nccl.FormatBytes(row.SizeBytes), o[0], o[2], i[0], i[2], o[3])
		}
		line("")
	}
	if len(r.Nodes) > 0 {
		line("| node | result | alone, GB/s | checks that did not pass |\n|---|---|---:|---|")
		for _, node := range r.Nodes {
			alone := "–"
			if run := r.Alone(node.Name); run != nil {
				if value, _, ok := nccl.AtLargest(run.Report); ok {
					alone = number(&value)
				}
			}
			var failed []string
			for _, c := range node.Checks {
				if c.Outcome == job.Warn || c.Outcome == job.Fail {
					failed = append(failed, fmt.Sprintf("%s %s: %s", mark(c.Outcome), c.Name, c.Message))
				}
			}
			line("| %s | %s | %s | %s |", cellText(node.Name), outcomeWord(r.NodeOutcome(node.Name)), alone, cellText(strings.Join(failed, "; ")))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

// cellText keeps foreign text from being markup, or from ending a cell or line.
func cellText(s string) string { return markup.Replace(strings.Map(printable, s)) }

var markup = strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`, "`", "\\`", "*", `\*`, "_", `\_`)
