// SPDX-License-Identifier: MPL-2.0

package main

import (
	"archive/zip"
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestStack packs the project's own stack.
func TestStack(t *testing.T) {
	t.Parallel()
	archive, err := pack(os.DirFS("../../stack"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := pack(os.DirFS("../../stack"))
	if err != nil || !bytes.Equal(archive, again) {
		t.Errorf("the archive is another one each time (%v)", err)
	}
	reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range reader.File {
		names[file.Name] = true
	}
	for _, name := range []string{"main.tf", "schema.yaml", "modules/gpu-cluster/main.tf"} {
		if !names[name] {
			t.Errorf("%s is not among %v", name, names)
		}
	}
}

const (
	goodConfiguration = `
variable "region" { type = string }
variable "subnet_id" {}
variable "size" {
  type    = number
  default = 2
}
output "id" { value = var.subnet_id }`
	goodSchema = `
schemaVersion: 1.1.0
locale: en
variableGroups:
  - title: all
    variables: [compartment, vcn, "${subnet_id}", size]
    visible: {or: ["${vcn}", {not: [{gt: ["${size}", 1]}]}]}
variables:
  compartment: {type: oci:identity:compartment:id}
  vcn: {type: oci:core:vcn:id, dependsOn: {compartmentId: "${compartment}"}}
  subnet_id: {type: oci:core:subnet:id, title: Subnet, dependsOn: {compartmentId: "${compartment}", vcnId: "${vcn}", hidePublicSubnet: true}}
  size: {type: integer, default: 2, minimum: 1, visible: true}
outputGroups: [{title: result, outputs: [id]}]
outputs:
  id: {type: ocid}`
)

// declaredToo are variables that the form alone has use for.
const declaredToo = "\nvariable \"compartment\" {}\nvariable \"vcn\" {}"

func TestSchema(t *testing.T) {
	t.Parallel()
	check := func(schema, configuration string) error {
		_, err := pack(fstest.MapFS{schemaFile: {Data: []byte(schema)}, "main.tf": {Data: []byte(configuration)}})
		return err
	}
	if err := check(goodSchema, goodConfiguration+declaredToo); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]struct{ old, changed string }{
		`neither 1.0.0 nor 1.1.0`:                       {"1.1.0", "2.0.0"},
		`"ja" is not en`:                                {"locale: en", "locale: ja"},
		`the type "oci:core:disk:id" is unknown`:        {"oci:core:vcn:id", "oci:core:disk:id"},
		`which is bool, and the configuration has`:      {"type: integer, default: 2", "type: boolean, default: true"},
		`the default two is no integer`:                 {"default: 2", "default: two"},
		`dependsOn needs vcnId`:                         {`vcnId: "${vcn}", `, ""},
		`dependsOn has no hideSubnet`:                   {"hidePublicSubnet", "hideSubnet"},
		`${vpc} is no variable`:                         {`vcnId: "${vcn}"`, `vcnId: "${vpc}"`},
		`a condition has no "nor"`:                      {"{or:", "{nor:"},
		`${auth} is no variable of the form`:            {"visible: true", `visible: {eq: ["${auth}", ApiKey]}`},
		`${vcn} is never mine`:                          {"{type: oci:core:vcn:id, ", `{type: enum, enum: [yours], visible: {eq: ["${vcn}", mine]}, `},
		`size: it is in no group`:                       {", size]", "]"},
		`"all" has length, which is no variable`:        {", size]", ", size, length]"},
		`"" needs a title`:                              {"title: all", "title: ''"},
		`the title is empty`:                            {"title: Subnet", "title: ''"},
		`an output cannot be shown as "oracle"`:         {"type: ocid", "type: oracle"},
		`name: the configuration has no such output`:    {"  id: {type: ocid}", "  id: {type: ocid}\n  name: {type: string}"},
		`"result" has other, which is no output`:        {"outputs: [id]", "outputs: [id, other]"},
		`an enum needs its values`:                      {"type: integer, default: 2", "type: enum"},
		`the default c is none of the values`:           {"{type: oci:identity:compartment:id}", "{type: enum, enum: [a, b], default: c}"},
		`extra: the configuration has no such variable`: {"  size: {", "  extra: {type: string}\n  size: {"},
	} {
		if !strings.Contains(goodSchema, change.old) {
			t.Fatalf("nothing to change: %q", change.old)
		}
		err := check(strings.Replace(goodSchema, change.old, change.changed, 1), goodConfiguration+declaredToo)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `"c"`, "c"), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for want, configuration := range map[string]string{
		`password: the form does not ask for it, and it has no default`: goodConfiguration + declaredToo + "\nvariable \"password\" {}",
		`there is no .tf file`: "",
	} {
		files := fstest.MapFS{schemaFile: {Data: []byte(goodSchema)}}
		if configuration != "" {
			files["main.tf"] = &fstest.MapFile{Data: []byte(configuration)}
		}
		if _, err := pack(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
