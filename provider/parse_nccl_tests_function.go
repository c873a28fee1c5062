// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

var _ function.Function = (*parseNCCLTestsFunction)(nil)

type parseNCCLTestsFunction struct{}

// NewParseNCCLTestsFunction gives the function parse_nccl_tests, for Terraform 1.8 and later.
func NewParseNCCLTestsFunction() function.Function { return &parseNCCLTestsFunction{} }

func (f *parseNCCLTestsFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "parse_nccl_tests"
}

func (f *parseNCCLTestsFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Reads the output of nccl-tests",
		MarkdownDescription: "Takes what a program of nccl-tests printed, as text of any version (1.0 to 2.19) or as its JSON report (`-J`), with whatever NCCL and " +
			"launchers put between the lines, and gives an object: `reports`, one for each run that wrote into it, with `collective`, `nccl_tests_version`, " +
			"`complete`, `avg_busbw_gb_per_s`, `peak_busbw_gb_per_s`, `out_of_bounds`, `ranks` and `rows`; `nccl`, what NCCL itself logged, or null; and " +
			"`failure`, why there is no clean, complete report, or null. Values that were not printed are null. The environment that a JSON " +
			"report holds is never read.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "text", MarkdownDescription: "What nccl-tests printed, such as `file(\"all_reduce.log\")`."},
		},
		VariadicParameter: function.Int64Parameter{Name: "exit_status", AllowNullValue: true,
			MarkdownDescription: "Exit status of the run, which takes part in telling failures apart; left out, or null, when it is not known."},
		Return: function.ObjectReturn{AttributeTypes: attributesOf[parsedModel]()},
	}
}

func (f *parseNCCLTestsFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	var statuses []*int64
	if resp.Error = req.Arguments.Get(ctx, &text, &statuses); resp.Error != nil {
		return
	}
	if len(statuses) > 1 {
		resp.Error = function.NewArgumentFuncError(2, "A run has one exit status.")
		return
	}
	var status *int
	if len(statuses) == 1 && statuses[0] != nil {
		n := int(*statuses[0])
		status = &n
	}
	output, err := nccl.Parse(strings.NewReader(text), status)
	if err != nil { // a string always reads
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, parsedFrom(output))
}

type parsedModel struct {
	Reports []parsedReportModel `tfsdk:"reports"`
	NCCL    *ncclModel          `tfsdk:"nccl"`
	Failure *parsedFailureModel `tfsdk:"failure"`
}

type parsedReportModel struct {
	Collective       types.String     `tfsdk:"collective"`
	NCCLTestsVersion types.String     `tfsdk:"nccl_tests_version"`
	Complete         bool             `tfsdk:"complete"`
	AvgBusbwGBPerS   *float64         `tfsdk:"avg_busbw_gb_per_s"`
	PeakBusbwGBPerS  *float64         `tfsdk:"peak_busbw_gb_per_s"`
	OutOfBounds      *int64           `tfsdk:"out_of_bounds"`
	Ranks            []rankModel      `tfsdk:"ranks"`
	Rows             []parsedRowModel `tfsdk:"rows"`
}

type rankModel struct {
	Rank   int          `tfsdk:"rank"`
	Host   string       `tfsdk:"host"`
	Device int          `tfsdk:"device"`
	Name   types.String `tfsdk:"name"`
}

type parsedRowModel struct {
	SizeBytes  int64                 `tfsdk:"size_bytes"`
	Count      int64                 `tfsdk:"count"`
	Type       string                `tfsdk:"type"`
	RedOp      string                `tfsdk:"redop"`
	Root       *int                  `tfsdk:"root"`
	OutOfPlace *parsedPlacementModel `tfsdk:"out_of_place"`
	InPlace    *parsedPlacementModel `tfsdk:"in_place"`
}

type parsedPlacementModel struct {
	placementModel
	Iterations *iterationsModel `tfsdk:"iterations"`
}

// iterationsModel has the fields of job.Iterations.
type iterationsModel struct {
	MinUS             *float64    `tfsdk:"min_us"`
	MaxUS             *float64    `tfsdk:"max_us"`
	AvgUS             *float64    `tfsdk:"avg_us"`
	P50US             *float64    `tfsdk:"p50_us"`
	P95US             *float64    `tfsdk:"p95_us"`
	P99US             *float64    `tfsdk:"p99_us"`
	StdevUS           *float64    `tfsdk:"stdev_us"`
	CVPercent         *float64    `tfsdk:"cv_percent"`
	Skipped           *int64      `tfsdk:"skipped"`
	TimesUS           []float64   `tfsdk:"times_us"`
	ProcessMaxTimesUS [][]float64 `tfsdk:"process_max_times_us"`
}

type parsedFailureModel struct {
	Kind    string       `tfsdk:"kind"`
	Message string       `tfsdk:"message"`
	Node    types.String `tfsdk:"node"`
	Advice  types.String `tfsdk:"advice"`
}

func parsedFrom(output nccl.Output) parsedModel {
	model := parsedModel{Reports: []parsedReportModel{}, NCCL: ncclFrom(output.NCCL)}
	for i := range output.Reports {
		model.Reports = append(model.Reports, parsedReportFrom(&output.Reports[i]))
	}
	if f := output.Failure; f != nil {
		model.Failure = &parsedFailureModel{Kind: f.Kind, Message: f.Message, Node: stringOrNull(f.Node), Advice: stringOrNull(f.Advice)}
	}
	return model
}

func parsedReportFrom(r *job.Report) parsedReportModel {
	model := parsedReportModel{
		Collective: stringOrNull(r.Collective), NCCLTestsVersion: stringOrNull(r.NCCLTestsVersion), Complete: r.Complete,
		AvgBusbwGBPerS: r.AvgBusbwGBPerS, PeakBusbwGBPerS: peakBusbw(r), OutOfBounds: r.OutOfBounds, Ranks: []rankModel{}, Rows: []parsedRowModel{},
	}
	for _, rank := range r.Ranks {
		model.Ranks = append(model.Ranks, rankModel{Rank: rank.Rank, Host: rank.Host, Device: rank.Device, Name: stringOrNull(rank.Name)})
	}
	for _, row := range r.Rows {
		model.Rows = append(model.Rows, parsedRowModel{
			SizeBytes: row.SizeBytes, Count: row.Count, Type: row.Type, RedOp: row.RedOp, Root: row.Root,
			OutOfPlace: parsedPlacementFrom(row.OutOfPlace), InPlace: parsedPlacementFrom(row.InPlace),
		})
	}
	return model
}

func parsedPlacementFrom(p *job.Placement) *parsedPlacementModel {
	if p == nil {
		return nil
	}
	model := &parsedPlacementModel{placementModel: *placementFrom(p)}
	if p.Iterations != nil {
		iterations := iterationsModel(*p.Iterations)
		model.Iterations = &iterations
	}
	return model
}
