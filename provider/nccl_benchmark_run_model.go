// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"path"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// runModel is one nccl-tests run.
type runModel struct {
	Scope           string           `tfsdk:"scope"`
	Nodes           []string         `tfsdk:"nodes"`
	Repeat          int              `tfsdk:"repeat"`
	Purpose         types.String     `tfsdk:"purpose"`
	Outcome         string           `tfsdk:"outcome"`
	Failure         types.String     `tfsdk:"failure"`
	PeakBusbwGBPerS *float64         `tfsdk:"peak_busbw_gb_per_s"`
	Iterations      *steadinessModel `tfsdk:"iterations"`
	Seconds         float64          `tfsdk:"seconds"`
	ExitStatus      int              `tfsdk:"exit_status"`
	LogPath         string           `tfsdk:"log_path"`
	LogSHA256       string           `tfsdk:"log_sha256"`
}

// steadinessModel has the fields of job.Steadiness.
type steadinessModel struct {
	SizeBytes int64   `tfsdk:"size_bytes"`
	FastestUS float64 `tfsdk:"fastest_us"`
	MeanUS    float64 `tfsdk:"mean_us"`
	P99US     float64 `tfsdk:"p99_us"`
	SlowestUS float64 `tfsdk:"slowest_us"`
}

func runsFrom(result *job.Result) []runModel {
	models := make([]runModel, 0, len(result.Runs))
	for _, run := range result.Runs {
		model := runModel{
			Scope: string(run.Scope), Nodes: run.Nodes, Repeat: max(1, run.Repeat), Purpose: stringOrNull(run.Purpose), Outcome: string(run.Outcome),
			Seconds: run.Seconds, ExitStatus: run.ExitStatus,
			LogPath: path.Join("~", string(job.DirOf(result.Key)), run.LogFile), LogSHA256: run.LogSHA256,
		}
		if run.Failure != nil {
			model.Failure = types.StringValue(run.Failure.Message)
		}
		if run.Report != nil {
			model.PeakBusbwGBPerS = peakBusbw(run.Report)
			model.Iterations = (*steadinessModel)(run.Report.Steadiness())
		}
		models = append(models, model)
	}
	return models
}

// ncclModel is what NCCL's own log tells.
type ncclModel struct {
	Version       types.String       `tfsdk:"version"`
	Network       types.String       `tfsdk:"network"`
	Plugin        types.String       `tfsdk:"plugin"`
	Devices       []string           `tfsdk:"devices"`
	NoRDMADevice  bool               `tfsdk:"no_rdma_device"`
	Channels      map[string]int64   `tfsdk:"channels"`
	GPUDirectRDMA *bool              `tfsdk:"gpu_direct_rdma"`
	GIDIndexes    []int              `tfsdk:"gid_indexes"`
	QueuePairs    int                `tfsdk:"queue_pairs"`
	NVLSChannels  *int               `tfsdk:"nvls_channels"`
	Settings      map[string]string  `tfsdk:"settings"`
	Warnings      []ncclWarningModel `tfsdk:"warnings"`
}

type ncclWarningModel struct {
	Host    string `tfsdk:"host"`
	Message string `tfsdk:"message"`
}

func ncclFrom(log *job.NCCLLog) *ncclModel {
	if log == nil {
		return nil
	}
	model := &ncclModel{
		Version: stringOrNull(log.Version), Network: stringOrNull(log.Network), Plugin: stringOrNull(log.Plugin),
		Devices: append([]string{}, log.Devices...), NoRDMADevice: log.NoRDMADevice, Channels: map[string]int64{}, GPUDirectRDMA: log.GPUDirectRDMA,
		GIDIndexes: slices.Concat([]int{}, log.GIDIndexes), QueuePairs: log.QueuePairs, NVLSChannels: log.NVLSChannels, Settings: map[string]string{},
		Warnings: []ncclWarningModel{},
	}
	for name, count := range log.Channels {
		model.Channels[name] = int64(count)
	}
	for name, value := range log.Settings {
		model.Settings[name] = value
	}
	for _, w := range log.Warnings {
		model.Warnings = append(model.Warnings, ncclWarningModel(w))
	}
	return model
}
