// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
)

// TestAccSecrets gives a signing key and user data with passwords, and looks for them in all that Terraform and the
// provider leave behind. User data are an argument that OCI wants: state and plan hold them by nature, marked as
// sensitive, and plans show the arguments that they are made from as they are written; the key is in neither.
func TestAccSecrets(t *testing.T) {
	t.Parallel()
	region := acctest.StartRegion(t, nil)
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, []byte(acctest.KeyPEM()), 0o600); err != nil {
		t.Fatal(err)
	}
	hcl := clusterHCL(region, "size = 1", "user_data = data.ocihpc_cloud_init_config.node.base64") + `
data "ocihpc_cloud_init_config" "node" {
  shape = "BM.GPU4.8"
  proxy = { http = "http://proxy-user:sw0rdfish-of-the-proxy@proxy.example.com:3128" }
  write_files = { "/etc/secret" = { content = "sw0rdfish-of-a-file", permissions = "0600" } }
}
`
	tf := acctest.NewTerraform(t, hcl)
	keySecret := acctest.WatchSecrets(t, acctest.KeyLine(t, key))
	userData := acctest.WatchSecrets(t, "sw0rdfish-of-the-proxy", "sw0rdfish-of-a-file")
	tf.Setenv("TF_LOG", "TRACE")
	tf.Setenv("TF_LOG_PATH", filepath.Join(tf.Dir(), "trace.log"))
	var said strings.Builder
	for _, line := range []string{"plan -out=saved -no-color -input=false", "show -no-color saved", "apply -no-color -input=false saved", "show -no-color", "plan -no-color -input=false"} {
		said.WriteString(tf.Must(strings.Fields(line)...))
	}
	if err := os.WriteFile(filepath.Join(tf.Dir(), "said.log"), []byte(said.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	keySecret.InProcesses()
	userData.InProcesses()
	keySecret.InFiles(tf.Dir(), "main.tf")
	userData.InFiles(tf.Dir(), "main.tf", "terraform.tfstate", "saved", "said.log")
	if log, err := os.ReadFile(filepath.Join(tf.Dir(), "trace.log")); err != nil || !strings.Contains(string(log), "terraform-provider-ocihpc") {
		t.Errorf("the log says nothing of the provider: %v", err)
	}
	tf.Destroy()
}
