// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
)

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
