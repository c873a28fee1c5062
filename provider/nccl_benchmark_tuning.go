// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

type tuningModel struct {
	Settings       map[string][]string `tfsdk:"settings"`
	MaxRuns        types.Int64         `tfsdk:"max_runs"`
	MinGainPercent types.Float64       `tfsdk:"min_gain_percent"`
}

func (m *tuningModel) toJob() *job.Tuning {
	if m == nil {
		return nil
	}
	return &job.Tuning{Settings: m.Settings, MaxRuns: int(m.MaxRuns.ValueInt64()), MinGainPercent: m.MinGainPercent.ValueFloat64()}
}

type tunedModel struct {
	Environment map[string]string `tfsdk:"environment"`
	SizeBytes   int64             `tfsdk:"size_bytes"`
	GainPercent types.Float64     `tfsdk:"gain_percent"`
	PValue      types.Float64     `tfsdk:"p_value"`
	Default     *spreadModel      `tfsdk:"default"`
	Best        *spreadModel      `tfsdk:"best"`
	Trials      []trialModel      `tfsdk:"trials"`
	Conclusion  string            `tfsdk:"conclusion"`
}

type trialModel struct {
	Environment map[string]string `tfsdk:"environment"`
	BusbwGBPerS types.Float64     `tfsdk:"busbw_gb_per_s"`
	Problem     types.String      `tfsdk:"problem"`
}

// takeTuned fills what the search for better settings came to.
func (m *ncclBenchmarkModel) takeTuned(ctx context.Context, result *job.Result, diags *diag.Diagnostics) {
	m.Tuned = types.ObjectNull(attributesOf[tunedModel]())
	t := result.Tuned
	if t == nil {
		return
	}
	model := tunedModel{
		Environment: maps.Clone(t.Environment), SizeBytes: t.SizeBytes, GainPercent: types.Float64PointerValue(t.GainPercent),
		PValue: types.Float64PointerValue(t.PValue), Default: spreadFrom(t.Default), Best: spreadFrom(t.Best), Conclusion: t.Conclusion,
	}
	if model.Environment == nil {
		model.Environment = map[string]string{}
	}
	for _, trial := range t.Trials {
		model.Trials = append(model.Trials, trialModel{
			Environment: trial.Environment, BusbwGBPerS: types.Float64PointerValue(trial.BusbwGBPerS), Problem: stringOrNull(trial.Problem),
		})
	}
	object, d := types.ObjectValueFrom(ctx, m.Tuned.AttributeTypes(ctx), model)
	diags.Append(d...)
	m.Tuned = object
}

func tuningAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Searches for better settings after all other runs, where these found nothing at fault: one variable after the other, " +
			"each value at the largest size, over the settings that the runs had. The best of all is then measured in turns with the default, " +
			fmt.Sprintf("%d times each. It needs `pattern` `auto` or `all`. Default: no search.", job.TuningPairs),
		Optional: true,
		Attributes: map[string]schema.Attribute{
			"settings": schema.MapAttribute{
				MarkdownDescription: "Values to try, by variable, such as `{ NCCL_IB_QPS_PER_CONNECTION = [\"2\", \"4\"] }`. Default: the variables that matter for the network that NCCL used, but for those of `environment`.",
				Optional:            true,
				ElementType:         types.ListType{ElemType: types.StringType},
				Validators:          []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.ValueListsAre(listvalidator.SizeAtLeast(1))},
			},
			"max_runs": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("Most runs of the search. Default: %d.", job.DefaultTuningRuns),
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"min_gain_percent": schema.Float64Attribute{
				MarkdownDescription: fmt.Sprintf("A winner that is better by less is none. Default: %d.", job.DefaultMinGainPercent),
				Optional:            true,
				Validators:          []validator.Float64{float64validator.AtLeast(0)},
			},
		},
	}
}

func tunedAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "What the search for better settings came to; null where there was none.",
		Computed:            true,
		Attributes: map[string]schema.Attribute{
			"environment": schema.MapAttribute{
				MarkdownDescription: "Settings that are better together, for `environment` and for your own jobs; empty where nothing was, beyond chance.",
				Computed:            true, ElementType: types.StringType,
			},
			"size_bytes":   schema.Int64Attribute{MarkdownDescription: "Message size at which settings were compared, in bytes.", Computed: true},
			"gain_percent": schema.Float64Attribute{MarkdownDescription: "By how much the winner's median is above the default's; null where there is no winner.", Computed: true},
			"p_value":      schema.Float64Attribute{MarkdownDescription: "Probability of such a gain by chance (Mann-Whitney, one-sided).", Computed: true},
			"default":      spreadAttribute("Bus bandwidth with the default, measured in turns with the winner.", true),
			"best":         spreadAttribute("Bus bandwidth with the winner.", true),
			"conclusion":   schema.StringAttribute{MarkdownDescription: "All this in a sentence.", Computed: true},
			"trials": schema.ListNestedAttribute{
				MarkdownDescription: "Runs of the search, in order; the first has no settings.",
				Computed:            true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"environment":    schema.MapAttribute{MarkdownDescription: "Settings of the run.", Computed: true, ElementType: types.StringType},
					"busbw_gb_per_s": schema.Float64Attribute{MarkdownDescription: "Bus bandwidth, the lower one of both placements, in 10^9 bytes per second; null when the run was no good.", Computed: true},
					"problem":        schema.StringAttribute{MarkdownDescription: "Why it was no good; null when it was.", Computed: true},
				}},
			},
		},
	}
}
