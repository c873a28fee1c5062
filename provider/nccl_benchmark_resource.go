// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/report"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

var (
	_ resource.Resource                     = (*ncclBenchmarkResource)(nil)
	_ resource.ResourceWithConfigure        = (*ncclBenchmarkResource)(nil)
	_ resource.ResourceWithModifyPlan       = (*ncclBenchmarkResource)(nil)
	_ resource.ResourceWithConfigValidators = (*ncclBenchmarkResource)(nil)
)

// NewNCCLBenchmarkResource makes ocihpc_nccl_benchmark.
func NewNCCLBenchmarkResource() resource.Resource { return &ncclBenchmarkResource{} }

type ncclBenchmarkResource struct{ data *providerData }

func (r *ncclBenchmarkResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_nccl_benchmark"
}

func (r *ncclBenchmarkResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = ncclBenchmarkSchema(ctx)
}

func (r *ncclBenchmarkResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.data = providerDataFrom(req.ProviderData, &resp.Diagnostics)
}

func (r *ncclBenchmarkResource) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{benchmarkSizes{}, benchmarkShape{}, benchmarkLauncher{}, distinctNodes{}}
}

func (r *ncclBenchmarkResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan ncclBenchmarkModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	timeout, diags := plan.Timeouts.Create(ctx, defaultBenchmarkTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.measure(ctx, &plan, nil, timeout, &resp.Diagnostics) {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

func (r *ncclBenchmarkResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {
	// A measurement is a fact of the past: there is nothing to read again.
}

func (r *ncclBenchmarkResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state ncclBenchmarkModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !plan.Outcome.IsUnknown() { // nothing is to be measured
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
		return
	}
	timeout, diags := plan.Timeouts.Update(ctx, defaultBenchmarkTimeout)
	resp.Diagnostics.Append(diags...)
	known := map[string]string{}
	resp.Diagnostics.Append(state.HostKeys.ElementsAs(ctx, &known, false)...)
	if resp.Diagnostics.HasError() {
		return
	}
	keepOwn(known, jobNodes(plan.Nodes))
	if r.measure(ctx, &plan, known, timeout, &resp.Diagnostics) {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// Delete leaves the rest to the framework, which takes it out of the state; the nodes keep nothing but the job's directory.
func (r *ncclBenchmarkResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var id types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
	r.data.dropped.Store(id.ValueString(), true)
}

// measure runs the job and fills the model. It says whether there is something to keep in the state.
func (r *ncclBenchmarkResource) measure(ctx context.Context, m *ncclBenchmarkModel, known map[string]string, timeout time.Duration, diags *diag.Diagnostics) bool {
	j := m.toJob(timeout)
	if _, dropped := r.data.dropped.LoadAndDelete(j.Key()); dropped {
		j.MaxAgeSeconds = 1 // -replace asks for a new measurement, and not for the pass that is on the nodes
	}
	outcome, ok := r.data.execute(ctx, execution{
		verb: "measure", noun: "measurement", ssh: &m.SSH, known: known, job: j, timeout: timeout,
	}, diags)
	if !ok {
		return false
	}
	diags.Append(m.fromResult(ctx, outcome.Result, outcome.HostKeys)...)
	m.writeReports(outcome.Result, diags)
	return m.judge(outcome.Result, diags)
}

// judge turns the outcome into diagnostics and says whether the result is to be kept.
func (m *ncclBenchmarkModel) judge(result *job.Result, diags *diag.Diagnostics) bool {
	summary := unableTo("accept", "nodes", nodesName(jobNodes(m.Nodes)))
	switch result.Outcome {
	case job.Fail:
		if m.OnFailure.ValueString() == onFailureWarn {
			diags.AddWarning(summary, explainFailure(result)+explainSuspects(result))
		} else {
			diags.AddError(summary, explainFailure(result)+explainSuspects(result))
		}
	case job.Warn:
		diags.AddWarning("Measured with a warning: "+nodesName(jobNodes(m.Nodes)), explainFailure(result))
	case job.CouldNotRun:
		diags.AddError(unableTo("measure", "nodes", nodesName(jobNodes(m.Nodes))), explainFailure(result)+explainSuspects(result))
		return false
	case job.Pass, job.CannotTell:
	}
	return true
}

// writeReports writes what the user asked for. The measurement stands without them.
func (m *ncclBenchmarkModel) writeReports(result *job.Result, diags *diag.Diagnostics) {
	if file := m.ReportPath.ValueString(); file != "" {
		var page bytes.Buffer
		err := report.HTML(&page, *result)
		if err == nil {
			err = os.WriteFile(file, page.Bytes(), 0o600)
		}
		if err != nil {
			diags.AddAttributeWarning(path.Root("report_path"), unableTo("write", "report", file), err.Error())
		}
	}
	if dir := m.ReportDirectory.ValueString(); dir != "" {
		if _, err := report.Files(dir, *result); err != nil {
			diags.AddAttributeWarning(path.Root("report_directory"), unableTo("write", "reports", dir), err.Error())
		}
	}
}

type benchmarkSizes struct{}

func (benchmarkSizes) Description(context.Context) string {
	return "max_size_bytes is not below min_size_bytes"
}
func (v benchmarkSizes) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (benchmarkSizes) ValidateResource(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var least, most types.Int64
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("min_size_bytes"), &least)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("max_size_bytes"), &most)...)
	if least.IsNull() || most.IsNull() || least.IsUnknown() || most.IsUnknown() {
		return
	}
	if most.ValueInt64() < least.ValueInt64() {
		resp.Diagnostics.AddAttributeError(path.Root("max_size_bytes"), "Invalid range of sizes",
			fmt.Sprintf("max_size_bytes (%d) is below min_size_bytes (%d).", most.ValueInt64(), least.ValueInt64()))
	}
}

type benchmarkShape struct{}

func (benchmarkShape) Description(context.Context) string               { return "shape has NVIDIA GPUs" }
func (v benchmarkShape) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (benchmarkShape) ValidateResource(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var name types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("shape"), &name)...)
	known, ok := shape.Lookup(name.ValueString())
	if !ok {
		return // Unknown yet, or newer than the catalog: the nodes themselves will tell.
	}
	if known.GPUVendor != shape.NVIDIA {
		resp.Diagnostics.AddAttributeError(path.Root("shape"), "Shape without NVIDIA GPUs",
			fmt.Sprintf("%s has no NVIDIA GPUs, and nccl-tests runs on no others. "+
				"There is no path for RCCL (AMD) yet.", known.Name))
	}
}
