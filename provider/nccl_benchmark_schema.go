// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"maps"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Values of on_failure.
const (
	onFailureFail = "fail"
	onFailureWarn = "warn"
)

func ncclBenchmarkSchema(ctx context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Checks the nodes of a GPU cluster and measures their network with NVIDIA's " +
			"[nccl-tests](https://github.com/NVIDIA/nccl-tests): first each node alone, then all nodes together; and if these are " +
			"not good, groups of them side by side until the node or link at fault is known. " +
			"The numbers become attributes, and a cluster below its mark fails the apply.\n\n" +
			"The companion `ocihpc-runner`, which is part of the provider, is put on the nodes over SSH and works " +
			"detached on the first one, so a dropped connection does not lose a measurement. Destroying the " +
			"resource removes it from the state only.\n\n" +
			"A change of `ssh`, `timeouts` or `max_age` alone contacts no node. A change of any other argument measures again, unless the " +
			"nodes still have the result of the same work: another `report_path` needs no new measurement. After a failed verdict the next apply " +
			"measures again. Otherwise nothing is repeated.",
		Attributes: benchmarkAttributes(ctx),
	}
}

func benchmarkAttributes(ctx context.Context) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"nodes": nodesAttribute("Nodes to measure, such as `ocihpc_gpu_cluster.this.nodes`. The first one is the head node, " +
			"where the runner works and `mpirun` starts. A change measures again."),
		"shape": schema.StringAttribute{
			MarkdownDescription: "Shape of the nodes, such as `BM.GPU4.8`. From it come the number of GPUs that each node must " +
				"show and the NCCL settings. Without it neither is assumed.",
			Optional: true,
		},
		"ssh": sshAttribute(),
		"collective": schema.StringAttribute{
			MarkdownDescription: "Collective to measure: one of " + oneOf(job.Collectives) + ". Default: `all_reduce`. " +
				"`alltoallv` comes with nccl-tests 2.19, `hypercube` needs a power of two of ranks.",
			Optional: true, Computed: true,
			Default:    stringdefault.StaticString("all_reduce"),
			Validators: []validator.String{measurable{"collective"}},
		},
		"min_size_bytes": int64WithDefault("Smallest message size, in bytes. Default: 8.", 8, 4),
		"max_size_bytes": int64WithDefault("Largest message size, in bytes. Default: 8589934592 (8 GiB).", 8<<30, 4),
		"step_factor":    int64WithDefault("Each size is the one before times this factor. Default: 2.", 2, 2),
		"iterations":     int64WithDefault("Measured iterations a size. Default: 20.", 20, 1),
		"warmup_iterations": int64WithDefault(
			"Iterations a size that are run first and not measured. Default: 5.", 5, 0),
		"data_type": schema.StringAttribute{
			MarkdownDescription: "Data type in nccl-tests' words: one of " + oneOf(job.DataTypes) + ". Default: `float`. " +
				"The types of 8 bits (`f8e4m3`, `f8e5m2`) need NCCL 2.24 and nccl-tests built against it.",
			Optional: true, Computed: true,
			Default:    stringdefault.StaticString("float"),
			Validators: []validator.String{measurable{"data_type"}},
		},
		"redop": schema.StringAttribute{
			MarkdownDescription: "Reduction in nccl-tests' words: one of " + oneOf(job.RedOps) + ". Default: `sum`. Collectives that reduce nothing leave it alone.",
			Optional:            true, Computed: true,
			Default:    stringdefault.StaticString("sum"),
			Validators: []validator.String{measurable{"redop"}},
		},
		"gpus_per_node": schema.Int64Attribute{
			MarkdownDescription: "GPUs of each node that take part, one rank each. Default: all.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"nccl_tests_dir": schema.StringAttribute{
			MarkdownDescription: "Directory on the nodes that holds `all_reduce_perf` and the others. " +
				"Default: where Oracle's HPC images have them, else `PATH`; of the image where `container` names one. " +
				"Over several nodes `all_reduce_perf_mpi` goes before `all_reduce_perf`.",
			Optional: true,
			Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^/`),
				"must be an absolute path")},
		},
		"environment": schema.MapAttribute{
			MarkdownDescription: "Environment variables for NCCL, UCX and Open MPI, which override those that the shape brings. " +
				"No place for secrets: they show in the results and on the nodes.",
			Optional:    true,
			ElementType: types.StringType,
		},
		"checks": checksAttribute(),
		"on_failure": schema.StringAttribute{
			MarkdownDescription: "`fail` (default): a failed verdict fails the apply, and the next apply measures again. `warn`: it is a warning.",
			Optional:            true, Computed: true,
			Default:    stringdefault.StaticString(onFailureFail),
			Validators: []validator.String{stringvalidator.OneOf(onFailureFail, onFailureWarn)},
		},
		"triggers": schema.MapAttribute{
			MarkdownDescription: "Any values; a change measures again.",
			Optional:            true,
			ElementType:         types.StringType,
		},
		"tuning": tuningAttribute(),
		"tuned":  tunedAttribute(),
		"max_age": schema.StringAttribute{
			MarkdownDescription: "How old a measurement may become, such as `168h`; the next plan after that measures again. Default: any age.",
			Optional:            true,
			Validators:          []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(h|m|s))+$`), "must be a duration such as 168h or 90m")},
		},
		"report_path": schema.StringAttribute{
			MarkdownDescription: "File on this machine for the report, one HTML page. Default: none is written.",
			Optional:            true,
		},
		"report_directory": schema.StringAttribute{
			MarkdownDescription: "Directory on this machine for the report in all forms: `report.html`, a summary in Markdown, JUnit's XML, " +
				"Prometheus' metrics, CSV, JSON, and the pictures as SVG and PNG. Default: none is written.",
			Optional: true,
		},
		"timeouts": timeoutsAttribute(ctx, timeouts.Opts{
			Create: true, Update: true,
			CreateDescription: "Time for everything, waiting for the nodes included. Default: 60m.",
			UpdateDescription: "As create. Default: 60m.",
		}),
	}
	maps.Copy(attributes, launcherAttributes())
	maps.Copy(attributes, verdictAttributes())
	maps.Copy(attributes, benchmarkResultAttributes())
	maps.Copy(attributes, verdictResultAttributes())
	maps.Copy(attributes, patternAttributes())
	return attributes
}

func int64WithDefault(description string, standard, least int64) schema.Int64Attribute {
	return schema.Int64Attribute{
		MarkdownDescription: description,
		Optional:            true, Computed: true,
		Default:    int64default.StaticInt64(standard),
		Validators: []validator.Int64{int64validator.AtLeast(least)},
	}
}

func checksAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "What each node must show before anything is measured, beside its health: " +
			"every node's GPUs, NVLinks, RDMA ports, drivers, clock, space and versions are always checked (guide *Health checks*).",
		Optional: true,
		Attributes: map[string]schema.Attribute{
			"timezone": schema.StringAttribute{
				MarkdownDescription: "Time zone in the IANA form, such as `Asia/Tokyo`.", Optional: true,
			},
			"mounts": schema.ListAttribute{
				MarkdownDescription: "Mount points that must be mounted, such as `/mnt/localdisk`.",
				Optional:            true, ElementType: types.StringType,
			},
			"firewall_off": schema.BoolAttribute{
				MarkdownDescription: "Whether a host firewall on a node is a failure. Default: false.", Optional: true,
			},
			"cloud_init_wait_seconds": schema.Int64Attribute{
				MarkdownDescription: "How long to wait for cloud-init on a node, and after it, within 20 minutes of the node's boot, for Oracle Cloud Agent to set RDMA up, in seconds. Default: 900.",
				Optional:            true, Computed: true,
				Default:    int64default.StaticInt64(defaultCloudInitWaitSeconds),
				Validators: []validator.Int64{int64validator.AtLeast(0)},
			},
			"skip": schema.SetAttribute{
				MarkdownDescription: "Checks to leave out, such as `gpu_xid`; the guide *Health checks* and `ocihpc-runner check --list` show all.",
				Optional:            true, ElementType: types.StringType,
				Validators: []validator.Set{setvalidator.ValueStringsAre(stringvalidator.OneOf(checkNames()...))},
			},
		},
	}
}

// checkNames are those of all checks.
func checkNames() []string {
	names := make([]string, 0, len(job.CheckKinds))
	for _, kind := range job.CheckKinds {
		names = append(names, kind.Name)
	}
	return names
}

func benchmarkResultAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			MarkdownDescription: "Key of the job, made from its nodes and parameters. It names the job's directory below `~/.ocihpc/jobs` on the head node.",
			Computed:            true,
		},
		"outcome": schema.StringAttribute{
			MarkdownDescription: "`pass`, `warn` or `fail`.", Computed: true,
		},
		"failure": schema.StringAttribute{
			MarkdownDescription: "Why the outcome is not `pass`; null when it is.", Computed: true,
		},
		"measured_because": schema.StringAttribute{
			MarkdownDescription: "Why it was measured, or is about to be: which nodes and arguments changed, a failed verdict, or its age. Plans show it.",
			Computed:            true,
		},
		"measured_at": schema.StringAttribute{
			MarkdownDescription: "When the measurement ended (RFC 3339, UTC).", Computed: true,
		},
		"ranks": schema.Int64Attribute{
			MarkdownDescription: "Ranks (GPUs) that took part in the run over all nodes.", Computed: true,
		},
		"hosts": schema.Int64Attribute{
			MarkdownDescription: "Hosts that took part in it.", Computed: true,
		},
		"wrong": schema.Int64Attribute{
			MarkdownDescription: "Wrong values in it, over all sizes.", Computed: true,
		},
		"nccl_tests_version": schema.StringAttribute{
			MarkdownDescription: "Version of nccl-tests; null when it does not say.", Computed: true,
		},
		"results": schema.ListNestedAttribute{
			MarkdownDescription: "The run over all nodes (of the only node, if it is one), a row for each size. With `repeats` it is the first of them; `summary` has the medians.",
			Computed:            true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"size_bytes":   schema.Int64Attribute{MarkdownDescription: "Message size, in bytes.", Computed: true},
				"out_of_place": placementAttribute("With separate send and receive buffers."),
				"in_place":     placementAttribute("With one buffer for both."),
			}},
		},
		"per_node": schema.ListNestedAttribute{
			MarkdownDescription: "Each node: what it is, and what it reached alone.",
			Computed:            true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"name":                schema.StringAttribute{MarkdownDescription: "Name of the node.", Computed: true},
				"private_ip":          schema.StringAttribute{MarkdownDescription: "Address of the node.", Computed: true},
				"outcome":             schema.StringAttribute{MarkdownDescription: "Worst of its checks and its own run: `pass`, `warn` or `fail`.", Computed: true},
				"gpus":                schema.Int64Attribute{MarkdownDescription: "GPUs that it shows.", Computed: true},
				"gpu_model":           schema.StringAttribute{MarkdownDescription: "Model of its GPUs.", Computed: true},
				"os":                  schema.StringAttribute{MarkdownDescription: "Its operating system.", Computed: true},
				"kernel":              schema.StringAttribute{MarkdownDescription: "Version of its kernel.", Computed: true},
				"open_mpi_version":    schema.StringAttribute{MarkdownDescription: "Version of its Open MPI.", Computed: true},
				"driver_version":      schema.StringAttribute{MarkdownDescription: "Version of its NVIDIA driver.", Computed: true},
				"peak_busbw_gb_per_s": schema.Float64Attribute{MarkdownDescription: "Best bus bandwidth that it reached alone, in 10^9 bytes per second; of medians with `repeats`.", Computed: true},
				"checks": schema.ListNestedAttribute{
					MarkdownDescription: "What was checked on it; the guide *Health checks* shows all.",
					Computed:            true,
					NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
						"name":    schema.StringAttribute{MarkdownDescription: "Name of the check, such as `gpu_ecc`.", Computed: true},
						"outcome": schema.StringAttribute{MarkdownDescription: "`pass`, `warn`, `fail` or `cannot_tell`.", Computed: true},
						"message": schema.StringAttribute{MarkdownDescription: "What was found, and what was expected.", Computed: true},
						"advice":  schema.StringAttribute{MarkdownDescription: "What to do about it; null when there is nothing to do.", Computed: true},
					}},
				},
			}},
		},
		"host_keys": hostKeysAttribute(),
	}
}

func placementAttribute(description string) schema.Attribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: description,
		Computed:            true,
		Attributes: map[string]schema.Attribute{
			"time_us":        schema.Float64Attribute{MarkdownDescription: "Mean time of one operation, in microseconds.", Computed: true},
			"algbw_gb_per_s": schema.Float64Attribute{MarkdownDescription: "Size over time, in 10^9 bytes per second.", Computed: true},
			"busbw_gb_per_s": schema.Float64Attribute{MarkdownDescription: "Bus bandwidth, in 10^9 bytes per second.", Computed: true},
			"wrong":          schema.Int64Attribute{MarkdownDescription: "Wrong values; null when they were not counted.", Computed: true},
		},
	}
}
