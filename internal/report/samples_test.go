// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func ptr[T any](v T) *T { return &v }

// sampleReport is an all_reduce whose bandwidth saturates at peak.
func sampleReport(hosts []string, device string, peak float64) *job.Report {
	r := &job.Report{Collective: "all_reduce", NCCLTestsVersion: "2.19.6", OutOfBounds: ptr(int64(0)), Complete: true}
	for h, host := range hosts {
		for d := range 8 {
			r.Ranks = append(r.Ranks, job.Rank{Rank: 8*h + d, Host: host, Device: d, Name: device})
		}
	}
	half := func(size, factor float64) *job.Placement {
		bus := peak * factor * size / (size + 24e6)
		alg := bus * 16 / 30
		return &job.Placement{TimeUS: ptr(28 + size/alg/1e3), AlgbwGBPerS: &alg, BusbwGBPerS: &bus, WrongResults: ptr(int64(0))}
	}
	for size := int64(8); size <= 8<<30; size *= 4 {
		r.Rows = append(r.Rows, job.Row{SizeBytes: size, Count: size / 4, Type: "float", RedOp: "sum", Root: ptr(-1),
			OutOfPlace: half(float64(size), 1), InPlace: half(float64(size), 0.985)})
	}
	r.AvgBusbwGBPerS = ptr(peak / 2)
	return r
}

func sampleNode(i int) job.NodeResult {
	n := job.NodeResult{
		Name: fmt.Sprintf("inst-ab3d%c-gpu", 'e'+i), Address: fmt.Sprintf("10.0.1.%d", 11+i),
		Facts: &job.Facts{OS: "Oracle Linux Server 8.10", Kernel: "5.15.0-300.163.18.el8uek", Arch: "x86_64", DriverVersion: "580.65.06", OpenMPIVersion: "4.1.5"},
	}
	for g := range 8 {
		n.Facts.GPUs = append(n.Facts.GPUs, job.GPU{Index: g, Name: "NVIDIA A100-SXM4-40GB"})
	}
	for _, name := range []string{"cloud_init", "gpu_count", "timezone", "mounts", "firewall"} {
		n.Checks = append(n.Checks, job.Check{Name: name, Outcome: job.Pass, Message: "as expected"})
	}
	return n
}

// sampleResult is a good run over so many nodes.
func sampleResult(nodes int, device string) job.Result {
	r := job.Result{Version: job.Version, Key: "9f86d081884c7d65", Outcome: job.Pass,
		StartedAt: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC), FinishedAt: time.Date(2026, 11, 20, 9, 33, 7, 0, time.UTC)}
	var names []string
	for i := range nodes {
		node := sampleNode(i)
		r.Nodes = append(r.Nodes, node)
		names = append(names, node.Name)
		r.Runs = append(r.Runs, sampleRun(job.ScopeNode, []string{node.Name}, sampleReport([]string{node.Name}, device, 228+float64(i%7))))
	}
	r.Runs = append(r.Runs, sampleRun(job.ScopeAll, names, sampleReport(names, device, 186)))
	return r
}

func sampleRun(scope job.Scope, nodes []string, report *job.Report) job.Measurement {
	return job.Measurement{Scope: scope, Nodes: nodes, Outcome: job.Pass, Report: report, Seconds: 41.3,
		Command:     []string{"mpirun", "--hostfile", "hosts", "-np", fmt.Sprint(len(report.Ranks)), "--mca", "pml", "ucx", "/opt/oci-hpc/nccl-tests/build/all_reduce_perf", "-b", "8", "-e", "8589934592", "-f", "4"},
		Environment: map[string]string{"NCCL_IB_HCA": "=mlx5_0,mlx5_1,mlx5_2", "NCCL_DEBUG": "WARN", "UCX_TLS": "ud,self,sm"},
		LogFile:     "all_nodes.log", LogSHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
}

// samples are the results that the reports must show well.
func samples() map[string]job.Result {
	good := sampleResult(2, "NVIDIA A100-SXM4-40GB")

	lab := sampleResult(2, "lab NVIDIA A100-SXM4-40GB (host memory)")

	slow := sampleResult(4, "NVIDIA A100-SXM4-40GB")
	slow.Outcome = job.Fail
	slow.Failure = &job.Failure{Kind: "too_slow",
		Message: "all_reduce is below the expected 220 GB/s bus bandwidth in 4 of 4 values: 180.9 GB/s at 2 GiB out of place, 178.2 GB/s at 2 GiB in place, 185 GB/s at 8 GiB out of place and 1 more",
		Advice:  "compare the runs of each node alone to find a slow node; if all are good, look at the network between them"}
	slow.Overall().Outcome, slow.Overall().Failure = job.Fail, slow.Failure
	slow.Nodes[2].Checks[2] = job.Check{Name: "timezone", Outcome: job.Warn, Message: "the time zone is Etc/UTC, Asia/Tokyo was expected", Advice: "set it in cloud-init"}
	slow.Nodes[3].Checks[4] = job.Check{Name: "firewall", Outcome: job.CannotTell, Message: "neither nft nor iptables can be asked"}
	alone := slow.Alone(slow.Nodes[1].Name)
	alone.Report, alone.Outcome = sampleReport(alone.Nodes, "NVIDIA A100-SXM4-40GB", 96), job.Fail
	alone.Failure = &job.Failure{Kind: "too_slow", Message: "all_reduce is below the expected 200 GB/s bus bandwidth in 2 of 2 values: 95.73 GB/s at 8 GiB out of place, 94.3 GB/s at 8 GiB in place", Advice: "look at NVLink: nvidia-smi nvlink --status"}

	broken := sampleResult(2, "NVIDIA A100-SXM4-40GB")
	broken.Outcome = job.CouldNotRun
	broken.Failure = &job.Failure{Kind: "unreachable", Node: broken.Nodes[1].Name, Message: "the node does not answer on port 22", Advice: "look at the instance's console"}
	broken.Nodes[1].Facts, broken.Nodes[1].Checks = nil, nil
	broken.Runs = nil

	crowd := sampleResult(16, "NVIDIA A100-SXM4-40GB")

	return map[string]job.Result{"found": foundResult(), "compared": comparedResult(), "good": good, "lab": lab, "slow": slow, "broken": broken, "crowd": crowd, "empty": {}}
}

// foundResult is a run over eight nodes that misses its mark, and the search that names one of them.
func foundResult() job.Result {
	const bad = 5
	r := sampleResult(8, "NVIDIA A100-SXM4-40GB")
	r.Outcome = job.Fail
	r.Failure = &job.Failure{Kind: "too_slow", Message: "all_reduce is below the expected 185 GB/s bus bandwidth in 2 of 2 values: 41.2 GB/s at 8 GiB out of place, 40.6 GB/s at 8 GiB in place",
		Advice: "replace the suspects"}
	overall := r.Overall()
	overall.Outcome, overall.Failure = job.Fail, r.Failure
	overall.Report = sampleReport(overall.Nodes, "NVIDIA A100-SXM4-40GB", 41.4)
	overall.Limits = []job.AppliedLimit{{Limit: job.Limit{FromBytes: 1 << 30, MinBusbwGBPerS: ptr(185.0), WarnBusbwGBPerS: ptr(200.0)}, Origin: "catalog: oci-hpc", Sizes: 2}}
	pair := func(a, b, round int) {
		peak, outcome := 224.0, job.Pass
		if a == bad || b == bad {
			peak, outcome = 42, job.Fail
		}
		names := []string{r.Nodes[a].Name, r.Nodes[b].Name}
		run := sampleRun(job.ScopeGroup, names, sampleReport(names, "NVIDIA A100-SXM4-40GB", peak))
		run.Outcome, run.Purpose = outcome, fmt.Sprintf("pairs, round %d", round)
		r.Runs = append(r.Runs, run)
	}
	for a := 0; a < 8; a += 2 {
		pair(a, a+1, 1)
	}
	pair(4, 0, 2)
	pair(bad, 2, 2)
	r.Suspects = []job.Suspect{{Kind: job.SuspectNode, Nodes: []string{r.Nodes[bad].Name}, Confidence: job.Certain, Replace: true, Evidence: []string{
		"with inst-ab3di-gpu: 41.9 GB/s at 8 GiB, the other pairs reach 223.4 GB/s",
		"with inst-ab3dg-gpu: 41.9 GB/s at 8 GiB, which reaches 223.4 GB/s with another"}}}
	r.ReplaceNodes = []string{"ocid1.instance.oc1.ap-tokyo-1.aaaaaaaafound"}
	r.Conclusion = "6 runs in 2 rounds found 1 suspect"
	return r
}

// comparedResult is a run with repeats that is compared with an earlier one, and told by NCCL's own log.
func comparedResult() job.Result {
	r := sampleResult(2, "NVIDIA A100-SXM4-40GB")
	overall := r.Overall()
	overall.NCCL = &job.NCCLLog{Version: "2.28.3+cuda13.0", Network: "IB", Devices: []string{"mlx5_0:1/RoCE"}, Channels: map[string]int{"NET/IB": 16, "P2P/CUMEM": 112}, GPUDirectRDMA: ptr(true), GIDIndexes: []int{3}}
	s := job.Summary{Scope: job.ScopeAll, Nodes: overall.Nodes, Outcome: job.Warn, Repeats: 3, Runs: 3}
	for i, row := range overall.Report.Rows {
		v := *row.OutOfPlace.BusbwGBPerS
		s.Sizes = append(s.Sizes, job.SizeSummary{SizeBytes: row.SizeBytes, OutOfPlace: job.NewSpread([]float64{v * 0.96, v, v * 1.03}), InPlace: job.NewSpread([]float64{v * 0.95, v * 0.98, v})})
		if i > 12 {
			s.Regressions = append(s.Regressions, job.Regression{SizeBytes: row.SizeBytes, Placement: "out_of_place", BaselineGBPerS: v * 1.08, BusbwGBPerS: v, SlowerPercent: 7.4, PValue: ptr(0.05), Outcome: job.Warn})
		}
	}
	r.Summaries = []job.Summary{s}
	r.Tuned = &job.Tuned{Environment: map[string]string{"NCCL_ALGO": "Ring"}, SizeBytes: 8 << 30, Conclusion: "NCCL_ALGO=Ring gives 190.1 GB/s (189.7 to 190.4) in place of 185.3 (184.9 to 185.6): +2.6 %",
		Trials: []job.Trial{{BusbwGBPerS: ptr(185.4)}, {Environment: map[string]string{"NCCL_ALGO": "Ring"}, BusbwGBPerS: ptr(190.2)}, {Environment: map[string]string{"NCCL_ALGO": "Tree"}, Problem: "NCCL failed"}}}
	return r
}
