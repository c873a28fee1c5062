// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

const benchmarkAddress = "ocihpc_nccl_benchmark.this"

// startLab starts a region whose instances are hosts, for as long as the test.
func startLab(t *testing.T) *lab.Lab {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("acceptance test: set TF_ACC=1 to run it")
	}
	l, err := lab.Start(t.Context(), lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// pair is a cluster of two small GPU nodes.
func pair(l *lab.Lab) string {
	i := l.Info
	return fmt.Sprintf(`
resource "ocihpc_gpu_cluster" "this" {
  display_name        = "small"
  compartment_id      = %q
  availability_domain = %q
  subnet_id           = %q
  image_id            = %q
  shape               = "BM.GPU2.2"
  interconnect        = "none"
  size                = 2
  ssh_authorized_keys = %q
}
`, i.CompartmentID, i.AvailabilityDomain, i.SubnetID, i.ImageID, i.SSHAuthorizedKeys)
}

// login is how the nodes of a lab are reached.
func login(l *lab.Lab) string {
	i := l.Info
	return fmt.Sprintf(`ssh = {
    private_key_path = %q
    bastion = {
      host     = %q
      port     = %d
      user     = %q
      host_key = %q
    }
  }`, i.SSHPrivateKeyPath, i.BastionHost, i.BastionPort, i.BastionUser, i.BastionHostKey)
}

// measured is a pair of nodes and its benchmark. More attributes of the benchmark are given as lines.
func measured(l *lab.Lab, more ...string) string {
	return pair(l) + fmt.Sprintf(`
resource "ocihpc_nccl_benchmark" "this" {
  nodes = ocihpc_gpu_cluster.this.nodes
  shape = ocihpc_gpu_cluster.this.shape
  %s
  %s
}
`, login(l), strings.Join(more, "\n  "))
}

// A sweep that is short, and one that lasts long enough to be held.
const (
	quick = "max_size_bytes = 4096\n  iterations = 2"
	long  = "max_size_bytes = 262144\n  iterations = 100"
)

func TestAccNCCLBenchmark(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	report := filepath.Join(t.TempDir(), "report.html")
	tf := acctest.NewTerraform(t, measured(l, quick, fmt.Sprintf("report_path = %q\n  report_directory = %q", report, filepath.Join(filepath.Dir(report), "all"))), l.Info.Environ()...)
	tf.Apply()
	tf.ExpectNoChanges()

	b := tf.State(benchmarkAddress)
	for name, want := range map[string]any{"outcome": "pass", "ranks": json.Number("4"), "hosts": json.Number("2"), "wrong": json.Number("0")} {
		if got := fmt.Sprint(b.Values[name]); got != fmt.Sprint(want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	if rows := b.Values["results"].([]any); len(rows) != 10 { // 8 bytes to 4096, doubled
		t.Errorf("%d rows, want 10", len(rows))
	}
	for _, node := range b.Values["per_node"].([]any) {
		values := node.(map[string]any)
		if values["outcome"] != "pass" || fmt.Sprint(values["gpus"]) != "2" || !strings.Contains(fmt.Sprint(values["gpu_model"]), "lab") {
			t.Errorf("node: %v", values)
		}
		checks := map[string]any{}
		for _, check := range values["checks"].([]any) {
			checks[check.(map[string]any)["name"].(string)] = check.(map[string]any)["outcome"]
		}
		for _, name := range []string{"gpu_count", "free_space", "mpi_ports", "uniform_driver"} {
			if checks[name] != "pass" {
				t.Errorf("check %s of %v: %v", name, values["name"], checks)
			}
		}
	}
	if keys := b.Values["host_keys"].(map[string]any); len(keys) != 3 {
		t.Errorf("host keys of %d hosts, want those of the bastion and both nodes", len(keys))
	}
	page, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(page), "result of the lab") {
		t.Errorf("report: %v", err)
	}
	if all, err := os.ReadDir(filepath.Join(filepath.Dir(report), "all")); err != nil || len(all) < 13 {
		t.Errorf("reports: %v (%v)", all, err)
	}

	t.Run("nothing stays on the nodes", func(t *testing.T) {
		for _, host := range hosts(t, l) {
			left, err := l.Exec(t.Context(), host, "sh", "-c",
				`grep -c ocihpc-job /home/opc/.ssh/authorized_keys; find /home/opc/.ocihpc -name 'id_ed25519*'; pgrep -a 'mpirun|orted|all_reduce|ocihpc-runner' || :`)
			if got := strings.TrimSpace(string(left)); got != "0" {
				t.Errorf("%s: %q (%v)", host, got, err)
			}
		}
	})

	t.Run("below expectation", func(t *testing.T) {
		const tooMuch = "expect = { min_busbw_gb_per_s = 9999 }"
		tf.Configure(measured(l, quick, tooMuch))
		status, output := tf.Run("apply", "-auto-approve", "-no-color", "-input=false")
		if status == 0 {
			t.Fatalf("a cluster below its mark was accepted:\n%s", output)
		}
		expectText(t, output, `Unable to accept nodes`, "9999", "GB/s")

		tf.Configure(measured(l, quick, tooMuch, `on_failure = "warn"`))
		expectText(t, tf.Apply(), "Warning: Unable to accept nodes", "9999")
		if outcome := tf.State(benchmarkAddress).Values["outcome"]; outcome != "fail" {
			t.Errorf("outcome = %v, want fail", outcome)
		}
		tf.ExpectNoChanges()

		tf.Configure(measured(l, quick, tooMuch)) // failing is no longer allowed: the old verdict must not stand
		if status, output := tf.Run("apply", "-auto-approve", "-no-color", "-input=false"); status == 0 {
			t.Errorf("a failed verdict was let stand:\n%s", output)
		}
	})

	t.Run("failing check", func(t *testing.T) {
		tf.Configure(measured(l, quick, `checks = { mounts = ["/mnt/localdisk"] }`))
		status, output := tf.Run("apply", "-auto-approve", "-no-color", "-input=false")
		if status == 0 {
			t.Fatalf("nodes without their file system were accepted:\n%s", output)
		}
		expectText(t, output, "Unable to accept nodes", "/mnt/localdisk")

		tf.Configure(measured(l, quick, `checks = { mounts = ["/mnt/localdisk"], skip = ["mounts"] }`))
		tf.Apply()
	})

	t.Run("suspects", func(t *testing.T) {
		gpu, bad := 1, hosts(t, l)[1]
		if err := l.SetFault(t.Context(), bad, lab.Fault{WrongGPU: &gpu}); err != nil {
			t.Fatal(err)
		}
		tf.Configure(measured(l, quick, `triggers = { again = "spoilt" }`, `on_failure = "warn"`))
		expectText(t, tf.Apply(), "Warning: Unable to accept nodes", "Suspect: gpu 1 of ", "(certain)", "wrong values",
			fmt.Sprintf("replace_nodes = [%q]", bad), "cannot be a reference to this benchmark")
		values := tf.State(benchmarkAddress).Values
		suspects := values["suspects"].([]any)
		if len(suspects) != 1 || suspects[0].(map[string]any)["kind"] != "gpu" || suspects[0].(map[string]any)["confidence"] != "certain" || suspects[0].(map[string]any)["symptom"] != "wrong" {
			t.Errorf("suspects: %v", suspects)
		}
		if got := fmt.Sprint(values["replace_nodes"]); got != "["+bad+"]" || values["outcome"] != "fail" {
			t.Errorf("to replace: %s, want %s; outcome %v", got, bad, values["outcome"])
		}
		tf.ExpectNoChanges()
		if err := l.ClearFaults(t.Context(), bad); err != nil {
			t.Fatal(err)
		}
		tf.Configure(measured(l, quick, `triggers = { again = "cured" }`, `pattern = "pairs"`, "run_timeout_seconds = 60"))
		tf.Apply()
		values = tf.State(benchmarkAddress).Values
		if values["outcome"] != "pass" || len(values["suspects"].([]any))+len(values["replace_nodes"].([]any)) != 0 || fmt.Sprint(values["ranks"]) != "0" {
			t.Errorf("cured: %v", values)
		}
	})

	t.Run("changed host key", func(t *testing.T) {
		tf.Configure(measured(l, quick))
		tf.Apply()
		host := hosts(t, l)[0]
		if out, err := l.Exec(t.Context(), host, "sh", "-c",
			`rm /etc/ssh/ssh_host_ed25519_key* && ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key && pkill -HUP -o sshd`); err != nil {
			t.Fatalf("change the host key: %v\n%s", err, out)
		}
		tf.Configure(measured(l, quick, `triggers = { again = "1" }`))
		status, output := tf.Run("apply", "-auto-approve", "-no-color", "-input=false")
		if status == 0 {
			t.Fatalf("a node whose host key changed was accepted:\n%s", output)
		}
		expectText(t, output, "Unable to measure nodes", "host key")
	})
	tf.Destroy()
	if s, err := l.Status(t.Context()); err != nil || s.Instances+len(s.Hosts)+s.InstancePools+s.InstanceConfigurations != 0 {
		t.Errorf("left over: %+v (%v)", s, err)
	}
}

func TestAccNCCLBenchmark_disturbed(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	tf := acctest.NewTerraform(t, measured(l, quick), l.Info.Environ()...)
	tf.Apply()

	t.Run("connection cut", func(t *testing.T) {
		tf.Configure(measured(l, long))
		apply := tf.Start("apply", "-auto-approve", "-no-color", "-input=false")
		goOn := holdRanks(t, l)
		if out, err := l.Exec(t.Context(), "bastion", "pkill", "-9", "-f", "sshd: opc"); err != nil {
			t.Errorf("cut the connection: %v\n%s", err, out)
		}
		goOn()
		if status, output := apply.Wait(); status != 0 {
			t.Fatalf("the measurement was lost: exit status %d\n%s", status, output)
		}
		if started := jobsStarted(t, l); started != 2 {
			t.Errorf("%d jobs, want 2: the first measurement and the one that was cut", started)
		}
		tf.ExpectNoChanges()
	})

	t.Run("interrupted and picked up", func(t *testing.T) {
		tf.Configure(measured(l, long, `triggers = { again = "1" }`))
		apply := tf.Start("apply", "-auto-approve", "-no-color", "-input=false")
		goOn := holdRanks(t, l)
		apply.Interrupt()
		status, output := apply.Wait()
		goOn()
		if status == 0 {
			t.Fatalf("an interrupted apply ended well:\n%s", output)
		}
		expectText(t, output, "Interrupted", "next apply")
		tf.Apply()
		if started := jobsStarted(t, l); started != 3 {
			t.Errorf("%d jobs, want 3: the interrupted one went on", started)
		}
		if s := tf.State(benchmarkAddress); s.Tainted || s.Values["outcome"] != "pass" {
			t.Errorf("tainted: %v, outcome: %v", s.Tainted, s.Values["outcome"])
		}
	})
	tf.Destroy()
}

func TestAccNCCLBenchmark_badInput(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	const nodes = `nodes = [{ private_ip = "10.0.0.2" }, { private_ip = "10.0.0.3" }]`
	for name, test := range map[string]struct{ lines, want []string }{
		"range of sizes": {[]string{nodes, "min_size_bytes = 1024", "max_size_bytes = 8"}, []string{"max_size_bytes (8) is below min_size_bytes (1024)"}},
		"AMD shape":      {[]string{nodes, `shape = "BM.GPU.MI300X.8"`}, []string{"BM.GPU.MI300X.8 has no NVIDIA GPUs"}},
		"node twice":     {[]string{`nodes = [{ private_ip = "10.0.0.2" }, { private_ip = "10.0.0.2" }]`}, []string{"Node listed twice", "nodes[0]"}},
		"no nodes":       {[]string{`nodes = []`}, []string{"nodes"}},
		"collective":     {[]string{nodes, `collective = "all_reduced"`}, []string{"collective", "all_reduced"}},
		"two sweeps":     {[]string{nodes, `redop = "all"`}, []string{"redop", "into one table"}},
		"single, nodes":  {[]string{nodes, `launcher = "single"`}, []string{"Launcher of one node for several", "per_node"}},
		"slurm, mpirun":  {[]string{nodes, `slurm = {}`, `launcher = "mpirun"`}, []string{"Slurm without its launcher"}},
		"slurm's option": {[]string{nodes, `slurm = { options = ["--output=/tmp/x"] }`, `launcher = "slurm"`}, []string{"Invalid slurm", "--output is set by the runner"}},
		"in Slurm":       {[]string{nodes, `container = { engine = "docker", image = "a/b:1" }`, `launcher = "slurm"`}, []string{"Container beside Slurm", "slurm.image"}},
		"enroot's limit": {[]string{nodes, `container = { engine = "enroot", image = "a/b:1", ulimits = { nofile = 1 } }`}, []string{"Invalid container", "leave devices, ulimits"}},
		"built or there": {[]string{nodes, `nccl_tests_source = { git_url = "https://a.b/c", git_ref = "v1" }`, `nccl_tests_dir = "/opt"`}, []string{"Two places of nccl-tests"}},
		"no digest":      {[]string{nodes, `nccl_tests_source = { archive_url = "https://a.b/c" }`}, []string{"Invalid nccl_tests_source", "which an archive needs"}},
		"chosen nodes":   {[]string{nodes, `slurm = { nodes = 2 }`, `launcher = "slurm"`}, []string{"gpus_per_node", "Nodes by name and by number"}},
		"relative dir":   {[]string{nodes, `nccl_tests_dir = "build"`}, []string{"nccl_tests_dir", "absolute path"}},
		"bastion's key":  {[]string{nodes, `ssh = { bastion = { host = "b", host_key = "b ssh-ed25519 AAAA" } }`}, []string{"host_key", "without the host"}},
		"no private key": {[]string{nodes, `ssh = { private_key_path = "/nonexistent" }`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := test.lines
			if !strings.Contains(strings.Join(lines, " "), "ssh =") {
				lines = append(lines, "ssh = {}")
			}
			tf := acctest.NewTerraform(t, region.ProviderHCL()+
				"resource \"ocihpc_nccl_benchmark\" \"this\" {\n"+strings.Join(lines, "\n")+"\n}\n", "SSH_AUTH_SOCK=")
			if test.want == nil { // what only an apply can find
				status, output := tf.Run("apply", "-auto-approve", "-no-color", "-input=false")
				if status == 0 {
					t.Fatalf("applied:\n%s", output)
				}
				expectText(t, output, "Unable to measure nodes", "/nonexistent")
				return
			}
			status, output := tf.Run("plan", "-no-color", "-input=false")
			if status == 0 {
				t.Fatalf("planned:\n%s", output)
			}
			expectText(t, output, test.want...)
		})
	}
}

// expectText looks for texts, wherever Terraform broke the lines.
func expectText(t *testing.T, output string, texts ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(strings.ReplaceAll(output, "│", " ")), " ")
	for _, text := range texts {
		if !strings.Contains(flat, text) {
			t.Errorf("%q is not in:\n%s", text, output)
		}
	}
}

func hosts(t *testing.T, l *lab.Lab) []string {
	t.Helper()
	status, err := l.Status(t.Context())
	if err != nil || len(status.Hosts) != 2 {
		t.Fatalf("hosts: %v (%v)", status.Hosts, err)
	}
	return status.Hosts
}

// holdRanks stops the ranks of the first node on which some run, so that the measurement cannot end before it is disturbed,
// however slow the disturber. They go on when told so.
func holdRanks(t *testing.T, l *lab.Lab) (goOn func()) {
	t.Helper()
	var held string
	acctest.Eventually(t, "ranks run", func() bool {
		for _, host := range hosts(t, l) {
			if _, err := l.Exec(t.Context(), host, "pkill", "-STOP", "all_reduce"); err == nil {
				held = host
				return true
			}
		}
		return false
	})
	return func() {
		t.Helper()
		if out, err := l.Exec(t.Context(), held, "pkill", "-CONT", "all_reduce"); err != nil {
			t.Errorf("let the ranks go on: %v\n%s", err, out)
		}
	}
}

// jobsStarted counts how often a runner was started, over all nodes.
func jobsStarted(t *testing.T, l *lab.Lab) int {
	t.Helper()
	total := 0
	for _, host := range hosts(t, l) {
		out, err := l.Exec(t.Context(), host, "sh", "-c", `cat /home/opc/.ocihpc/jobs/*/events.ndjson 2>/dev/null | grep -c '"type":"started"' || :`)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscan(string(out), &n); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		total += n
	}
	return total
}
