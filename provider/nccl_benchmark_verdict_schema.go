// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// verdictAttributes are what the verdict is found by.
func verdictAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"expect": expectationAttribute("What the run over all nodes must reach. Right values, ranks and hosts are always expected. " +
			"Without a limit here, the catalog's limits of the shape are used where they are for this run: `all_reduce`, all GPUs of each node, " +
			"this number of nodes, sizes that are measured."),
		"expect_per_node": expectationAttribute("What each node alone must reach; the catalog's limits as with `expect`. " +
			"The only node of a list is held to `expect` too."),
		"repeats": schema.Int64Attribute{
			MarkdownDescription: "How often each run is made, 1 to 30; the medians are judged. With 3 or more, here and in the baseline, a regression can be told from chance. Default: 1.",
			Optional:            true, Computed: true,
			Default:    int64default.StaticInt64(1),
			Validators: []validator.Int64{int64validator.Between(1, job.MaxRepeats)},
		},
		"baseline": baselineAttribute(),
		"transport": schema.StringAttribute{
			MarkdownDescription: "What the nodes must talk by: `rdma`, or `any`. A run over TCP sockets fails where RDMA must be. " +
				"Default: `rdma` where the shape and every node have active RDMA adapters and NCCL's log tells.",
			Optional:   true,
			Validators: []validator.String{stringvalidator.OneOf(string(job.TransportRDMA), string(job.TransportAny))},
		},
	}
}

func expectationAttribute(description string) schema.Attribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: description,
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"min_busbw_gb_per_s": schema.Float64Attribute{
				MarkdownDescription: "Least bus bandwidth, in 10^9 bytes per second. Default: none.",
				Optional:            true,
				Validators:          []validator.Float64{float64validator.AtLeast(0)},
			},
			"at_least_bytes": schema.Int64Attribute{
				MarkdownDescription: "Only sizes from here on are judged by `min_busbw_gb_per_s`, in bytes. Default: only the largest.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"limits": schema.ListNestedAttribute{
				MarkdownDescription: "More limits, each for a range of sizes. A range that no measured size is in is an error.",
				Optional:            true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"from_bytes": schema.Int64Attribute{
						MarkdownDescription: "First size of the range, in bytes.", Required: true,
						Validators: []validator.Int64{int64validator.AtLeast(0)},
					},
					"to_bytes": schema.Int64Attribute{
						MarkdownDescription: "End of the range, in bytes, which is not in it. Default: no end.", Optional: true,
						Validators: []validator.Int64{int64validator.AtLeast(1)},
					},
					"min_busbw_gb_per_s": schema.Float64Attribute{
						MarkdownDescription: "Less bus bandwidth, in 10^9 bytes per second, is a failure.", Optional: true,
						Validators: []validator.Float64{float64validator.AtLeast(0),
							float64validator.AtLeastOneOf(path.MatchRelative().AtParent().AtName("warn_busbw_gb_per_s"))},
					},
					"warn_busbw_gb_per_s": schema.Float64Attribute{
						MarkdownDescription: "Less bus bandwidth, in 10^9 bytes per second, is a warning.", Optional: true,
						Validators: []validator.Float64{float64validator.AtLeast(0)},
					},
				}},
			},
		},
	}
}

func baselineAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Earlier result that the run over all nodes is compared with, size by size; `regressions` has the comparison. " +
			"A loss counts where it is above a percentage and, with 3 repeats or more in both, significant " +
			"(exact one-sided Mann-Whitney test, p at most 0.05). A loss above `max_regression_percent` that may be chance is a warning.",
		Optional: true,
		Attributes: map[string]schema.Attribute{
			"from": schema.SingleNestedAttribute{
				MarkdownDescription: "The `summary` of another benchmark, or an object of the same form, such as `jsondecode(file(\"baseline.json\"))`. " +
					"Of it, `sizes` with a `median_busbw_gb_per_s` each are needed. Collective, ranks and hosts must be the same where they are given.",
				Required: true,
				Attributes: map[string]schema.Attribute{
					"collective": schema.StringAttribute{MarkdownDescription: "Collective that was measured.", Optional: true},
					"ranks":      schema.Int64Attribute{MarkdownDescription: "Ranks that took part.", Optional: true},
					"hosts":      schema.Int64Attribute{MarkdownDescription: "Hosts that took part.", Optional: true},
					"sizes": schema.ListNestedAttribute{
						MarkdownDescription: "Bus bandwidth by message size.",
						Required:            true,
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"size_bytes":   schema.Int64Attribute{MarkdownDescription: "Message size, in bytes.", Required: true},
							"out_of_place": spreadAttribute("With separate send and receive buffers.", false),
							"in_place":     spreadAttribute("With one buffer for both.", false),
						}},
						Validators: []validator.List{listvalidator.SizeAtLeast(1)},
					},
				},
			},
			"max_regression_percent":  percentAttribute("A larger loss of bus bandwidth is a failure, in percent of the baseline. Default: none is."),
			"warn_regression_percent": percentAttribute("A larger loss of bus bandwidth is a warning, in percent of the baseline. Default: none is."),
			"at_least_bytes": schema.Int64Attribute{
				MarkdownDescription: "Only sizes from here on are judged, in bytes. Default: only the largest that both have.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
		},
	}
}

func percentAttribute(description string) schema.Attribute {
	return schema.Float64Attribute{
		MarkdownDescription: description, Optional: true,
		Validators: []validator.Float64{float64validator.Between(0, 100)},
	}
}

// spreadAttribute is a distribution over repeats: a result, or, where it is not computed, that of a baseline.
func spreadAttribute(description string, computed bool) schema.Attribute {
	number := func(description string) schema.Attribute {
		return schema.Float64Attribute{MarkdownDescription: description, Optional: !computed, Computed: computed}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: description, Optional: !computed, Computed: computed,
		Attributes: map[string]schema.Attribute{
			"median_busbw_gb_per_s": schema.Float64Attribute{
				MarkdownDescription: "Median of the bus bandwidth over the repeats, in 10^9 bytes per second.", Required: !computed, Computed: computed,
			},
			"least_busbw_gb_per_s": number("Least of them."),
			"most_busbw_gb_per_s":  number("Most of them."),
			"deviation_gb_per_s":   number("Robust standard deviation: 1.4826 times the median distance from the median."),
			"values_gb_per_s": schema.ListAttribute{
				MarkdownDescription: "Each repeat's.", ElementType: types.Float64Type, Optional: !computed, Computed: computed,
			},
		},
	}
}

// verdictResultAttributes are what the verdict rests on.
func verdictResultAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"peak_busbw_gb_per_s": schema.Float64Attribute{
			MarkdownDescription: "Best bus bandwidth over all sizes, in 10^9 bytes per second; of medians with `repeats`.", Computed: true,
		},
		"latency_us": schema.Float64Attribute{
			MarkdownDescription: "Time of the smallest message, in microseconds, the better of both placements.", Computed: true,
		},
		"duration_seconds": schema.Float64Attribute{
			MarkdownDescription: "How long everything took on the nodes, in seconds.", Computed: true,
		},
		"summary": schema.SingleNestedAttribute{
			MarkdownDescription: "The runs over all nodes (of the only node, if it is one) with their repeats. It can be another benchmark's `baseline.from`.",
			Computed:            true,
			Attributes: map[string]schema.Attribute{
				"collective": schema.StringAttribute{MarkdownDescription: "Collective that was measured.", Computed: true},
				"ranks":      schema.Int64Attribute{MarkdownDescription: "Ranks that took part.", Computed: true},
				"hosts":      schema.Int64Attribute{MarkdownDescription: "Hosts that took part.", Computed: true},
				"repeats":    schema.Int64Attribute{MarkdownDescription: "How often it was measured.", Computed: true},
				"sizes": schema.ListNestedAttribute{
					MarkdownDescription: "Bus bandwidth by message size.",
					Computed:            true,
					NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
						"size_bytes":   schema.Int64Attribute{MarkdownDescription: "Message size, in bytes.", Computed: true},
						"out_of_place": spreadAttribute("With separate send and receive buffers.", true),
						"in_place":     spreadAttribute("With one buffer for both.", true),
					}},
				},
			},
		},
		"limits": schema.ListNestedAttribute{
			MarkdownDescription: "Limits that the run over all nodes was judged by.",
			Computed:            true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"from_bytes":          schema.Int64Attribute{MarkdownDescription: "First size of the range, in bytes.", Computed: true},
				"to_bytes":            schema.Int64Attribute{MarkdownDescription: "End of the range, in bytes, which is not in it; null when it has none.", Computed: true},
				"min_busbw_gb_per_s":  schema.Float64Attribute{MarkdownDescription: "Less is a failure, in 10^9 bytes per second.", Computed: true},
				"warn_busbw_gb_per_s": schema.Float64Attribute{MarkdownDescription: "Less is a warning, in 10^9 bytes per second.", Computed: true},
				"origin":              schema.StringAttribute{MarkdownDescription: "`expect`, or the shape catalog with its own source.", Computed: true},
				"sizes":               schema.Int64Attribute{MarkdownDescription: "How many of the measured sizes it holds for.", Computed: true},
			}},
		},
		"regressions": schema.ListNestedAttribute{
			MarkdownDescription: "Comparison with `baseline`, size by size; empty without one.",
			Computed:            true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"size_bytes":              schema.Int64Attribute{MarkdownDescription: "Message size, in bytes.", Computed: true},
				"placement":               schema.StringAttribute{MarkdownDescription: "`out_of_place` or `in_place`.", Computed: true},
				"baseline_busbw_gb_per_s": schema.Float64Attribute{MarkdownDescription: "Median of the baseline, in 10^9 bytes per second.", Computed: true},
				"busbw_gb_per_s":          schema.Float64Attribute{MarkdownDescription: "Median of this benchmark, in 10^9 bytes per second.", Computed: true},
				"slower_percent":          schema.Float64Attribute{MarkdownDescription: "Loss in percent of the baseline; negative when it is faster.", Computed: true},
				"p_value": schema.Float64Attribute{
					MarkdownDescription: "How probable such a loss is by chance (exact one-sided Mann-Whitney test); null where the repeats are too few to tell.", Computed: true,
				},
				"outcome": schema.StringAttribute{MarkdownDescription: "`pass`, `warn` or `fail`; `cannot_tell` for sizes that are not judged.", Computed: true},
			}},
		},
		"remarks": schema.ListAttribute{
			MarkdownDescription: "What the verdict does not rest on, and why, such as a bandwidth that was reported and not judged.",
			ElementType:         types.StringType, Computed: true,
		},
		"nccl": ncclAttribute(),
		"used_environment": schema.MapAttribute{
			MarkdownDescription: "Environment variables that the ranks really got: the shape's, with yours over them.",
			ElementType:         types.StringType, Computed: true,
		},
		"runs": schema.ListNestedAttribute{
			MarkdownDescription: "Every nccl-tests run that was made, in order.",
			Computed:            true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"scope":               schema.StringAttribute{MarkdownDescription: "`node`, `all`, `group` or `rail`.", Computed: true},
				"nodes":               schema.ListAttribute{MarkdownDescription: "Names of its nodes.", ElementType: types.StringType, Computed: true},
				"repeat":              schema.Int64Attribute{MarkdownDescription: "Which of its repeats it is, from 1.", Computed: true},
				"purpose":             schema.StringAttribute{MarkdownDescription: "Why it was made, in a search for the culprit; null for others.", Computed: true},
				"outcome":             schema.StringAttribute{MarkdownDescription: "`pass`, `warn`, `fail` or `could_not_run`. With `repeats` the bandwidth is judged over all of them.", Computed: true},
				"failure":             schema.StringAttribute{MarkdownDescription: "Why the outcome is not `pass`; null when it is.", Computed: true},
				"peak_busbw_gb_per_s": schema.Float64Attribute{MarkdownDescription: "Best bus bandwidth, in 10^9 bytes per second.", Computed: true},
				"iterations": schema.SingleNestedAttribute{
					MarkdownDescription: "How single iterations of the largest size differ, in runs that search for the culprit; null for others, and where " +
						"nccl-tests are older than 2.19.2.",
					Computed: true,
					Attributes: map[string]schema.Attribute{
						"size_bytes": schema.Int64Attribute{MarkdownDescription: "Message size, in bytes.", Computed: true},
						"fastest_us": schema.Float64Attribute{MarkdownDescription: "Time of the fastest iteration, in microseconds.", Computed: true},
						"mean_us":    schema.Float64Attribute{MarkdownDescription: "Mean over all iterations, which the bus bandwidth is of, in microseconds.", Computed: true},
						"p99_us":     schema.Float64Attribute{MarkdownDescription: "99th percentile, in microseconds; with less than 100 iterations the slowest.", Computed: true},
						"slowest_us": schema.Float64Attribute{MarkdownDescription: "Time of the slowest iteration, in microseconds.", Computed: true},
					},
				},
				"seconds":     schema.Float64Attribute{MarkdownDescription: "How long it took, in seconds.", Computed: true},
				"exit_status": schema.Int64Attribute{MarkdownDescription: "Exit status; -1 when it did not end by itself.", Computed: true},
				"log_path":    schema.StringAttribute{MarkdownDescription: "File on the head node with everything that it printed.", Computed: true},
				"log_sha256":  schema.StringAttribute{MarkdownDescription: "SHA-256 digest of that file.", Computed: true},
			}},
		},
	}
}

func ncclAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "What NCCL's own log tells of the run over all nodes; null where it tells nothing. NCCL logs with `NCCL_DEBUG=INFO`, " +
			"unless `environment` says otherwise.",
		Computed: true,
		Attributes: map[string]schema.Attribute{
			"version":         schema.StringAttribute{MarkdownDescription: "Version of NCCL.", Computed: true},
			"network":         schema.StringAttribute{MarkdownDescription: "What it uses between nodes: `IB` (RDMA), `Socket`, or the name of a plugin.", Computed: true},
			"plugin":          schema.StringAttribute{MarkdownDescription: "Network plugin that was loaded; null for NCCL's own networks.", Computed: true},
			"devices":         schema.ListAttribute{MarkdownDescription: "Devices of that network.", ElementType: types.StringType, Computed: true},
			"no_rdma_device":  schema.BoolAttribute{MarkdownDescription: "Whether a rank found no RDMA device that it may use.", Computed: true},
			"channels":        schema.MapAttribute{MarkdownDescription: "Connections by what carries them, such as `NET/IB`, `NET/Socket`, `P2P/CUMEM` and `SHM`.", ElementType: types.Int64Type, Computed: true},
			"gpu_direct_rdma": schema.BoolAttribute{MarkdownDescription: "Whether the network reads and writes GPU memory itself; null when that is not known.", Computed: true},
			"gid_indexes":     schema.ListAttribute{MarkdownDescription: "GID indexes of the RoCE queue pairs.", ElementType: types.Int64Type, Computed: true},
			"queue_pairs":     schema.Int64Attribute{MarkdownDescription: "RDMA queue pairs that were opened.", Computed: true},
			"nvls_channels":   schema.Int64Attribute{MarkdownDescription: "Channels of NVLink SHARP; 0 where it is off, null when that is not known.", Computed: true},
			"settings":        schema.MapAttribute{MarkdownDescription: "Variables that NCCL found in its environment or configuration file.", ElementType: types.StringType, Computed: true},
			"warnings": schema.ListNestedAttribute{
				MarkdownDescription: "First warning of each host.",
				Computed:            true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"host":    schema.StringAttribute{MarkdownDescription: "The host.", Computed: true},
					"message": schema.StringAttribute{MarkdownDescription: "What NCCL said.", Computed: true},
				}},
			},
		},
	}
}
