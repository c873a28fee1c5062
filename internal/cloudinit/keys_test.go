// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newerKeys are not in the schema that the list is held against: keys of newer versions, and those that
// cloud-init takes without a module. No schema confirms them here: one too many lets a typing error pass.
var newerKeys = map[string]string{
	"create_hostname_file": "boolean", "zypper": "mapping", "ubuntu_pro": "mapping", "rpi": "mapping", "wireguard": "mapping",
	"merge_how": "string list", "merge_type": "string list", "output": "mapping", "reporting": "mapping",
	"system_info": "mapping", "network": "mapping", "datasource": "mapping", "datasource_list": "list", "swap": "mapping",
	"debug": "mapping", "vendor_data2": "mapping", "launch-index": "number", "manual_cache_clean": "boolean",
	"allow_userdata": "boolean", "syslog_fix_perms": "string list", "def_log_file": "string", "log_cfgs": "list",
	"no_ssh_fingerprints": "boolean", "disable_network_activation": "boolean", "resize_rootfs_tmp": "string",
	"deb822": "mapping", "hotplug": "mapping", "users[].doas": "list", "users[].sudo": "list", "user.sudo": "list", "users[].hashed_passwd": "string",
	"users[].plain_text_passwd": "string", "users[].selinux_user": "string",
	"write_files[].source": "mapping", "yum_repos.*.metalink": "string", "yum_repos.*.mirrorlist": "string",
	"chpasswd.users": "list", "apt.sources.*.append": "boolean",
}

type jsonSchema = map[string]any

// TestKeysAreCloudInits holds the list of keys against the schema of the installed cloud-init.
func TestKeysAreCloudInits(t *testing.T) {
	t.Parallel()
	found, _ := filepath.Glob("/usr/lib/python3*/*-packages/cloudinit/config/schemas/schema-cloud-config-v1.json")
	if len(found) == 0 {
		t.Skip("cloud-init is not installed")
	}
	var schema jsonSchema
	if err := json.Unmarshal([]byte(readFile(t, found[0])), &schema); err != nil {
		t.Fatal(err)
	}
	lines := map[string]map[string]bool{}
	walkSchema(schema, schema, "", lines, 0)
	if *update {
		for path, kinds := range newerKeys {
			if lines[path] == nil {
				lines[path] = map[string]bool{}
			}
			for kind := range strings.FieldsSeq(kinds) {
				lines[path][kind] = true
			}
		}
		writeKeys(t, lines)
	}
	for path, kinds := range lines {
		n := keys().at(path)
		for kind := range kinds {
			open := strings.TrimSuffix(kind, "!")
			if len(n.kinds) > 0 && !slices.Contains(n.kinds, open) {
				t.Errorf("%s may be a %s, the list has %q", path, open, n.kinds)
			}
		}
	}
}

func writeKeys(t *testing.T, lines map[string]map[string]bool) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Keys of cloud-config with the kinds of their values; see keys.go.\n")
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		kinds := slices.Sorted(maps.Keys(lines[path]))
		if lines[path]["any"] {
			kinds = nil
		}
		b.WriteString(strings.TrimSpace(path+" "+strings.Join(kinds, " ")) + "\n")
	}
	if err := os.WriteFile("keys.txt", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

var kindNames = map[string]string{
	"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "array": "list", "object": "mapping", "null": "null",
}

// walkSchema notes the kinds of a schema's values by path.
func walkSchema(root, schema jsonSchema, path string, lines map[string]map[string]bool, depth int) {
	if depth > 30 {
		panic("schema too deep at " + path)
	}
	note := func(kind string) {
		if path == "" {
			return
		}
		if lines[path] == nil {
			lines[path] = map[string]bool{}
		}
		lines[path][kind] = true
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
		case schema["$ref"] == nil && schema["required"] == nil && schema["oneOf"] == nil && schema["anyOf"] == nil && schema["allOf"] == nil:
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
