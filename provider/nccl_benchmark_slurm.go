// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

type slurmModel struct {
	Partition        types.String `tfsdk:"partition"`
	Account          types.String `tfsdk:"account"`
	QOS              types.String `tfsdk:"qos"`
	Constraint       types.String `tfsdk:"constraint"`
	Reservation      types.String `tfsdk:"reservation"`
	GRES             types.String `tfsdk:"gres"`
	Nodes            types.Int64  `tfsdk:"nodes"`
	TimeLimitSeconds types.Int64  `tfsdk:"time_limit_seconds"`
	QueueSeconds     types.Int64  `tfsdk:"queue_seconds"`
	MPI              types.String `tfsdk:"mpi"`
	Image            types.String `tfsdk:"image"`
	Mounts           types.List   `tfsdk:"mounts"`
	Options          types.List   `tfsdk:"options"`
	SharedDir        types.String `tfsdk:"shared_dir"`
}

func (m *slurmModel) toJob() *job.Slurm {
	if m == nil {
		return nil
	}
	return &job.Slurm{
		Partition: m.Partition.ValueString(), Account: m.Account.ValueString(), QOS: m.QOS.ValueString(), Constraint: m.Constraint.ValueString(),
		Reservation: m.Reservation.ValueString(), GRES: m.GRES.ValueString(), Nodes: int(m.Nodes.ValueInt64()),
		TimeLimitSeconds: int(m.TimeLimitSeconds.ValueInt64()), QueueSeconds: int(m.QueueSeconds.ValueInt64()), MPI: job.SlurmMPI(m.MPI.ValueString()),
		Image: m.Image.ValueString(), Mounts: stringsOf(m.Mounts.Elements()), Options: stringsOf(m.Options.Elements()), SharedDir: m.SharedDir.ValueString(),
	}
}

func slurmAttribute() schema.Attribute {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{MarkdownDescription: description, Optional: true}
	}
	list := func(description string) schema.Attribute {
		return schema.ListAttribute{MarkdownDescription: description, Optional: true, ElementType: types.StringType}
	}
	number := func(description string) schema.Attribute {
		return schema.Int64Attribute{MarkdownDescription: description, Optional: true, Validators: []validator.Int64{int64validator.AtLeast(1)}}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "How runs become batch jobs of Slurm (`sbatch`), for `launcher = \"slurm\"`. They have whole nodes to themselves. A batch job survives Terraform and the runner: " +
			"the next apply finds it, whether it waits, runs or is over, and submits no second one. Cancelling the apply lets it go on; a time limit cancels it. " +
			"What is left out, Slurm's own settings decide.",
		Optional: true,
		Attributes: map[string]schema.Attribute{
			"partition":   text("Partition, or several with commas between them."),
			"account":     text("Account that is charged."),
			"qos":         text("Quality of service."),
			"constraint":  text("Features that the nodes must have, such as `roce`."),
			"reservation": text("Reservation to run in."),
			"gres":        text("Generic resources of each node, such as `gpu:8`. Default: those that a batch job gets that has its nodes to itself."),
			"nodes": number("Number of nodes that Slurm is to choose. `nodes` of the resource then names only the node to submit on, such as a login node, and `gpus_per_node` is needed. " +
				"Default: the `nodes` of the resource, by name."),
			"time_limit_seconds": number("Slurm's time limit of a batch job. Default: that of a run and a minute."),
			"queue_seconds":      number("How long a batch job may wait for its start. Default: as long as `timeouts` allow."),
			"mpi": schema.StringAttribute{
				MarkdownDescription: "What starts the ranks in a batch job: `srun` with the plugin `pmix` or `pmi2`, or Open MPI's `mpirun`. Default: `pmi2` with `image`, `mpirun` without.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.OneOf(string(job.SlurmPMIx), string(job.SlurmPMI2), string(job.SlurmMPIRun))},
			},
			"image":  text("Container image that the ranks run in by Pyxis and Enroot, such as `nvcr.io#nvidia/pytorch:24.01-py3` or the path of a `.sqsh` file. Default: on the nodes themselves."),
			"mounts": list("Mounts of that container, each as `SOURCE:TARGET` or `SOURCE:TARGET:FLAGS`."),
			"options": list("Further options of `sbatch`, each as `--name=value`, such as `--comment=acceptance`. " +
				"Those that have an argument of their own here, or that the runner sets, are refused."),
			"shared_dir": text("Directory that the first node and all others share, for what the batch jobs print. Default: the job's directory below `~/.ocihpc`, " +
				"which is made on every node; with `nodes`, home directories must then be shared."),
		},
	}
}

// validateSlurm looks at what is known of slurm when a configuration is planned.
func validateSlurm(ctx context.Context, config tfsdk.Config, launcher types.String, nodes types.List, diags *diag.Diagnostics) {
	at := path.Root("slurm")
	var m slurmModel
	if !configured(ctx, config, at, &m, diags) {
		return
	}
	if !launcher.IsUnknown() && launcher.ValueString() != string(job.LauncherSlurm) {
		diags.AddAttributeError(at, "Slurm without its launcher", "slurm is for launcher = \"slurm\": set it, or leave slurm out.")
		return
	}
	if hasUnknown(m.Mounts) || hasUnknown(m.Options) {
		return // the runner looks at it, too
	}
	addInvalid(diags, at, m.toJob().Validate()) // what is unknown yet is empty, and asks for nothing
	if m.Nodes.ValueInt64() > 0 {
		var gpus types.Int64
		diags.Append(config.GetAttribute(ctx, path.Root("gpus_per_node"), &gpus)...)
		if gpus.IsNull() {
			diags.AddAttributeError(path.Root("gpus_per_node"), "Number of GPUs needed", "With slurm.nodes, Slurm chooses the nodes, and nobody can count their GPUs before: set gpus_per_node.")
		}
		if len(nodes.Elements()) > 1 {
			diags.AddAttributeError(at.AtName("nodes"), "Nodes by name and by number", "slurm.nodes lets Slurm choose the nodes: name in nodes only the one to submit on, or leave slurm.nodes out.")
		}
	}
}
