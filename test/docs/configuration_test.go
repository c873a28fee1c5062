// SPDX-License-Identifier: MPL-2.0

package docs_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// A piece is a configuration that people are shown, or part of one.
type piece struct {
	from string // file and line
	text string
	hcl  *hclwrite.File
}

// TestAccConfigurations validates every configuration in the texts and examples with the real Terraform and the real
// provider. Parts of configurations are completed first:
//
//   - What a part refers to and does not declare is taken from the examples of docs where it is ours, and is a variable
//     otherwise; so is what is read from a file.
//   - A resource with a line "# ..." has what it does not show from the resource's example.
//
// What uses OCI's own provider is validated where OCI_PROVIDER_BINARY names it, and is only read otherwise.
func TestAccConfigurations(t *testing.T) {
	t.Parallel()
	work := validator{dir: t.TempDir(), providers: map[string]string{acctest.Source: acctest.Provider(t)}, pieces: map[string]piece{}}
	if os.Getenv("OCI_PROVIDER_BINARY") != "" {
		work.providers["oracle/oci"] = acctest.OfficialProvider(t)
	}
	functions := acctest.IsTerraform(t, "1.8") // knows functions of providers
	for i, p := range pieces(t) {
		if functions || !strings.Contains(p.text, "provider::") {
			work.add(t, fmt.Sprintf("m%d", i), p)
		}
	}
	if len(work.pieces) < 15 {
		t.Errorf("only %d configurations", len(work.pieces))
	}
	work.validate(t)
}

// pieces are the configurations in texts, and the examples' files. What is shown twice is there once.
func pieces(t *testing.T) []piece {
	t.Helper()
	var all []piece
	seen := map[string]bool{}
	add := func(from, text string) {
		if seen[text] {
			return
		}
		seen[text] = true
		file, diagnostics := hclwrite.ParseConfig([]byte(text), from, hcl.InitialPos)
		if diagnostics.HasErrors() {
			t.Errorf("%s: %v", from, diagnostics)
			return
		}
		all = append(all, piece{from, text, file})
	}
	files := texts(t)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		_, blocks := split(files[file])
		for _, b := range blocks {
			if b.language == "terraform" || b.language == "hcl" {
				add(fmt.Sprintf("%s, line %d", file, b.line), b.text)
			}
		}
	}
	for _, file := range glob(t, "examples/*/*/*.tf") {
		add(file, read(t, file))
	}
	for _, main := range append(glob(t, "examples/*/main.tf"), glob(t, "modules/*/main.tf")...) {
		var whole strings.Builder
		for _, file := range glob(t, filepath.Dir(main)+"/*.tf") {
			whole.WriteString(read(t, file))
		}
		add(filepath.Dir(main), whole.String())
	}
	return all
}

// glob gives paths from the root.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := fs.Glob(os.DirFS(root), pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// validator is a configuration with a module for each piece: one Terraform validates them all.
type validator struct {
	dir       string
	providers map[string]string // folders with their executables, by source
	pieces    map[string]piece  // by module
}

// add makes a module of a piece, unless it uses what is not at hand.
func (v *validator) add(t *testing.T, module string, p piece) {
	t.Helper()
	if len(p.hcl.Body().Attributes()) > 0 {
		t.Errorf("%s: arguments without their resource: show it, with %s in the place of the others", p.from, omission)
		return
	}
	if usesOthers(p.hcl, v.providers) {
		return
	}
	p.hcl = complete(t, p.hcl)
	var terraform bool
	for _, b := range p.hcl.Body().Blocks() {
		terraform = terraform || b.Type() == "terraform"
		if b.Type() == "import" { // for root modules alone
			p.hcl.Body().RemoveBlock(b)
		}
	}
	if !terraform {
		v.write(t, module+"/terraform.tf", v.requirements())
	}
	v.write(t, module+"/main.tf", string(p.hcl.Bytes()))
	v.pieces[module] = p
}

// requirements is the block that names the providers at hand.
func (v *validator) requirements() string {
	var text strings.Builder
	for source := range v.providers {
		fmt.Fprintf(&text, "    %s = { source = %q }\n", path.Base(source), source)
	}
	return "terraform {\n  required_providers {\n" + text.String() + "  }\n}\n"
}

func (v *validator) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(v.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// validate has Terraform validate all modules at once.
func (v *validator) validate(t *testing.T) {
	t.Helper()
	var main strings.Builder
	main.WriteString("variable \"unknown\" {}\n")
	for _, module := range slices.Sorted(maps.Keys(v.pieces)) {
		fmt.Fprintf(&main, "module %q {\n  source = \"./%s\"\n", module, module)
		for _, address := range addresses(v.pieces[module].hcl) {
			if name, is := strings.CutPrefix(address, "var."); is {
				fmt.Fprintf(&main, "  %s = var.unknown\n", name)
			}
		}
		main.WriteString("}\n")
	}
	v.write(t, "main.tf", main.String())
	v.run(t, "init", "-input=false", "-backend=false", "-no-color", "-plugin-dir="+acctest.Mirror(t, v.providers))
	var result struct {
		Diagnostics []struct {
			Severity, Summary, Detail string
			Range                     struct{ Filename string }
		}
	}
	if err := json.Unmarshal(v.run(t, "validate", "-json"), &result); err != nil {
		t.Fatalf("read what terraform validate says: %v", err)
	}
	for _, d := range result.Diagnostics {
		if d.Severity != "error" {
			continue
		}
		p := v.pieces[filepath.Dir(d.Range.Filename)]
		t.Errorf("%s: %s: %s\n%s", p.from, d.Summary, d.Detail, p.text)
	}
}

// run gives what Terraform prints; a validation that finds mistakes is no failure of it.
func (v *validator) run(t *testing.T, arguments ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), "terraform", arguments...)
	command.Dir, command.Env = v.dir, append(os.Environ(), "TF_CLI_CONFIG_FILE=/dev/null", "CHECKPOINT_DISABLE=1")
	output, err := command.Output()
	if err != nil && arguments[0] != "validate" {
		t.Fatalf("terraform %s: %v\n%s", arguments[0], err, output)
	}
	return output
}
