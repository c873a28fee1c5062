// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Time limits of a job. The job's own limit is what is left of the resource's timeout.
const (
	defaultBenchmarkTimeout     = 60 * time.Minute
	defaultRunTimeout           = 20 * time.Minute
	defaultCloudInitWaitSeconds = 900
)

type ncclBenchmarkModel struct {
	Nodes             []nodeModel           `tfsdk:"nodes"`
	Shape             types.String          `tfsdk:"shape"`
	SSH               sshModel              `tfsdk:"ssh"`
	Pattern           types.String          `tfsdk:"pattern"`
	MaxRuns           types.Int64           `tfsdk:"max_runs"`
	RunTimeoutSeconds types.Int64           `tfsdk:"run_timeout_seconds"`
	Launcher          types.String          `tfsdk:"launcher"`
	Slurm             *slurmModel           `tfsdk:"slurm"`
	Container         *containerModel       `tfsdk:"container"`
	NCCLTestsSource   *ncclTestsSourceModel `tfsdk:"nccl_tests_source"`
	Collective        types.String          `tfsdk:"collective"`
	MinSizeBytes      types.Int64           `tfsdk:"min_size_bytes"`
	MaxSizeBytes      types.Int64           `tfsdk:"max_size_bytes"`
	StepFactor        types.Int64           `tfsdk:"step_factor"`
	Iterations        types.Int64           `tfsdk:"iterations"`
	WarmupIterations  types.Int64           `tfsdk:"warmup_iterations"`
	DataType          types.String          `tfsdk:"data_type"`
	RedOp             types.String          `tfsdk:"redop"`
	GPUsPerNode       types.Int64           `tfsdk:"gpus_per_node"`
	NCCLTestsDir      types.String          `tfsdk:"nccl_tests_dir"`
	Environment       map[string]string     `tfsdk:"environment"`
	Checks            *checksModel          `tfsdk:"checks"`
	Expect            *expectationModel     `tfsdk:"expect"`
	ExpectPerNode     *expectationModel     `tfsdk:"expect_per_node"`
	Repeats           types.Int64           `tfsdk:"repeats"`
	Baseline          *baselineModel        `tfsdk:"baseline"`
	Transport         types.String          `tfsdk:"transport"`
	OnFailure         types.String          `tfsdk:"on_failure"`
	Triggers          map[string]string     `tfsdk:"triggers"`
	Tuning            *tuningModel          `tfsdk:"tuning"`
	MaxAge            types.String          `tfsdk:"max_age"`
	ReportPath        types.String          `tfsdk:"report_path"`
	ReportDirectory   types.String          `tfsdk:"report_directory"`
	Timeouts          timeouts.Value        `tfsdk:"timeouts"`

	ID               types.String  `tfsdk:"id"`
	Outcome          types.String  `tfsdk:"outcome"`
	Failure          types.String  `tfsdk:"failure"`
	MeasuredBecause  types.String  `tfsdk:"measured_because"` // the plan knows
	MeasuredAt       types.String  `tfsdk:"measured_at"`
	Ranks            types.Int64   `tfsdk:"ranks"`
	Hosts            types.Int64   `tfsdk:"hosts"`
	Wrong            types.Int64   `tfsdk:"wrong"`
	PeakBusbwGBPerS  types.Float64 `tfsdk:"peak_busbw_gb_per_s"`
	LatencyUS        types.Float64 `tfsdk:"latency_us"`
	DurationSeconds  types.Float64 `tfsdk:"duration_seconds"`
	Summary          types.Object  `tfsdk:"summary"`
	Limits           types.List    `tfsdk:"limits"`
	Regressions      types.List    `tfsdk:"regressions"`
	Remarks          types.List    `tfsdk:"remarks"`
	NCCL             types.Object  `tfsdk:"nccl"`
	UsedEnvironment  types.Map     `tfsdk:"used_environment"`
	Runs             types.List    `tfsdk:"runs"`
	NCCLTestsVersion types.String  `tfsdk:"nccl_tests_version"`
	Results          types.List    `tfsdk:"results"`
	PerNode          types.List    `tfsdk:"per_node"`
	Suspects         types.List    `tfsdk:"suspects"`
	Tuned            types.Object  `tfsdk:"tuned"`
	ReplaceNodes     types.List    `tfsdk:"replace_nodes"`
	Conclusion       types.String  `tfsdk:"conclusion"`
	HostKeys         types.Map     `tfsdk:"host_keys"`
}

type checksModel struct {
	Timezone             types.String `tfsdk:"timezone"`
	Mounts               []string     `tfsdk:"mounts"`
	FirewallOff          types.Bool   `tfsdk:"firewall_off"`
	CloudInitWaitSeconds types.Int64  `tfsdk:"cloud_init_wait_seconds"`
	Skip                 []string     `tfsdk:"skip"`
}

// toJob gives the work that the plan asks for.
func (m *ncclBenchmarkModel) toJob(timeout time.Duration) job.Job {
	return job.Job{
		Version:        job.Version,
		Nodes:          jobNodes(m.Nodes),
		SSH:            m.SSH.toJob(),
		Shape:          m.Shape.ValueString(),
		Checks:         m.Checks.toJob(),
		Triggers:       m.Triggers,
		TimeoutSeconds: int(timeout.Seconds()),
		MaxAgeSeconds:  m.maxAgeSeconds(),
		Benchmark: &job.Benchmark{
			Launcher:         job.Launcher(m.Launcher.ValueString()),
			Slurm:            m.Slurm.toJob(),
			Container:        m.Container.toJob(),
			NCCLTestsSource:  m.NCCLTestsSource.toJob(),
			Pattern:          job.Pattern(m.Pattern.ValueString()),
			MaxRuns:          int(m.MaxRuns.ValueInt64()),
			Collective:       m.Collective.ValueString(),
			MinSizeBytes:     m.MinSizeBytes.ValueInt64(),
			MaxSizeBytes:     m.MaxSizeBytes.ValueInt64(),
			StepFactor:       int(m.StepFactor.ValueInt64()),
			DataType:         m.DataType.ValueString(),
			RedOp:            m.RedOp.ValueString(),
			Iterations:       int(m.Iterations.ValueInt64()),
			WarmupIterations: int(m.WarmupIterations.ValueInt64()),
			GPUsPerNode:      int(m.GPUsPerNode.ValueInt64()),
			NCCLTestsDir:     m.NCCLTestsDir.ValueString(),
			Environment:      m.Environment,
			Expect:           m.Expect.toJob(),
			ExpectPerNode:    m.ExpectPerNode.toJob(),
			Repeats:          repeatsOf(m.Repeats),
			Tuning:           m.Tuning.toJob(),
			Baseline:         m.Baseline.toJob(),
			Transport:        job.Transport(m.Transport.ValueString()),
			TimeoutSeconds:   int(min(timeout, m.runTimeout()).Seconds()),
		},
	}
}

// repeatsOf leaves out the usual number, so that the job's key stays what it was without it.
func repeatsOf(repeats types.Int64) int {
	if n := int(repeats.ValueInt64()); n > 1 {
		return n
	}
	return 0
}

// runTimeout bounds one run of nccl-tests.
func (m *ncclBenchmarkModel) runTimeout() time.Duration {
	if m.RunTimeoutSeconds.IsNull() {
		return defaultRunTimeout
	}
	return time.Duration(m.RunTimeoutSeconds.ValueInt64()) * time.Second
}

// maxAgeSeconds is at least one where there is a limit; 0 is none.
func (m *ncclBenchmarkModel) maxAgeSeconds() int {
	age, err := time.ParseDuration(m.MaxAge.ValueString())
	if err != nil { // the schema has seen to its form
		return 0
	}
	return max(1, int(age.Seconds()))
}

func (m *checksModel) toJob() job.Checks {
	if m == nil {
		return job.Checks{CloudInitWaitSeconds: defaultCloudInitWaitSeconds}
	}
	return job.Checks{
		Timezone:             m.Timezone.ValueString(),
		Mounts:               m.Mounts,
		FirewallOff:          m.FirewallOff.ValueBool(),
		CloudInitWaitSeconds: int(m.CloudInitWaitSeconds.ValueInt64()),
		Skip:                 slices.Sorted(slices.Values(m.Skip)), // a set has no order, but the job's key has
	}
}

type benchmarkRowModel struct {
	SizeBytes  int64           `tfsdk:"size_bytes"`
	OutOfPlace *placementModel `tfsdk:"out_of_place"`
	InPlace    *placementModel `tfsdk:"in_place"`
}

type placementModel struct {
	TimeUS      *float64 `tfsdk:"time_us"`
	AlgbwGBPerS *float64 `tfsdk:"algbw_gb_per_s"`
	BusbwGBPerS *float64 `tfsdk:"busbw_gb_per_s"`
	Wrong       *int64   `tfsdk:"wrong"`
}

type nodeResultModel struct {
	Name            string       `tfsdk:"name"`
	PrivateIP       string       `tfsdk:"private_ip"`
	Outcome         string       `tfsdk:"outcome"`
	GPUs            types.Int64  `tfsdk:"gpus"`
	GPUModel        types.String `tfsdk:"gpu_model"`
	DriverVersion   types.String `tfsdk:"driver_version"`
	OS              types.String `tfsdk:"os"`
	Kernel          types.String `tfsdk:"kernel"`
	OpenMPIVersion  types.String `tfsdk:"open_mpi_version"`
	PeakBusbwGBPerS *float64     `tfsdk:"peak_busbw_gb_per_s"`
	Checks          []checkModel `tfsdk:"checks"`
}

type checkModel struct {
	Name    string       `tfsdk:"name"`
	Outcome string       `tfsdk:"outcome"`
	Message string       `tfsdk:"message"`
	Advice  types.String `tfsdk:"advice"`
}

// fromResult fills the computed attributes.
func (m *ncclBenchmarkModel) fromResult(ctx context.Context, result *job.Result, hostKeys map[string]string) diag.Diagnostics {
	var diags diag.Diagnostics
	m.ID = types.StringValue(result.Key)
	m.Outcome = types.StringValue(string(result.Outcome))
	m.MeasuredAt = types.StringValue(result.FinishedAt.UTC().Format(time.RFC3339))
	m.Failure = types.StringNull()
	if result.Failure != nil {
		m.Failure = types.StringValue(result.Failure.Message)
	}

	report := &job.Report{}
	if run := result.Overall(); run != nil && run.Report != nil {
		report = run.Report
	}
	m.Ranks = types.Int64Value(int64(len(report.Ranks)))
	m.Hosts = types.Int64Value(int64(len(report.Hosts())))
	m.Wrong = types.Int64PointerValue(report.Wrong())
	m.NCCLTestsVersion = types.StringNull()
	if report.NCCLTestsVersion != "" {
		m.NCCLTestsVersion = types.StringValue(report.NCCLTestsVersion)
	}
	m.Results = listFrom(ctx, &diags, rowsFrom(report))
	m.PerNode = listFrom(ctx, &diags, nodeResultsFrom(result))
	m.fromVerdict(ctx, result, &diags)
	m.takeSuspects(ctx, result, &diags)
	m.takeTuned(ctx, result, &diags)
	keys, d := types.MapValueFrom(ctx, types.StringType, hostKeys)
	diags.Append(d...)
	m.HostKeys = keys
	return diags
}

// fromVerdict fills what the verdict rests on.
func (m *ncclBenchmarkModel) fromVerdict(ctx context.Context, result *job.Result, diags *diag.Diagnostics) {
	summary, overall := result.OverallSummary(), result.Overall()
	if summary == nil {
		summary = &job.Summary{}
	}
	if overall == nil {
		overall = &job.Measurement{}
	}
	m.PeakBusbwGBPerS = types.Float64Null()
	if peak, _, ok := summary.Peak(); ok {
		m.PeakBusbwGBPerS = types.Float64Value(peak)
	}
	m.LatencyUS = types.Float64Null()
	if overall.Report != nil {
		m.LatencyUS = types.Float64PointerValue(overall.Report.LatencyUS())
	}
	m.DurationSeconds = types.Float64Value(result.FinishedAt.Sub(result.StartedAt).Seconds())
	m.Summary = objectFrom(ctx, diags, summaryFrom(result.OverallSummary()))
	m.Limits = listFrom(ctx, diags, appliedLimitsFrom(summary.Limits))
	m.Regressions = listFrom(ctx, diags, regressionsFrom(summary.Regressions))
	m.Remarks = listFrom(ctx, diags, append([]string{}, summary.Remarks...))
	m.NCCL = objectFrom(ctx, diags, ncclFrom(overall.NCCL))
	m.Runs = listFrom(ctx, diags, runsFrom(result))
	environment, d := types.MapValueFrom(ctx, types.StringType, overall.Environment)
	diags.Append(d...)
	m.UsedEnvironment = environment
}

func listFrom[T any](ctx context.Context, diags *diag.Diagnostics, values []T) types.List {
	list, d := types.ListValueFrom(ctx, typeOf[T](), values)
	diags.Append(d...)
	return list
}

// objectFrom gives a null object for a nil value.
func objectFrom[T any](ctx context.Context, diags *diag.Diagnostics, value *T) types.Object {
	attributes := attributesOf[T]()
	if value == nil {
		return types.ObjectNull(attributes)
	}
	object, d := types.ObjectValueFrom(ctx, attributes, value)
	diags.Append(d...)
	return object
}

func rowsFrom(report *job.Report) []benchmarkRowModel {
	rows := make([]benchmarkRowModel, 0, len(report.Rows))
	for _, row := range report.Rows {
		rows = append(rows, benchmarkRowModel{
			SizeBytes: row.SizeBytes, OutOfPlace: placementFrom(row.OutOfPlace), InPlace: placementFrom(row.InPlace),
		})
	}
	return rows
}

func placementFrom(p *job.Placement) *placementModel {
	if p == nil {
		return nil
	}
	return &placementModel{
		TimeUS: p.TimeUS, AlgbwGBPerS: p.AlgbwGBPerS, BusbwGBPerS: p.BusbwGBPerS, Wrong: p.WrongResults,
	}
}

func nodeResultsFrom(result *job.Result) []nodeResultModel {
	nodes := make([]nodeResultModel, 0, len(result.Nodes))
	for _, node := range result.Nodes {
		model := nodeResultModel{
			Name: node.Name, PrivateIP: node.Address, Outcome: string(result.NodeOutcome(node.Name)),
			Checks: make([]checkModel, 0, len(node.Checks)),
		}
		for _, c := range node.Checks {
			check := checkModel{Name: c.Name, Outcome: string(c.Outcome), Message: c.Message}
			if c.Advice != "" {
				check.Advice = types.StringValue(c.Advice)
			}
			model.Checks = append(model.Checks, check)
		}
		if facts := node.Facts; facts != nil {
			model.GPUs = types.Int64Value(int64(len(facts.GPUs)))
			if len(facts.GPUs) > 0 {
				model.GPUModel = types.StringValue(facts.GPUs[0].Name)
			}
			model.DriverVersion, model.OS = stringOrNull(facts.DriverVersion), stringOrNull(facts.OS)
			model.Kernel, model.OpenMPIVersion = stringOrNull(facts.Kernel), stringOrNull(facts.OpenMPIVersion)
		}
		if s := result.SummaryOf(job.ScopeNode, node.Name); s != nil {
			if peak, _, ok := s.Peak(); ok {
				model.PeakBusbwGBPerS = &peak
			}
		}
		nodes = append(nodes, model)
	}
	return nodes
}

func peakBusbw(report *job.Report) *float64 {
	if peak, _, ok := report.PeakBusbw(); ok {
		return &peak
	}
	return nil
}
