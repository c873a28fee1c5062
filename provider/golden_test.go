// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files with what users read now")

// golden compares what a user reads, the boxes around warnings and errors, with a file.
func golden(t *testing.T, name, output string) {
	t.Helper()
	var text strings.Builder
	for _, box := range boxes.FindAllString(plain(output), -1) {
		if !strings.Contains(box, "Provider development overrides") {
			text.WriteString(scrub(box) + "\n")
		}
	}
	if text.Len() == 0 {
		t.Fatalf("no warning and no error in\n%s", output)
	}
	file := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run with -update", err)
	}
	if text.String() != string(want) {
		t.Errorf("a user reads\n%s\nand %s has\n%s", text.String(), file, want)
	}
}

var (
	colours = regexp.MustCompile("\x1b\\[[0-9;]*m")
	boxes   = regexp.MustCompile(`(?ms)^╷$.*?^╵$`)
)

// plain takes the colours out; Terraform leaves the boxes out when it is told to print none.
func plain(output string) string { return colours.ReplaceAllString(output, "") }

// scrub takes out what differs from run to run. Lengths do not, so the lines break where they always do.
func scrub(text string) string {
	for _, s := range []struct{ pattern, with string }{
		{`\bocid1\.(\w+)\.oc1\.([\w-]*)\.[a-z0-9]{20,}`, `ocid1.$1.oc1.$2.…`},
		{`\b[0-9A-Fa-f]{32}\b`, `…`},
		{`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`, `<token>`},
		{`\b20\d\d-\d\d-\d\dT[\d:]+Z`, `<time>`},
		{`\b(127\.0\.0\.1|203\.0\.113\.1):\d+`, `$1:…`},
		{`inst-[a-z0-9]{5}-`, `inst-…-`},
		{`\btrain-\d+\b`, `train-…`},
		{`(?m) on main\.tf line \d+`, ` on main.tf line …`},
		{`(?m)^│ +\d+: `, `│    …: `},
		// What follows is not ours: Terraform and OpenTofu say it in words of their own.
		{`(?s)( no object exists with the given id)\b.*?\n╵`, "$1 …\n╵"},
	} {
		text = regexp.MustCompile(s.pattern).ReplaceAllString(text, s.with)
	}
	return text
}
