// SPDX-License-Identifier: MPL-2.0

// Package examples runs what users copy: each example, the modules with their own tests, and the stack of Resource
// Manager. It is for `make test-examples`, with a Terraform of choice.
package examples

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// skipUnlessAsked keeps what takes minutes out of `make test`, where the configurations are validated.
func skipUnlessAsked(t *testing.T) {
	t.Helper()
	if os.Getenv("OCIHPC_TEST_EXAMPLES") == "" {
		t.Skip("run `make test-examples`")
	}
}

// ours is the provider alone, as [acctest.NewTerraformOf] takes it.
func ours(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{acctest.Source: acctest.Provider(t)}
}

// examples are executed one after the other in one lab.
var examples = map[string]func(*testing.T, *lab.Lab){
	"quickstart":       quickstart,
	"gpu-cluster-rdma": gpuClusterRDMA,
	"ci-gate":          ciGate,
	"replace-bad-node": replaceBadNode,
}

// elsewhere are examples with tests of their own.
var elsewhere = []string{"bring-your-own-nodes", "single-gpu-instance"}

func TestExamples(t *testing.T) {
	skipUnlessAsked(t)
	l := containertest.StartLab(t, lab.Config{Scenario: ocisim.Scenario{
		TagNamespaces: map[string][]string{"ComputeInstanceHostActions": {"CustomerReportedHostStatus"}},
	}})
	folders, err := filepath.Glob("../../examples/*/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		name := filepath.Base(filepath.Dir(folder))
		switch run, known := examples[name]; {
		case known:
			t.Run(name, func(t *testing.T) { run(t, l) })
		case !slices.Contains(elsewhere, name):
			t.Errorf("examples/%s is executed by no test", name)
		}
	}
	expectNothingLeft(t, l)
}

// sizes are small, for the lab measures the memory of this machine.
var sizes = map[string]any{"min_size_bytes": 65536, "max_size_bytes": 262144}

// example copies an example, and gives values to variables of it beside sizes and what the lab's environment has.
func example(t *testing.T, l *lab.Lab, name string, variables map[string]any) *acctest.Terraform {
	t.Helper()
	tf := acctest.NewTerraformOf(t, "../../examples/"+name, "", ours(t), l.Info.Environ()...)
	set(tf, variables)
	return tf
}

func set(tf *acctest.Terraform, variables map[string]any) {
	all := map[string]any{}
	for _, some := range []map[string]any{sizes, variables} {
		for name, value := range some {
			all[name] = value
		}
	}
	tf.SetVariables(all)
}

// apply applies an example, whose next plan must be empty. The caller destroys it.
func apply(t *testing.T, tf *acctest.Terraform) {
	t.Helper()
	tf.Apply()
	tf.ExpectNoChanges()
}

// expectOutput fails the test unless an output begins so.
func expectOutput(t *testing.T, tf *acctest.Terraform, name, want string) {
	t.Helper()
	var got string
	if tf.Output(name, &got); !strings.HasPrefix(got, want) {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// expectFile fails the test unless a file of the working directory has a text.
func expectFile(t *testing.T, tf *acctest.Terraform, name, want string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tf.Dir(), name))
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s has no %q (%v)", name, want, err)
	}
}

// expectFailure applies, and fails the test unless that fails and says why.
func expectFailure(t *testing.T, tf *acctest.Terraform, why string, arguments ...string) {
	t.Helper()
	status, output := tf.Run(append([]string{"apply", "-auto-approve", "-no-color", "-input=false"}, arguments...)...)
	if status == 0 || !strings.Contains(output, why) {
		t.Errorf("exit status %d, and no %q:\n%s", status, why, output)
	}
}

// small has two GPUs a node and no RDMA.
const small = "BM.GPU2.2"

func quickstart(t *testing.T, l *lab.Lab) {
	tf := example(t, l, "quickstart", map[string]any{"shape": small, "timezone": "Asia/Tokyo"})
	defer tf.Destroy()
	apply(t, tf)
	expectOutput(t, tf, "verdict", "pass: 4 ranks on 2 hosts")
	expectFile(t, tf, "report.html", "result of the lab")
}

// TestSingleGPUInstance has a lab whose hosts run services.
func TestSingleGPUInstance(t *testing.T) {
	skipUnlessAsked(t)
	l := containertest.StartLab(t, lab.Config{Init: lab.InitSystemd})
	releases, _ := containertest.Releases(t)
	tf := example(t, l, "single-gpu-instance", map[string]any{
		"timezone": "Asia/Tokyo", "container_image": nil, "mirror": containertest.ServeDir(t, l, releases), "versions": map[string]string{"nerdctl": "none"},
	})
	defer tf.Destroy()
	apply(t, tf)
	expectOutput(t, tf, "verdict", "warn: 8 GPUs") // systemd finds nobody to set the clock
	status, err := l.Status(t.Context())
	if err != nil || len(status.Hosts) != 1 {
		t.Fatalf("%d hosts (%v)", len(status.Hosts), err)
	}
	const line = "findmnt --noheadings --output FSTYPE /mnt/localdisk; systemctl is-active containerd; ls -d /mnt/localdisk/containers"
	if got := containertest.Run(t, l, status.Hosts[0], line); got != "xfs\nactive\n/mnt/localdisk/containers\n" {
		t.Errorf("the node has %q", got)
	}
}

func gpuClusterRDMA(t *testing.T, l *lab.Lab) {
	tf := example(t, l, "gpu-cluster-rdma", map[string]any{"timezone": "Asia/Tokyo", "min_busbw_gb_per_s": nil})
	defer tf.Destroy()
	apply(t, tf)
	expectOutput(t, tf, "verdict", "pass")
	expectFile(t, tf, "report/junit.xml", "<testsuite")
	t.Run("bring-your-own-nodes", func(t *testing.T) {
		var nodes []map[string]string
		tf.Output("nodes", &nodes)
		for _, node := range nodes {
			delete(node, "id")
		}
		// Of the lab it knows how to log in, and no credentials.
		environ := slices.DeleteFunc(l.Info.Environ(), func(v string) bool { return !strings.HasPrefix(v, "TF_VAR_") })
		own := acctest.NewTerraformOf(t, "../../examples/bring-your-own-nodes", "", ours(t), environ...)
		set(own, map[string]any{"nodes": nodes})
		defer own.Destroy()
		apply(t, own)
		expectOutput(t, own, "verdict", "pass")
		var peaks map[string]float64
		if own.Output("peak_busbw_gb_per_s", &peaks); len(peaks) != 3 || peaks["all"] <= 0 {
			t.Errorf("peaks: %v", peaks)
		}
	})
}

func ciGate(t *testing.T, l *lab.Lab) {
	tf := example(t, l, "ci-gate", map[string]any{"shape": small})
	defer tf.Destroy()
	apply(t, tf)
	expectOutput(t, tf, "outcome", "pass")
	summary := tf.Must("output", "-json", "summary")
	if err := os.WriteFile(filepath.Join(tf.Dir(), "baseline.json"), []byte(summary), 0o600); err != nil {
		t.Fatal(err)
	}
	set(tf, map[string]any{"shape": small, "min_busbw_gb_per_s": 9999, "baseline_path": "baseline.json"})
	expectFailure(t, tf, "9999 GB/s")
	expectFile(t, tf, "report/junit.xml", "<failure message=\"all_reduce is below the expected 9999 GB/s")
	if compared := tf.State("ocihpc_nccl_benchmark.gate").Values["regressions"].([]any); len(compared) == 0 {
		t.Error("nothing was compared with the baseline")
	}
}

func replaceBadNode(t *testing.T, l *lab.Lab) {
	variables := map[string]any{"shape": small, "size": 2, "min_busbw_gb_per_s": nil}
	tf := example(t, l, "replace-bad-node", variables)
	defer tf.Destroy()
	apply(t, tf)
	var nodes map[string]string
	tf.Output("nodes", &nodes)
	var bad string
	for _, id := range nodes {
		bad = id
	}
	gpu := 1
	if err := l.SetFault(t.Context(), bad, lab.Fault{WrongGPU: &gpu}); err != nil {
		t.Fatal(err)
	}
	expectFailure(t, tf, bad, "-replace=ocihpc_nccl_benchmark.this")

	variables["replace_nodes"] = tf.State("ocihpc_nccl_benchmark.this").Values["replace_nodes"]
	set(tf, variables)
	tf.Apply()
	tf.ExpectNoChanges()
	expectOutput(t, tf, "verdict", "pass")
	var now map[string]string
	tf.Output("nodes", &now)
	for name, id := range now {
		if id == bad || len(now) != 2 {
			t.Errorf("%s is %s still, among %d nodes", name, id, len(now))
		}
	}
}
