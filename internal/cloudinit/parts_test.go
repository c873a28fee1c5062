// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func problems(c Config) string {
	var all []string
	for _, p := range Validate(c) {
		all = append(all, p.String())
	}
	return strings.Join(all, "\n")
}

func TestBadParts(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"a: b: c\n":                                  "parts[0].content: Invalid YAML: line 1, column 5: mapping values are not allowed in this context.",
		"ok: 1\nruncmd: [a, b\nnext: 1\n":            "line 3, column 5: did not find expected ',' or ']'",
		"runcmd:\n  - 'x\n":                          "line 3, column 1: found unexpected end of stream while scanning a quoted scalar that begins at line 2, column 5.",
		"a:\n\tb: 1\n":                               "line 2, column 1: found character that cannot start any token",
		"- a\n":                                      "line 1, column 1: a cloud-config is a mapping",
		"runcmd: [a]\n---\nruncmd: [b]\n":            "a second document",
		"packages: [a]\npackages: [b]\n":             "line 2, column 1: the key packages is there twice",
		"#cloud-config\ntimezon: UTC\n":              "line 2, column 1: cloud-init knows no key timezon; did you mean timezone?",
		"write_files:\n- path: /x\n  mode: '0644'\n": "line 3, column 3: cloud-init knows no key write_files[0].mode",
		"users:\n- name: a\n  ssh_authorised_key: x": "did you mean ssh_authorized_keys?",
		"manual_cache_clean: true":                   "line 1, column 1: cloud-init knows no key manual_cache_clean.", // in its own settings alone
		"packages: 3\n":                              "line 1, column 11: packages is a number; cloud-init takes a list",
		"runcmd:\n- echo a: b\n":                     "line 2, column 3: runcmd[0] is a mapping; cloud-init takes a list or a string",
		"package_upgrade: maybe\n":                   "package_upgrade is a string; cloud-init takes a boolean",
		"write_files: [{path: " + ScriptPath + "}]":  "is written by the set-up itself",
		"write_files: [{path: /proc/x}]":             "belongs to the system",
		"write_files: [{path: /etc/typed}]":          `"/etc/typed" is in write_files of this resource too`,
		"mounts: [[tmpfs, /mnt/localdisk/]]":         "/mnt/localdisk is mounted by nvme already",
		"mounts: [[tmpfs, /var/lib/docker]]":         "/var/lib/docker is mounted by nvme already",
		"mounts: [[tmpfs, /mnt]]":                    "/mnt would hide /mnt/localdisk",
		"mounts: [[a, /data], [b, /data/]]":          "line 1, column 26: something is mounted at /data already.",
		"timezone: UTC":                              "timezone is given by the attribute of this name too",
		"runcmd: &a [*a]":                            "holds itself",
		"runcmd: [!!python/object x]":                "cloud-init takes no tag such as !!python/object",
		"#!/bin/sh\n":                                `Set content_type to "text/x-shellscript"`,
		"## template: jinja\na: b":                   `Set content_type to "text/jinja2"`,
		"a\x00":                                      "The content is not text.",
	} {
		c := Config{Shape: "BM.GPU4.8", Timezone: "UTC", NVMe: &NVMe{ContainerStorage: true}, Parts: []Part{{Content: content}},
			WriteFiles: map[string]File{"/etc/typed": {}}}
		if got := problems(c); !strings.Contains(got, want) || strings.HasSuffix(got, "?.") || strings.HasSuffix(got, "..") {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

func TestGoodParts(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"", "#cloud-config\n", "# nothing\n", "runcmd:\n- [ls, -l]\n- echo hi\n", "x-mine: {a: b}\npackages: [x]\n",
		"yum_repos: {x: {baseurl: 'http://x', anything: 1}}", "a: &x {b: 1}\n", "users: [default, {name: x, sudo: [a]}]",
		"mounts: [[a, none, swap], [b, none, swap], [c, /c], [d, /d]]", "packages: [{apt: [x]}]\nntp: {peers: [a]}\n", "vendor_data2: {enabled: false}",
		"ntp: {servers: [a]}\nfinal_message: done\npower_state: {mode: reboot}\n",
	} {
		if got := problems(Config{Parts: []Part{{Content: content}}}); got != "" && !strings.HasPrefix(content, "a:") {
			t.Errorf("%q: %s", content, got)
		}
	}
}

// TestReformattedPartsAreTheSame: other spacing, order, quotes and comments change nothing.
func TestReformattedPartsAreTheSame(t *testing.T) {
	t.Parallel()
	const one = "#cloud-config\npackages: [git, \"tmux\"]\nwrite_files:\n- path: /etc/x\n  permissions: '0644'\n  content: |\n    a\n    b\npackage_upgrade: yes\nntp: &n {enabled: true}\n"
	const two = "# other words\nntp:\n    enabled: on\npackage_upgrade: True\nwrite_files:\n    - {content: \"a\\nb\\n\", permissions: \"0644\", path: /etc/x} # here\npackages:\n    - 'git'\n    - tmux\n"
	a, b := Part{Content: one}.Normal(), Part{Content: two}.Normal()
	if a != b {
		t.Errorf("%s\ndiffers from\n%s", a, b)
	}
	if other := (Part{Content: strings.Replace(two, "0644", "0600", 1)}).Normal(); other == b {
		t.Error("another value is another part")
	}
	if numbers := (Part{Content: "a: 010\nb: '010'\nc: 1:20\nd: 1e3\ne: 2001-01-01\nf: no\n"}).Normal(); numbers !=
		"#cloud-config\na: 010\nb: \"010\"\nc: 1:20\nd: 1e3\ne: 2001-01-01\nf: false\n" {
		t.Errorf("numbers became others:\n%s", numbers)
	}
}

// FuzzParts holds every part to: refused, or rendered to what reads the same again, without a panic.
func FuzzParts(f *testing.F) {
	for _, s := range nasty {
		f.Add(s)
		f.Add("runcmd:\n- " + s + "\n")
	}
	f.Add("a: &a [x]\nb: *a\nc: {<<: {d: 1}, e: 2}\n")
	f.Add("x-a: {!!binary YQ==: !!binary YQ==, ~: [[], {}, [[a], {b: c}]]}\n")
	f.Add("x-a: {" + strings.Repeat("k", 2000) + ": [\" b\\n\", \"a\\nb\\n\\n\", \"a\\n \"]}\n")
	f.Fuzz(func(t *testing.T, content string) {
		c := Config{Parts: []Part{{Content: content}}}
		if len(Validate(c)) > 0 {
			return
		}
		form := c.Parts[0].Normal()
		if again := (Part{Content: form}).Normal(); again != form {
			t.Errorf("%q has the normal form %q, and that %q", content, form, again)
		}
		read, err := readYAML(content)
		if err != nil {
			t.Fatalf("%q was taken: %v", content, err)
		}
		meant, err := normal(read)
		if err != nil {
			t.Fatalf("%q was taken: %v", content, err)
		}
		written, err := readYAML(form)
		if err != nil || tree(written) != tree(meant) {
			t.Errorf("%q means %s, its normal form %q is %s, %v", content, tree(meant), form, tree(written), err)
		}
		if out := render(t, c); !strings.HasPrefix(out.Rendered, "Content-Type: multipart/mixed") {
			t.Errorf("rendered %q", out.Rendered)
		}
	})
}

// tree shows all that a node says: its strings, and its other scalars as they are.
func tree(n *yaml.Node) string {
	if n == nil {
		return "nothing"
	}
	var parts []string
	for _, child := range n.Content {
		parts = append(parts, tree(child))
	}
	switch n.Kind {
	case yaml.MappingNode:
		return "{" + strings.Join(parts, ",") + "}"
	case yaml.SequenceNode:
		return "[" + strings.Join(parts, ",") + "]"
	default:
	}
	switch {
	case n.Tag == "!!binary":
		return "binary " + n.Value
	case kindOf(n) == "string":
		return strconv.Quote(n.Value)
	}
	return n.Value
}

// injected is what must stay text wherever it is put; mark would be made by a shell that takes it for a command.
func injected(mark string) []string {
	return []string{
		"$(touch " + mark + ")", "`touch " + mark + "`", "'; touch " + mark + "; '", "\"; touch " + mark + "; \"", "x\ntouch " + mark + "\n",
		"x\n- touch " + mark, "x: y", "x # y", "\"\nruncmd: [touch " + mark + "]\nx: \"", "a\n...\n---\nruncmd: [x]", "&x", "*x", "!!x", "${x}", "%x", "\\", "x\r\ny", "\x00", "\xff",
	}
}

// TestNoInjection puts each of these texts into every field of every kind, key of a map included. What is not
// refused changes neither the structure of the cloud-config nor what shells run.
func TestNoInjection(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	places, taken := 0, 0
	for _, foreign := range injected(mark) {
		for i := 0; ; i++ {
			c := everything()
			c.Parts, c.Runcmd, c.Bootcmd = nil, []string{"true"}, nil // their texts are commands
			left := i
			name, ok := inject(reflect.ValueOf(&c).Elem(), "", foreign, &left)
			if !ok {
				places = i
				break
			}
			if name == ".Runcmd[0]" || len(Validate(c)) > 0 {
				continue
			}
			taken++
			benign := everything()
			benign.Parts, benign.Runcmd, benign.Bootcmd = nil, []string{"true"}, nil
			checkSameStructure(t, name, foreign, render(t, c).Rendered, render(t, benign).Rendered)
			if script := setupScript(c); script != setupScript(benign) {
				runSettings(t, name, script)
			}
			if own := "/etc/profile.d/ocihpc-proxy.sh"; strings.HasPrefix(name, ".Proxy") {
				runSettings(t, name, c.Proxy.files(c.OS)[own].Content)
			}
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a text was run as a command")
	}
	if places < 40 || taken < 40 {
		t.Errorf("%d places were tried, %d texts taken", places, taken)
	}
}

// inject puts a text into the string number *left below v, and names its place.
func inject(v reflect.Value, name, foreign string, left *int) (string, bool) {
	switch v.Kind() {
	case reflect.String:
		if *left--; *left < 0 {
			v.SetString(foreign)
			return name, true
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return inject(v.Elem(), name, foreign, left)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if at, ok := inject(v.Field(i), name+"."+v.Type().Field(i).Name, foreign, left); ok {
				return at, true
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if at, ok := inject(v.Index(i), fmt.Sprintf("%s[%d]", name, i), foreign, left); ok {
				return at, true
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			if *left--; *left < 0 {
				v.SetMapIndex(key, reflect.Value{})
				v.SetMapIndex(reflect.ValueOf(foreign), value)
				return name + " key", true
			}
			if at, ok := inject(value, name+"."+key.String(), foreign, left); ok {
				v.SetMapIndex(key, value)
				return at, true
			}
		}
	}
	return "", false
}

// checkSameStructure compares keys and lengths of two cloud-configs, but the names that users choose.
func checkSameStructure(t *testing.T, name, foreign, got, want string) {
	t.Helper()
	var a, b map[string]any
	if err := yaml.Unmarshal([]byte(got), &a); err != nil {
		t.Fatalf("%s = %q: %v", name, foreign, err)
	}
	if err := yaml.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	for key := range b {
		delete(b, key)
		if _, there := a[key]; !there && !strings.HasSuffix(name, "."+key) {
			t.Errorf("%s = %q: no key %s", name, foreign, key)
		}
		delete(a, key)
	}
	if len(a) > 0 {
		t.Errorf("%s = %q: further keys %v", name, foreign, a)
	}
}

// runSettings has a shell run the settings and calls of a script, with calls that do nothing.
func runSettings(t *testing.T, name, script string) {
	t.Helper()
	settings, _, _ := strings.Cut(script, "\numask 022")
	calls := script[strings.LastIndex(script, "\n}\n")+1:]
	cmd := exec.CommandContext(t.Context(), "sh", "-eu")
	cmd.Stdin = strings.NewReader(settings + "\nrun() { :; }\nrun_once() { :; }\n" + strings.TrimPrefix(calls, "}"))
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", name, err, output)
	}
}
