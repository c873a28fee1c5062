// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
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
	return []resource.ConfigValidator{benchmarkSizes{}, benchmarkShape{}, benchmarkNodes{}}
}

// ModifyPlan plans a new measurement where the last verdict was a failure that must not stand.
func (r *ncclBenchmarkResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() {
		return
	}
	var last, onFailure types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("outcome"), &last)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("on_failure"), &onFailure)...)
	if resp.Diagnostics.HasError() || last.ValueString() != string(job.Fail) || onFailure.ValueString() != onFailureFail {
		return
	}
	unknown := map[string]any{
		"outcome": types.StringUnknown(), "failure": types.StringUnknown(), "measured_at": types.StringUnknown(),
		"ranks": types.Int64Unknown(), "hosts": types.Int64Unknown(), "wrong": types.Int64Unknown(),
		"peak_busbw_gb_per_s": types.Float64Unknown(), "nccl_tests_version": types.StringUnknown(),
		"results": types.ListUnknown(benchmarkRowType), "per_node": types.ListUnknown(nodeResultType),
		"host_keys": types.MapUnknown(types.StringType),
	}
	for name, value := range unknown {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
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
	timeout, diags := plan.Timeouts.Update(ctx, defaultBenchmarkTimeout)
	resp.Diagnostics.Append(diags...)
	known := map[string]string{}
	resp.Diagnostics.Append(state.HostKeys.ElementsAs(ctx, &known, false)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.keepOwn(known)
	if r.measure(ctx, &plan, known, timeout, &resp.Diagnostics) {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

func (r *ncclBenchmarkResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
	// The framework takes it out of the state; the nodes keep nothing but the job's directory.
}

// measure runs the job and fills the model. It says whether there is something to keep in the state.
func (r *ncclBenchmarkResource) measure(ctx context.Context, m *ncclBenchmarkModel, known map[string]string, timeout time.Duration, diags *diag.Diagnostics) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	access, err := m.SSH.access(ctx, r.data.SSHPrivateKey, known)
	if err != nil {
		diags.AddAttributeError(path.Root("ssh"), unableTo("measure", "nodes", m.head()), sentence(err.Error()))
		return false
	}
	defer access.close()

	runners, err := r.data.runners()
	if err != nil {
		diags.AddError(unableTo("measure", "nodes", m.head()), sentence(err.Error()))
		return false
	}
	access.OnWait = func(host string, reason error) {
		tflog.Info(ctx, "benchmark: waiting for "+host, map[string]any{"reason": reason.Error()})
	}
	outcome, err := remote.Execute(ctx, access.Access, m.toJob(timeout), runners, logEvent(ctx))
	if outcome.CleanupErr != nil {
		diags.AddWarning(unableTo("clean up", "nodes", m.head()),
			sentence(outcome.CleanupErr.Error())+"\n\nThe key is good for this job alone, and it expires by itself.")
	}
	if err != nil {
		diags.AddError(unableTo("measure", "nodes", m.head()), explainExecute(err, timeout))
		return false
	}
	diags.Append(m.fromResult(ctx, outcome.Result, outcome.HostKeys)...)
	m.writeReport(outcome.Result, diags)
	return m.judge(outcome.Result, diags)
}

// keepOwn drops the host keys of nodes that are no longer listed.
func (m *ncclBenchmarkModel) keepOwn(hostKeys map[string]string) {
	own := map[string]bool{remote.BastionID: true}
	for _, node := range m.toJob(0).Nodes {
		own[remote.HostKeyID(node)] = true
	}
	maps.DeleteFunc(hostKeys, func(id, _ string) bool { return !own[id] })
}

// judge turns the outcome into diagnostics and says whether the result is to be kept.
func (m *ncclBenchmarkModel) judge(result *job.Result, diags *diag.Diagnostics) bool {
	summary := unableTo("accept", "nodes", m.head())
	switch result.Outcome {
	case job.Fail:
		if m.OnFailure.ValueString() == onFailureWarn {
			diags.AddWarning(summary, explainFailure(result))
		} else {
			diags.AddError(summary, explainFailure(result))
		}
	case job.Warn:
		diags.AddWarning("Measured with a warning: "+m.head(), explainFailure(result))
	case job.CouldNotRun:
		diags.AddError(unableTo("measure", "nodes", m.head()), explainFailure(result))
		return false
	case job.Pass, job.CannotTell:
	}
	return true
}

// head names the cluster in messages by its first node.
func (m *ncclBenchmarkModel) head() string {
	j := m.toJob(0)
	if len(j.Nodes) == 1 {
		return j.Nodes[0].Name
	}
	return fmt.Sprintf("%s and %d more", j.Nodes[0].Name, len(j.Nodes)-1)
}

func (m *ncclBenchmarkModel) writeReport(result *job.Result, diags *diag.Diagnostics) {
	file := m.ReportPath.ValueString()
	if file == "" {
		return
	}
	var page bytes.Buffer
	err := report.HTML(&page, *result)
	if err == nil {
		err = os.WriteFile(file, page.Bytes(), 0o600)
	}
	if err != nil { // The measurement stands without its report.
		diags.AddAttributeWarning(path.Root("report_path"), unableTo("write", "report", file), err.Error())
	}
}

// explainFailure says what happened, where, and what to do next; then each check that did not pass.
func explainFailure(result *job.Result) string {
	var paragraphs []string
	if failure := result.Failure; failure != nil {
		paragraphs = append(paragraphs, sentence(failure.Message))
		if failure.Node != "" {
			paragraphs = append(paragraphs, "Node: "+failure.Node)
		}
		if failure.Advice != "" {
			paragraphs = append(paragraphs, sentence(failure.Advice))
		}
	}
	for _, node := range result.Nodes {
		for _, check := range node.Checks {
			if check.Outcome == job.Fail || check.Outcome == job.Warn {
				paragraphs = append(paragraphs, fmt.Sprintf("%s: check %s: %s: %s",
					node.Name, check.Name, check.Outcome, sentence(check.Message)))
			}
		}
	}
	paragraphs = append(paragraphs, fmt.Sprintf("Everything that was printed is on the head node in ~/%s.", job.DirOf(result.Key)))
	return strings.Join(paragraphs, "\n\n")
}

func explainExecute(err error, timeout time.Duration) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "Interrupted. The measurement goes on on the head node; the next apply picks it up from there."
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("Not done within %s: %s\n\nThe next apply picks up a measurement that is still running. "+
			"If the cluster needs longer, raise timeouts.create and timeouts.update.", timeout, err)
	default:
		return sentence(err.Error())
	}
}

// logEvent logs what the runner reports: INFO for phases, DEBUG for the rest.
func logEvent(ctx context.Context) func(job.Event) {
	return func(e job.Event) {
		fields := map[string]any{"phase": e.Phase, "node": e.Node, "outcome": e.Outcome, "done": e.Done, "total": e.Total}
		switch e.Type {
		case job.EventPhaseStarted, job.EventPhaseFinished, job.EventStarted, job.EventResult:
			tflog.Info(ctx, "benchmark: "+string(e.Type)+" "+e.Message, fields)
		case job.EventNode, job.EventOutput:
			tflog.Debug(ctx, "benchmark: "+e.Message, fields)
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

type benchmarkNodes struct{}

func (benchmarkNodes) Description(context.Context) string               { return "each node is listed once" }
func (v benchmarkNodes) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (benchmarkNodes) ValidateResource(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var nodes types.List
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("nodes"), &nodes)...)
	if nodes.IsNull() || nodes.IsUnknown() {
		return
	}
	first := map[string]int{}
	for i, element := range nodes.Elements() {
		node, ok := element.(types.Object)
		if !ok {
			continue
		}
		address, ok := node.Attributes()["private_ip"].(types.String)
		if !ok || address.IsNull() || address.IsUnknown() {
			continue
		}
		if j, seen := first[address.ValueString()]; seen {
			resp.Diagnostics.AddAttributeError(path.Root("nodes").AtListIndex(i).AtName("private_ip"), "Node listed twice",
				fmt.Sprintf("%s is the address of nodes[%d] as well.", address.ValueString(), j))
			continue
		}
		first[address.ValueString()] = i
	}
}
