// SPDX-License-Identifier: MPL-2.0

package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// stepWords are the outcomes worth a line; what was in place is only counted.
var stepWords = []struct {
	outcome job.StepOutcome
	word    string
}{
	{job.StepChanged, "changed"}, {job.StepWouldChange, "would change"}, {job.StepFailed, "failed"}, {job.StepNotRun, "not run"},
}

// setUp shows what was changed, or would be, on which nodes: steps with the same end on several nodes once.
func (p *printer) setUp(r job.Result) {
	if !slices.ContainsFunc(r.Nodes, func(n job.NodeResult) bool { return n.Setup != nil }) {
		return
	}
	p.line("Set-up: %s", job.SetupSummary(r.Nodes))
	for _, group := range groups(r.Nodes) {
		p.stepGroup(group, len(r.Nodes))
	}
	p.runtimes(r.Nodes)
	for _, n := range r.Nodes {
		if n.Setup != nil && n.Setup.Outcome() == job.CouldNotRun {
			p.line("  %s  %s (could not run)", n.Name, n.Setup.Failure.Message)
			p.indented("    ", n.Setup.Failure.Advice)
		}
	}
	p.line("")
}

// stepGroup is one step with one end, and the nodes where it was so.
type stepGroup struct {
	job.StepResult
	nodes []string
}

// groups gives the steps that are not merely in place, in the order of the set-up.
func groups(nodes []job.NodeResult) []*stepGroup {
	var all []*stepGroup
	for _, n := range nodes {
		if n.Setup == nil {
			continue
		}
		for _, step := range n.Setup.Steps {
			if step.Outcome == job.StepUnchanged {
				continue
			}
			step.Seconds = 0 // no difference worth a line
			i := slices.IndexFunc(all, func(g *stepGroup) bool { return g.StepResult == step })
			if i < 0 {
				all, i = append(all, &stepGroup{StepResult: step}), len(all)
			}
			all[i].nodes = append(all[i].nodes, n.Name)
		}
	}
	return all
}

func (p *printer) stepGroup(g *stepGroup, nodes int) {
	for _, known := range stepWords {
		if known.outcome == g.Outcome {
			p.line("  %-12s  %s%s", known.word, g.Title, onNodes(g.nodes, nodes))
		}
	}
	message := g.Message
	if g.Outcome == job.StepChanged && message != "" {
		message = "before: " + message
	}
	p.indented("    ", message)
	if g.Output != "" {
		p.line("    output:")
		p.indented("    | ", g.Output)
	}
	p.indented("    → ", g.Advice)
}

// onNodes says where; nothing where there is only one node.
func onNodes(names []string, of int) string {
	switch {
	case of == 1:
		return ""
	case len(names) == of:
		return "  on all " + count(of, "node")
	case len(names) > 8:
		return "  on " + count(len(names), "node") + ": " + strings.Join(names[:8], ", ") + ", …"
	}
	return "  on " + strings.Join(names, ", ")
}

func (p *printer) indented(indent, text string) {
	for line := range strings.Lines(text) {
		p.line("%s%s", indent, strings.TrimRight(line, "\n"))
	}
}

// runtimes shows engines and versions, those that are the same on several nodes once.
func (p *printer) runtimes(nodes []job.NodeResult) {
	var told []string
	where := map[string][]string{}
	for _, n := range nodes {
		if n.Setup == nil || n.Setup.Engine == "" {
			continue
		}
		var versions []string
		for _, component := range slices.Sorted(maps.Keys(n.Setup.Versions)) {
			versions = append(versions, component+" "+n.Setup.Versions[component])
		}
		text := string(n.Setup.Engine) + ": " + strings.Join(versions, ", ")
		if len(n.Setup.GPUs) > 0 {
			text += "; a container sees " + count(len(n.Setup.GPUs), "GPU")
		}
		if where[text] == nil {
			told = append(told, text)
		}
		where[text] = append(where[text], n.Name)
	}
	for _, text := range told {
		p.line("  %s%s", text, onNodes(where[text], len(nodes)))
	}
}
