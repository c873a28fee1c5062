// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
)

// Every example of the documentation is valid.
func TestAccExamples(t *testing.T) {
	files, err := filepath.Glob("../examples/*/ocihpc_*/*.tf")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %q, %v", files, err)
	}
	variable := regexp.MustCompile(`\bvar\.(\w+)`)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			hcl := exampleText(t, file)
			if strings.Contains(hcl, "ocihpc_gpu_cluster.example.") && !strings.Contains(hcl, `"ocihpc_gpu_cluster" "example"`) {
				hcl += exampleText(t, "../examples/resources/ocihpc_gpu_cluster/resource.tf")
			}
			declared := map[string]bool{}
			for _, v := range variable.FindAllStringSubmatch(hcl, -1) {
				if !declared[v[1]] {
					hcl += "variable \"" + v[1] + "\" {}\n"
				}
				declared[v[1]] = true
			}
			tf := acctest.NewTerraform(t, hcl)
			t.Parallel()
			tf.Must("validate", "-no-color")
		})
	}
}

// exampleText reads an example; in the place of the user's key stands one.
func exampleText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `file("~/.ssh/id_ed25519.pub")`, `"`+publicKey+`"`)
}
