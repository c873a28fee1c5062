// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

type expectationModel struct {
	MinBusbwGBPerS types.Float64 `tfsdk:"min_busbw_gb_per_s"`
	AtLeastBytes   types.Int64   `tfsdk:"at_least_bytes"`
	Limits         []limitModel  `tfsdk:"limits"`
}

func (m *expectationModel) toJob() job.Expectation {
	if m == nil {
		return job.Expectation{}
	}
	e := job.Expectation{MinBusbwGBPerS: m.MinBusbwGBPerS.ValueFloat64Pointer(), AtLeastBytes: m.AtLeastBytes.ValueInt64()}
	for _, limit := range m.Limits {
		e.Limits = append(e.Limits, job.Limit{
			FromBytes: limit.FromBytes.ValueInt64(), ToBytes: limit.ToBytes.ValueInt64(),
			MinBusbwGBPerS: limit.MinBusbwGBPerS.ValueFloat64Pointer(), WarnBusbwGBPerS: limit.WarnBusbwGBPerS.ValueFloat64Pointer(),
		})
	}
	return e
}

type limitModel struct {
	FromBytes       types.Int64   `tfsdk:"from_bytes"`
	ToBytes         types.Int64   `tfsdk:"to_bytes"`
	MinBusbwGBPerS  types.Float64 `tfsdk:"min_busbw_gb_per_s"`
	WarnBusbwGBPerS types.Float64 `tfsdk:"warn_busbw_gb_per_s"`
}

type appliedLimitModel struct {
	limitModel
	Origin string `tfsdk:"origin"`
	Sizes  int    `tfsdk:"sizes"`
}

func appliedLimitsFrom(limits []job.AppliedLimit) []appliedLimitModel {
	models := make([]appliedLimitModel, 0, len(limits))
	for _, l := range limits {
		models = append(models, appliedLimitModel{Origin: l.Origin, Sizes: l.Sizes, limitModel: limitModel{
			FromBytes: types.Int64Value(l.FromBytes), ToBytes: int64OrNull(l.ToBytes),
			MinBusbwGBPerS: types.Float64PointerValue(l.MinBusbwGBPerS), WarnBusbwGBPerS: types.Float64PointerValue(l.WarnBusbwGBPerS),
		}})
	}
	return models
}

type baselineModel struct {
	From                  baselineSummaryModel `tfsdk:"from"`
	MaxRegressionPercent  types.Float64        `tfsdk:"max_regression_percent"`
	WarnRegressionPercent types.Float64        `tfsdk:"warn_regression_percent"`
	AtLeastBytes          types.Int64          `tfsdk:"at_least_bytes"`
}

// baselineSummaryModel takes a benchmark's summary, or one that was written by hand.
type baselineSummaryModel struct {
	Collective types.String       `tfsdk:"collective"`
	Ranks      types.Int64        `tfsdk:"ranks"`
	Hosts      types.Int64        `tfsdk:"hosts"`
	Sizes      []sizeSummaryModel `tfsdk:"sizes"`
}

type sizeSummaryModel struct {
	SizeBytes  int64        `tfsdk:"size_bytes"`
	OutOfPlace *spreadModel `tfsdk:"out_of_place"`
	InPlace    *spreadModel `tfsdk:"in_place"`
}

type spreadModel struct {
	Median    float64       `tfsdk:"median_busbw_gb_per_s"`
	Least     types.Float64 `tfsdk:"least_busbw_gb_per_s"`
	Most      types.Float64 `tfsdk:"most_busbw_gb_per_s"`
	Deviation types.Float64 `tfsdk:"deviation_gb_per_s"`
	Values    []float64     `tfsdk:"values_gb_per_s"`
}

func (m *baselineModel) toJob() *job.Baseline {
	if m == nil {
		return nil
	}
	b := &job.Baseline{
		Collective: m.From.Collective.ValueString(), Ranks: int(m.From.Ranks.ValueInt64()), Hosts: int(m.From.Hosts.ValueInt64()),
		MaxRegressionPercent: m.MaxRegressionPercent.ValueFloat64Pointer(), WarnRegressionPercent: m.WarnRegressionPercent.ValueFloat64Pointer(),
		AtLeastBytes: m.AtLeastBytes.ValueInt64(),
	}
	for _, size := range m.From.Sizes {
		b.Sizes = append(b.Sizes, job.SizeSummary{SizeBytes: size.SizeBytes, OutOfPlace: size.OutOfPlace.toJob(), InPlace: size.InPlace.toJob()})
	}
	return b
}

func (m *spreadModel) toJob() *job.Spread {
	if m == nil {
		return nil
	}
	return &job.Spread{Median: m.Median, Least: m.Least.ValueFloat64(), Most: m.Most.ValueFloat64(), Deviation: m.Deviation.ValueFloat64(), Values: m.Values}
}

func spreadFrom(s *job.Spread) *spreadModel {
	if s == nil {
		return nil
	}
	return &spreadModel{
		Median: s.Median, Least: types.Float64Value(s.Least), Most: types.Float64Value(s.Most),
		Deviation: types.Float64Value(s.Deviation), Values: s.Values,
	}
}

// summaryModel is what all repeats of a run came to.
type summaryModel struct {
	Collective string             `tfsdk:"collective"`
	Ranks      int                `tfsdk:"ranks"`
	Hosts      int                `tfsdk:"hosts"`
	Repeats    int                `tfsdk:"repeats"`
	Sizes      []sizeSummaryModel `tfsdk:"sizes"`
}

func summaryFrom(s *job.Summary) *summaryModel {
	if s == nil {
		return nil
	}
	model := &summaryModel{Collective: s.Collective, Ranks: s.Ranks, Hosts: s.Hosts, Repeats: s.Repeats, Sizes: []sizeSummaryModel{}}
	for _, size := range s.Sizes {
		model.Sizes = append(model.Sizes, sizeSummaryModel{SizeBytes: size.SizeBytes, OutOfPlace: spreadFrom(size.OutOfPlace), InPlace: spreadFrom(size.InPlace)})
	}
	return model
}

type regressionModel struct {
	SizeBytes      int64    `tfsdk:"size_bytes"`
	Placement      string   `tfsdk:"placement"`
	BaselineGBPerS float64  `tfsdk:"baseline_busbw_gb_per_s"`
	BusbwGBPerS    float64  `tfsdk:"busbw_gb_per_s"`
	SlowerPercent  float64  `tfsdk:"slower_percent"`
	PValue         *float64 `tfsdk:"p_value"`
	Outcome        string   `tfsdk:"outcome"`
}

func regressionsFrom(regressions []job.Regression) []regressionModel {
	models := make([]regressionModel, 0, len(regressions))
	for _, r := range regressions {
		models = append(models, regressionModel{
			SizeBytes: r.SizeBytes, Placement: r.Placement, BaselineGBPerS: r.BaselineGBPerS, BusbwGBPerS: r.BusbwGBPerS,
			SlowerPercent: r.SlowerPercent, PValue: r.PValue, Outcome: string(r.Outcome),
		})
	}
	return models
}
