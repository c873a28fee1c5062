// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// threeSizes are large enough to have a bus bandwidth on a busy machine: it has two decimals.
const threeSizes = "min_size_bytes = 65536\n  max_size_bytes = 262144\n  iterations = 2"

// compared is a pair of nodes that is measured twice: the second benchmark's baseline is the first one's summary.
func compared(l *lab.Lab, verdict string) string {
	return strings.Replace(measured(l, threeSizes, "repeats = 3"), `"ocihpc_nccl_benchmark" "this"`, `"ocihpc_nccl_benchmark" "before"`, 1) + fmt.Sprintf(`
resource "ocihpc_nccl_benchmark" "this" {
  nodes = ocihpc_gpu_cluster.this.nodes
  shape = ocihpc_gpu_cluster.this.shape
  %s
  %s
  %s
}
`, login(l), threeSizes, verdict)
}

func TestAccNCCLBenchmark_verdict(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	tf := acctest.NewTerraform(t, compared(l, `
  repeats  = 3
  triggers = { which = "this" }
  baseline = { from = ocihpc_nccl_benchmark.before.summary, max_regression_percent = 100 }
  expect   = { limits = [{ from_bytes = 65536, to_bytes = 262144, min_busbw_gb_per_s = 0, warn_busbw_gb_per_s = 9999 }] }`), l.Info.Environ()...)
	expectText(t, tf.Apply(), "Measured with a warning", "all_reduce is below the warning mark of 9999 GB/s bus bandwidth in 4 of 4 values", "median of 3")
	tf.ExpectNoChanges()

	before := tf.State("ocihpc_nccl_benchmark.before").Values
	if got := fmt.Sprint(before["remarks"]); before["outcome"] != "pass" || !strings.Contains(got, "the catalog's limits are for Tesla P100") {
		t.Errorf("outcome %v, remarks %s", before["outcome"], got)
	}
	this := tf.State(benchmarkAddress).Values
	if this["outcome"] != "warn" {
		t.Errorf("outcome %v", this["outcome"])
	}
	sizes := this["summary"].(map[string]any)["sizes"].([]any)
	if values := sizes[2].(map[string]any)["in_place"].(map[string]any)["values_gb_per_s"].([]any); len(sizes) != 3 || len(values) != 3 {
		t.Errorf("%d sizes, the last of %d values", len(sizes), len(values))
	}
	if runs := this["runs"].([]any); len(runs) != 9 { // 3 on each of 2 nodes, 3 over both
		t.Errorf("%d runs: %v", len(runs), runs)
	}
	for _, run := range this["runs"].([]any) {
		values := run.(map[string]any)
		if path := fmt.Sprint(values["log_path"]); !strings.HasPrefix(path, "~/.ocihpc/jobs/") || len(fmt.Sprint(values["log_sha256"])) != 64 {
			t.Errorf("run: %v", values)
		}
	}
	regressions := this["regressions"].([]any)
	if last := regressions[len(regressions)-1].(map[string]any); last["p_value"] == nil || last["outcome"] != "pass" {
		t.Errorf("regression: %v", last)
	}
	if limits := fmt.Sprint(this["limits"]); !strings.Contains(limits, "origin:expect") || !strings.Contains(limits, "sizes:2") {
		t.Errorf("limits: %s", limits)
	}
	nccl := this["nccl"].(map[string]any)
	if channels := nccl["channels"].(map[string]any); nccl["network"] != "Socket" || channels["NET/Socket"] == nil {
		t.Errorf("NCCL's log: %v", nccl)
	}
	if env := this["used_environment"].(map[string]any); env["NCCL_DEBUG"] != "INFO" || this["latency_us"] == nil {
		t.Errorf("environment %v, latency %v", env, this["latency_us"])
	}

	tf.Configure(compared(l, `
  on_failure = "warn"
  baseline   = {
    from                   = { sizes = [{ size_bytes = 262144, in_place = { median_busbw_gb_per_s = 100000 } }] }
    max_regression_percent = 5
  }`))
	expectText(t, tf.Apply(), "Unable to accept nodes", "all_reduce is slower than the baseline in 1 of 1 values")
	if this := tf.State(benchmarkAddress).Values; this["outcome"] != "fail" || !strings.Contains(fmt.Sprint(this["remarks"]), "too few to tell") {
		t.Errorf("outcome %v, remarks %v", this["outcome"], this["remarks"])
	}

	tf.Configure(compared(l, `transport = "rdma"`))
	status, output := tf.Run("apply", "-auto-approve", "-no-color", "-input=false")
	if status == 0 {
		t.Errorf("sockets were accepted:\n%s", output)
	}
	expectText(t, output, "nodes talked by TCP sockets over eth0, not by RDMA", "NCCL found no RDMA device")
	tf.Destroy()
}
