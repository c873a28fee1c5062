// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var newestSchema = flag.String("schema", "", "file with the schema of cloud-init "+newest+", to hold the list against")

// The list has three sources, each a section of it.
const (
	installed = "22.4.2" // Debian 12's
	newest    = "26.2"
	source    = "https://github.com/canonical/cloud-init/blob/" + newest + "/cloudinit/config/schemas/schema-cloud-config-v1.json"
)

// otherKeys are in neither schema, but cloud-init takes them.
var otherKeys = map[string][]string{
	"debug":        {"mapping"}, // the module cc_debug, in Oracle Linux 7; dropped with 22.3
	"vendor_data2": {"mapping"}, // doc/rtd/reference/base_config_reference.rst of 26.2; read from user data as vendor_data is
}

type jsonSchema = map[string]any

// keyLines are the kinds of values by path.
type keyLines map[string]map[string]bool

func readSchema(t *testing.T, path string) keyLines {
	t.Helper()
	var schema jsonSchema
	if err := json.Unmarshal([]byte(readFile(t, path)), &schema); err != nil {
		t.Fatal(err)
	}
	lines := keyLines{}
	walkSchema(schema, schema, "", lines, 0)
	return lines
}

// section writes what lines have and before has not.
func (lines keyLines) section(about string, before keyLines) string {
	text := "# " + about + "\n"
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(lines[path])), func(kind string) bool { return before[path][kind] })
		if lines[path]["any"] {
			kinds = nil
		}
		if before[path] == nil || len(kinds) > 0 && !before[path]["any"] {
			text += strings.Join(append([]string{path}, kinds...), " ") + "\n"
		}
	}
	return text
}

// TestKeysAreCloudInits holds the list of keys, both ways, against the schema of Debian's cloud-init, and against
// that of the newest one that was looked at, where its file is given: with -update it writes the list anew. Of
// another cloud-init, the list must have every key.
func TestKeysAreCloudInits(t *testing.T) {
	t.Parallel()
	found, _ := filepath.Glob("/usr/lib/python3*/*-packages/cloudinit/config/schemas/schema-cloud-config-v1.json")
	if len(found) == 0 {
		t.Skip("cloud-init is not installed")
	}
	here := readSchema(t, found[0])
	for path, kinds := range here {
		n := keys().at(path)
		for kind := range kinds {
			if open := strings.TrimSuffix(kind, "!"); len(n.kinds) > 0 && !slices.Contains(n.kinds, open) {
				t.Errorf("%s may be a %s, the list has %q", path, open, n.kinds)
			}
		}
	}
	version, err := exec.CommandContext(t.Context(), "cloud-init", "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(version), installed) {
		t.Logf("cloud-init is not %s but %s, %v", installed, version, err)
		return
	}
	sections := []string{here.section("Keys of cloud-config with the kinds of their values (see keys.go), as in the schema of cloud-init "+installed+".", nil)}
	if *newestSchema != "" {
		there := readSchema(t, *newestSchema)
		sections = append(sections, there.section("Also in the schema of "+newest+": "+source, here), otherSection())
		if *update {
			if err := os.WriteFile("keys.txt", []byte(strings.Join(sections, "")), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	if text := strings.Join(sections, ""); !strings.HasPrefix(keyList, text) || len(sections) > 1 && keyList != text {
		t.Error("keys.txt differs from the schemas; -update -schema FILE writes it anew")
	}
	if !strings.HasSuffix(keyList, otherSection()) {
		t.Errorf("keys.txt does not end with\n%s", otherSection())
	}
}

func otherSection() string {
	lines := keyLines{}
	for path, kinds := range otherKeys {
		lines[path] = map[string]bool{}
		for _, kind := range kinds {
			lines[path][kind] = true
		}
	}
	return lines.section("In neither schema; see keys_test.go.", nil)
}

var kindNames = map[string]string{
	"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "array": "list", "object": "mapping", "null": "null",
}

// walkSchema notes the kinds of a schema's values by path.
func walkSchema(root, schema jsonSchema, path string, lines keyLines, depth int) {
	if depth > 30 {
		panic("schema too deep at " + path)
	}
	if path != "" && lines[path] == nil {
		lines[path] = map[string]bool{}
	}
	note := func(kind string) {
		if path != "" {
			lines[path][kind] = true
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		defs, _ := root["$defs"].(jsonSchema)
		target, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(jsonSchema)
		walkSchema(root, target, path, lines, depth+1)
	}
	for _, of := range []string{"allOf", "oneOf", "anyOf"} {
		choices, _ := schema[of].([]any)
		for _, choice := range choices {
			if s, ok := choice.(jsonSchema); ok {
				walkSchema(root, s, path, lines, depth+1)
			}
		}
	}
	types, _ := schema["type"].([]any)
	if one, ok := schema["type"].(string); ok {
		types = []any{one}
	}
	properties, _ := schema["properties"].(jsonSchema)
	patterns, _ := schema["patternProperties"].(jsonSchema)
	closed := schema["additionalProperties"] == false
	for _, kind := range types {
		name := kindNames[fmt.Sprint(kind)]
		if name == "mapping" && closed && len(properties)+len(patterns) > 0 {
			name = "mapping!"
		}
		note(name)
	}
	if len(types) == 0 {
		switch {
		case schema["enum"] != nil:
			note("string")
		case closed && len(properties) > 0:
			note("mapping!")
		case len(properties)+len(patterns) > 0:
			note("mapping")
		case len(schema) > 0 && schema["$ref"] == nil && schema["required"] == nil && schema["oneOf"] == nil && schema["anyOf"] == nil && schema["allOf"] == nil:
			note("any")
		}
	}
	for name, property := range properties {
		if s, ok := property.(jsonSchema); ok {
			walkSchema(root, s, strings.TrimPrefix(path+"."+name, "."), lines, depth+1)
		}
	}
	for _, property := range patterns {
		if s, ok := property.(jsonSchema); ok {
			walkSchema(root, s, path+".*", lines, depth+1)
		}
	}
	if s, ok := schema["additionalProperties"].(jsonSchema); ok {
		walkSchema(root, s, path+".*", lines, depth+1)
	}
	switch items := schema["items"].(type) {
	case jsonSchema:
		walkSchema(root, items, path+"[]", lines, depth+1)
	case []any:
		for _, item := range items {
			if s, ok := item.(jsonSchema); ok {
				walkSchema(root, s, path+"[]", lines, depth+1)
			}
		}
	}
}
