// SPDX-License-Identifier: MPL-2.0

package docs_test

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// reference names something that a configuration can declare.
var reference = regexp.MustCompile(`\b(?:var|local|(?:data\.)?ocihpc_\w+)\.[a-z]\w*`)

// addresses of what a file declares, as it is referred to.
func addresses(file *hclwrite.File) []string {
	var found []string
	for _, b := range file.Body().Blocks() {
		labels := b.Labels()
		switch b.Type() {
		case "resource":
			found = append(found, strings.Join(labels, "."))
		case "data":
			found = append(found, "data."+strings.Join(labels, "."))
		case "variable":
			found = append(found, "var."+labels[0])
		case "module":
			found = append(found, "module."+labels[0])
		case "locals":
			for name := range b.Body().Attributes() {
				found = append(found, "local."+name)
			}
		}
	}
	return found
}

// omission stands for arguments that are not shown.
const omission = "# ..."

// fill gives the resources that leave something out all other arguments of their examples.
func fill(t *testing.T, file *hclwrite.File) {
	t.Helper()
	for _, b := range file.Body().Blocks() {
		if b.Type() != "resource" && b.Type() != "data" || !strings.Contains(string(b.BuildTokens(nil).Bytes()), omission+"\n") {
			continue
		}
		shown := b.Body().Attributes()
		for name, attribute := range example(t, b.Type(), b.Labels()[0]).Attributes() {
			if shown[name] == nil {
				b.Body().SetAttributeRaw(name, attribute.Expr().BuildTokens(nil))
			}
		}
	}
}

// example is the body of the first resource or data source of a type in the examples of docs.
func example(t *testing.T, kind, name string) *hclwrite.Body {
	t.Helper()
	path := "examples/" + kind + "s/" + name + "/" + kind + ".tf"
	if kind == "data" {
		path = "examples/data-sources/" + name + "/data-source.tf"
	}
	file, diagnostics := hclwrite.ParseConfig([]byte(read(t, path)), path, hcl.InitialPos)
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	for _, b := range file.Body().Blocks() {
		if b.Type() == kind && b.Labels()[0] == name {
			return b.Body()
		}
	}
	t.Fatalf("%s has no %s %s", path, kind, name)
	return nil
}

// usesOthers says whether a file has anything of a provider that is not at hand, or a module from elsewhere.
func usesOthers(file *hclwrite.File, atHand map[string]string) bool {
	return slices.ContainsFunc(file.Body().Blocks(), func(b *hclwrite.Block) bool {
		switch b.Type() {
		case "resource", "data", "provider":
			name, _, _ := strings.Cut(b.Labels()[0], "_")
			return name != "terraform" && !slices.ContainsFunc(slices.Collect(maps.Keys(atHand)), func(source string) bool { return path.Base(source) == name })
		case "module":
			return true
		}
		return false
	})
}

// elsewhere is what cannot be taken from the examples: a value of another provider, of a module, or of a file.
var elsewhere = regexp.MustCompile(`\b(?:(?:data\.)?(?:oci|local|null|random|tls)_\w+|module)\.\w+|\bfile\("[^"]*"\)`)

// complete declares what a file refers to and does not declare, and what that refers to.
func complete(t *testing.T, file *hclwrite.File) *hclwrite.File {
	t.Helper()
	fill(t, file)
	for {
		own := addresses(file)
		text := elsewhere.ReplaceAllStringFunc(string(file.Bytes()), func(found string) string {
			if slices.Contains(own, found) {
				return found
			}
			return "var." + regexp.MustCompile(`\W+`).ReplaceAllString(found, "_")
		})
		file, _ = hclwrite.ParseConfig([]byte(text), "", hcl.InitialPos) // as valid as it was
		declared := addresses(file)
		missing := map[string]bool{}
		for _, address := range references(t, file) {
			if !slices.Contains(declared, address) {
				missing[address] = true
			}
		}
		if len(missing) == 0 {
			return file
		}
		for _, address := range slices.Sorted(maps.Keys(missing)) {
			declare(t, file, strings.Split(address, "."))
		}
	}
}

// declare adds something by its address.
func declare(t *testing.T, file *hclwrite.File, address []string) {
	t.Helper()
	body, last := file.Body(), address[len(address)-1]
	body.AppendNewline()
	switch address[0] {
	case "var":
		body.AppendNewBlock("variable", []string{last})
	case "local":
		locals := body.AppendNewBlock("locals", nil).Body()
		locals.SetAttributeRaw(last, hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte("null")}})
	case "data":
		b := body.AppendNewBlock("data", address[1:])
		b.Body().AppendUnstructuredTokens(example(t, "data", address[1]).BuildTokens(nil))
	default:
		b := body.AppendNewBlock("resource", address)
		b.Body().AppendUnstructuredTokens(example(t, "resource", address[0]).BuildTokens(nil))
	}
}

// references are the addresses that a file refers to.
func references(t *testing.T, file *hclwrite.File) []string {
	t.Helper()
	parsed, diagnostics := hclsyntax.ParseConfig(file.Bytes(), "", hcl.InitialPos)
	if diagnostics.HasErrors() {
		t.Fatalf("%v in\n%s", diagnostics, file.Bytes())
	}
	var found []string
	diagnostics = hclsyntax.VisitAll(parsed.Body.(*hclsyntax.Body), func(node hclsyntax.Node) hcl.Diagnostics {
		if expression, ok := node.(*hclsyntax.ScopeTraversalExpr); ok {
			found = append(found, reference.FindString(words(expression.Traversal)))
		}
		return nil
	})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	return slices.DeleteFunc(found, func(address string) bool { return address == "" })
}

// words are the names at the beginning of a traversal.
func words(traversal hcl.Traversal) string {
	words := []string{traversal.RootName()}
	for _, step := range traversal[1:] {
		attribute, ok := step.(hcl.TraverseAttr)
		if !ok {
			break
		}
		words = append(words, attribute.Name)
	}
	return strings.Join(words, ".")
}
