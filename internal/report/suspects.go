// SPDX-License-Identifier: MPL-2.0

package report

import (
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// suspects says whom the runs point at, and why.
func (p *printer) suspects(r job.Result) {
	for _, s := range r.Suspects {
		p.line("Suspect     %s (%s)", s.Name(), s.Confidence)
		for _, sentence := range s.Evidence {
			p.line("            %s", sentence)
		}
	}
	if r.Conclusion != "" {
		p.line("Search      %s", r.Conclusion)
	}
	if len(r.ReplaceNodes) > 0 {
		p.line("Replace     %s", strings.Join(r.ReplaceNodes, " "))
	}
}

// tuned writes what the search for better settings came to.
func (p *printer) tuned(t *job.Tuned) {
	if t == nil {
		return
	}
	p.line("Tuning      %s", t.Conclusion)
}
