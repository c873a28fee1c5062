// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

const runtimeAddress = "ocihpc_container_runtime.this"

// setUp is a cluster of two small GPU nodes with a container engine, whose attributes are given as lines.
func setUp(l *lab.Lab, lines ...string) string {
	return pair(l) + fmt.Sprintf(`
resource "ocihpc_container_runtime" "this" {
  nodes = ocihpc_gpu_cluster.this.nodes
  shape = ocihpc_gpu_cluster.this.shape
  %s
  %s
}
`, login(l), strings.Join(lines, "\n  "))
}

func TestAccContainerRuntime(t *testing.T) {
	if os.Getenv("TF_ACC") == "" {
		t.Skip("acceptance test: set TF_ACC=1 to run it")
	}
	t.Parallel()
	l := containertest.StartLab(t, lab.Config{Init: lab.InitSystemd})
	releases, _ := containertest.Releases(t)
	mirror := fmt.Sprintf("mirror = %q", containertest.ServeDir(t, l, releases))
	const versions = `versions = { nerdctl = "none" }`
	const password = "sw0rdfish-of-the-registry"
	auth := filepath.Join(t.TempDir(), "auth.json")
	login := fmt.Sprintf(`{"auths": {"registry.example.com": {"auth": %q}}}`, base64.StdEncoding.EncodeToString([]byte("puller:"+password)))
	if err := os.WriteFile(auth, []byte(login), 0o600); err != nil {
		t.Fatal(err)
	}
	mirror += fmt.Sprintf("\n  registry_auth_path = %q", auth)
	tf := acctest.NewTerraform(t, setUp(l, mirror, versions), l.Info.Environ()...)
	secrets := acctest.WatchSecrets(t, password, acctest.KeyLine(t, l.Info.SSHPrivateKeyPath))
	tf.Setenv("TF_LOG", "TRACE")
	tf.Setenv("TF_LOG_PATH", filepath.Join(tf.Dir(), "trace.log"))
	tf.Must("plan", "-out=plan", "-no-color", "-input=false")
	tf.Apply()
	tf.Setenv("TF_LOG", "")
	tf.ExpectNoChanges()

	t.Run("each node tells what it has", func(t *testing.T) {
		state := tf.State(runtimeAddress).Values
		nodes := state["per_node"].([]any)
		if state["outcome"] != "pass" || len(nodes) != 2 {
			t.Fatalf("outcome %v, %d nodes", state["outcome"], len(nodes))
		}
		for _, node := range nodes {
			n := node.(map[string]any)
			if n["engine"] != "containerd" || len(n["changed_steps"].([]any)) == 0 {
				t.Errorf("node: %v", n)
			}
			for _, component := range []string{"containerd", "runc", "cni_plugins", "nvidia_container_toolkit"} {
				if version, _ := n["versions"].(map[string]any)[component].(string); version == "" {
					t.Errorf("%v: no version of %s", n["name"], component)
				}
			}
		}
	})
	t.Run("the engine answers", func(t *testing.T) {
		for _, host := range hosts(t, l) {
			if out, err := l.Exec(t.Context(), host, "/usr/local/bin/ctr", "version"); err != nil {
				t.Errorf("%s: %v\n%s", host, err, out)
			}
		}
	})
	t.Run("once more changes nothing on the nodes", func(t *testing.T) {
		tf.Configure(setUp(l, mirror, versions, `triggers = { again = "1" }`))
		tf.Apply()
		for _, node := range tf.State(runtimeAddress).Values["per_node"].([]any) {
			if changed := node.(map[string]any)["changed_steps"].([]any); len(changed) != 0 {
				t.Errorf("changed: %v", changed)
			}
		}
	})
	t.Run("what no node sees logs in to none", func(t *testing.T) {
		before := tf.State(runtimeAddress).Values["set_up_at"]
		tf.Configure(setUp(l, mirror, versions, `triggers = { again = "1" }`, `on_destroy = "remove"`))
		tf.Apply()
		if now := tf.State(runtimeAddress).Values["set_up_at"]; now != before {
			t.Errorf("set up again at %v", now)
		}
	})
	t.Run("one node fails alone, and the next apply goes on", func(t *testing.T) {
		bad := hosts(t, l)[1]
		inTheWay := `rm /usr/local/sbin/runc && mkdir -p /usr/local/sbin/runc/in-the-way`
		if out, err := l.Exec(t.Context(), bad, "sh", "-c", inTheWay); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		tf.Configure(setUp(l, mirror, versions, `triggers = { again = "2" }`, `on_destroy = "remove"`))
		status, output := tf.Run("apply", "-auto-approve", "-no-color", "-input=false")
		if status == 0 {
			t.Fatalf("a node without runc was accepted:\n%s", output)
		}
		expectText(t, output, "Unable to set up nodes", "runc", bad)
		if s := tf.State(runtimeAddress); s.Tainted || s.Values["outcome"] != "fail" {
			t.Errorf("tainted: %v, outcome %v", s.Tainted, s.Values["outcome"])
		}
		if out, err := l.Exec(t.Context(), bad, "rm", "-r", "/usr/local/sbin/runc"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		tf.Apply()
		tf.ExpectNoChanges()
	})
	t.Run("no secret is in state, plan, logs, processes or on nodes", func(t *testing.T) {
		secrets.InProcesses()
		secrets.InFiles(tf.Dir())
		for _, host := range hosts(t, l) {
			secrets.OnHost(l, host)
		}
	})
	t.Run("removed", func(t *testing.T) {
		tf.Must("destroy", "-auto-approve", "-no-color", "-input=false", "-target="+runtimeAddress)
		for _, host := range hosts(t, l) {
			left, _ := l.Exec(t.Context(), host, "sh", "-c", "ls -d /usr/local/*bin/* /etc/containerd/* /etc/cdi/* /opt/cni/bin /etc/systemd/system/containerd*; systemctl is-active containerd")
			if strings.Contains(string(left), "containerd") || strings.Contains(string(left), "runc") {
				t.Errorf("%s: still there: %s", host, left)
			}
		}
	})
	tf.Destroy()
}

func TestAccContainerRuntime_badInput(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	const nodes = `nodes = [{ private_ip = "10.0.0.2" }, { private_ip = "10.0.0.3" }]`
	for name, line := range map[string]string{
		"engine":      `engine = "rkt"`,
		"version":     `versions = { containerd = "newest" }`,
		"component":   `versions = { containerdd = "2.2.0" }`,
		"mirror":      `mirror = "https://user:secret@mirror.example.com/"`,
		"data_root":   `data_root = "localdisk"`,
		"image":       `images = ["busybox", "not an image"]`,
		"registry":    `insecure_registries = ["http://registry:5000/"]`,
		"transfers":   `max_transfers = 0`,
		"user":        `rootless_user = "root"`,
		"credentials": `registry_auth_path = "testdata/no_such_file.json"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tf := acctest.NewTerraform(t, region.ProviderHCL()+
				"resource \"ocihpc_container_runtime\" \"this\" {\nssh = {}\n"+nodes+"\n"+line+"\n}\n", "SSH_AUTH_SOCK=")
			verb := []string{"plan", "-input=false"}
			if name == "credentials" { // read by an apply alone
				verb = []string{"apply", "-auto-approve", "-input=false"}
			}
			status, output := tf.Run(verb...)
			if status == 0 {
				t.Fatalf("accepted:\n%s", output)
			}
			golden(t, "container_runtime_"+name, output)
		})
	}
}
