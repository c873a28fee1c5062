// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// patternAttributes say which groups of nodes are measured, and what that found.
func patternAttributes() map[string]schema.Attribute {
	patterns := make([]string, 0, len(job.Patterns))
	for _, p := range job.Patterns {
		patterns = append(patterns, string(p))
	}
	return map[string]schema.Attribute{
		"pattern": schema.StringAttribute{
			MarkdownDescription: "Which groups of nodes are measured. `auto` (default): each node alone, then all together; where these miss their " +
				"mark, are wrong, hang or do not start, groups side by side until it is known which node or link is at fault; where averages leave " +
				"nobody to suspect, by how their single iterations differ (nccl-tests 2.19.2 or later). " +
				"`per_node`: each node alone. `all`: all together. `pairs`: each node once, with its neighbour. `two_pass`: pairs, then the " +
				"suspects with good nodes. `round_robin`: each node with each other. `rails`: one GPU of every node at a time.",
			Optional: true, Computed: true,
			Default:    stringdefault.StaticString(string(job.PatternAuto)),
			Validators: []validator.String{stringvalidator.OneOf(patterns...)},
		},
		"max_runs": schema.Int64Attribute{
			MarkdownDescription: "Bound of the runs that search for what is at fault. Default: 4 for each node, at least 16.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"run_timeout_seconds": schema.Int64Attribute{
			MarkdownDescription: "Time for one run of nccl-tests, in seconds: a run that hangs ends then. Default: 1200, or all of the resource's " +
				"timeout if that is less.",
			Optional:   true,
			Validators: []validator.Int64{int64validator.AtLeast(1)},
		},
		"suspects": schema.ListNestedAttribute{
			MarkdownDescription: "What the runs point at. None does not mean that all is good: see `outcome`.",
			Computed:            true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"kind": schema.StringAttribute{MarkdownDescription: "`node`, `gpu`, `rail` (the same GPU of every node, with its network), or `link` " +
					"(what is between two nodes that are good with others).", Computed: true},
				"nodes": schema.ListAttribute{MarkdownDescription: "Names of the node, or of the two of a link.", Computed: true, ElementType: types.StringType},
				"index": schema.Int64Attribute{MarkdownDescription: "Index of the GPU or rail; null for others.", Computed: true},
				"confidence": schema.StringAttribute{MarkdownDescription: "`certain`: bad alone, or with good partners while the others are good without it. " +
					"`likely`: bad with different partners that are good. `possible`: nothing better is known.", Computed: true},
				"symptom": schema.StringAttribute{MarkdownDescription: "`slow`, `unsteady` (fast in some iterations and far slower in others), `wrong` " +
					"(values), or `failed` (runs with it do not come to their end).", Computed: true},
				"evidence": schema.ListAttribute{MarkdownDescription: "Sentences with the numbers.", Computed: true, ElementType: types.StringType},
			}},
		},
		"replace_nodes": schema.ListAttribute{
			MarkdownDescription: "The nodes whose replacement can cure it, where the confidence is `likely` or better: their OCIDs, as `replace_nodes` of " +
				"`ocihpc_gpu_cluster` takes them, or names of nodes without one. A cluster cannot refer to the benchmark of its own nodes, " +
				"which would be a cycle: copy them, through an output or a variable.",
			Computed: true, ElementType: types.StringType,
		},
		"conclusion": schema.StringAttribute{
			MarkdownDescription: "What the search for the fault came to, with the number of its runs; null when there was none.", Computed: true,
		},
	}
}

type suspectModel struct {
	Kind       string   `tfsdk:"kind"`
	Nodes      []string `tfsdk:"nodes"`
	Index      *int     `tfsdk:"index"`
	Confidence string   `tfsdk:"confidence"`
	Symptom    string   `tfsdk:"symptom"`
	Evidence   []string `tfsdk:"evidence"`
}

// takeSuspects fills the attributes that say what is suspected.
func (m *ncclBenchmarkModel) takeSuspects(ctx context.Context, result *job.Result, diags *diag.Diagnostics) {
	suspects := make([]suspectModel, 0, len(result.Suspects))
	for _, s := range result.Suspects {
		suspects = append(suspects, suspectModel{
			Kind: string(s.Kind), Nodes: append([]string{}, s.Nodes...), Index: s.Index, Confidence: string(s.Confidence), Symptom: string(s.Symptom), Evidence: s.Evidence,
		})
	}
	m.Suspects = listFrom(ctx, diags, suspects)
	m.ReplaceNodes = listFrom(ctx, diags, append([]string{}, result.ReplaceNodes...))
	m.Conclusion = types.StringNull()
	if result.Conclusion != "" {
		m.Conclusion = types.StringValue(result.Conclusion)
	}
}

// explainSuspects says whom the runs point at, why, and how to get rid of them.
func explainSuspects(result *job.Result) string {
	var text strings.Builder
	for _, s := range result.Suspects {
		fmt.Fprintf(&text, "\n\nSuspect: %s (%s)", s.Name(), s.Confidence)
		for _, sentence := range s.Evidence {
			fmt.Fprintf(&text, "\n  %s", sentence)
		}
	}
	if result.Conclusion != "" {
		fmt.Fprintf(&text, "\n\nSearch: %s.", result.Conclusion)
	}
	if len(result.ReplaceNodes) > 0 {
		quoted := make([]string, len(result.ReplaceNodes))
		for i, id := range result.ReplaceNodes {
			quoted[i] = fmt.Sprintf("%q", id)
		}
		fmt.Fprintf(&text, "\n\nTo replace what can be cured so, write into the ocihpc_gpu_cluster, then apply (the new nodes are measured by that):\n"+
			"  replace_nodes = [%s]\nIt cannot be a reference to this benchmark, which depends on the cluster.", strings.Join(quoted, ", "))
	}
	return text.String()
}
