// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// launcherAttributes say how the ranks are started.
func launcherAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"launcher": schema.StringAttribute{
			MarkdownDescription: "What starts the ranks. `single`: one process on one node, which drives all its GPUs. `mpirun`: Open MPI (4 or 5), one rank a GPU, " +
				"on one node, too; nodes near each other by OCI's topology follow each other. `slurm`: a batch job for each run, one rank a GPU, submitted on the first node. " +
				"Default: `single` for a node alone, `mpirun` for several together.",
			Optional:   true,
			Validators: []validator.String{stringvalidator.OneOf(string(job.LauncherSingle), string(job.LauncherMPIRun), string(job.LauncherSlurm))},
		},
		"slurm":     slurmAttribute(),
		"container": containerAttribute(),

		"nccl_tests_source": ncclTestsSourceAttribute(),
	}
}

// oneOf lists words for a description.
func oneOf(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// measurable accepts what nccl-tests measure, and says why not.
type measurable struct{ what string }

func (v measurable) Description(context.Context) string             { return "nccl-tests know it" }
func (v measurable) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v measurable) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if !isSet(req.ConfigValue) {
		return
	}
	check := map[string]func(string) error{"collective": job.CheckCollective, "data_type": job.CheckDataType, "redop": job.CheckRedOp}[v.what]
	if err := check(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid "+req.Path.String(), sentence(err.Error()))
	}
}

// benchmarkLauncher finds attributes that do not go together.
type benchmarkLauncher struct{}

func (benchmarkLauncher) Description(context.Context) string {
	return "the launcher can start what is to be measured"
}
func (v benchmarkLauncher) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (benchmarkLauncher) ValidateResource(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var launcher, pattern types.String
	var nodes types.List
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("launcher"), &launcher)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("nodes"), &nodes)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("pattern"), &pattern)...)
	validateSlurm(ctx, req.Config, launcher, nodes, &resp.Diagnostics)
	validateContainer(ctx, req.Config, launcher, &resp.Diagnostics)
	validateSource(ctx, req.Config, &resp.Diagnostics)
	if launcher.ValueString() == string(job.LauncherSingle) && len(nodes.Elements()) > 1 && !pattern.IsUnknown() && pattern.ValueString() != string(job.PatternPerNode) {
		resp.Diagnostics.AddAttributeError(path.Root("launcher"), "Launcher of one node for several",
			"launcher = \"single\" starts one process on one node, and nodes has several: measure each alone by pattern = \"per_node\", or leave launcher out.")
	}
}
