// SPDX-License-Identifier: MPL-2.0

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVersions compares the versions that people are told to take with the one that there is.
func TestVersions(t *testing.T) {
	t.Parallel()
	version := strings.TrimSpace(read(t, "VERSION"))
	told := regexp.MustCompile(`(?:\?ref=v|\bversion=)([0-9.]+[0-9])`)
	found := 0
	for file, text := range texts(t) {
		for _, match := range told.FindAllStringSubmatch(text, -1) {
			found++
			if match[1] != version {
				t.Errorf("%s has %s, and this is %s", file, match[0], version)
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d versions were found", found)
	}
}

// TestChangelog takes changes through two releases.
func TestChangelog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(command string) (string, error) {
		c := exec.CommandContext(t.Context(), root+"/tools/changelog.sh", command)
		c.Env = append(os.Environ(), "CHANGELOG_ROOT="+dir, "SOURCE_DATE_EPOCH=1767323045")
		output, err := c.CombinedOutput()
		return string(output), err
	}
	must := func(command, want string) {
		t.Helper()
		if got, err := run(command); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nnot\n%s", command, err, got, want)
		}
	}
	write("VERSION", "0.1.0\n")
	write("CHANGELOG.md", "# Changelog\n\nAn introduction.\n")
	write(".changelog/README.md", "How to write them.\n")
	write(".changelog/slow.bug.md", "runner: faster\n")
	write(".changelog/cluster.feature.md", "**New resource:** a cluster;\nit grows\n\nand shrinks\n")
	const first = "FEATURES:\n\n* **New resource:** a cluster;\n  it grows\n\n  and shrinks\n\nBUG FIXES:\n\n* runner: faster\n"
	must("notes", first)
	must("release", "")
	must("notes", first)
	if output, err := run("release"); err == nil {
		t.Errorf("a version was released twice: %s", output)
	}

	write("VERSION", "0.2.0\n")
	if output, err := run("notes"); err == nil {
		t.Errorf("a version without changes has notes: %s", output)
	}
	write(".changelog/speed.enhancement.md", "runner: even faster\n")
	must("release", "")
	changelog, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := "# Changelog\n\nAn introduction.\n\n## 0.2.0 (January 02, 2026)\n\nENHANCEMENTS:\n\n* runner: even faster\n\n## 0.1.0 (January 02, 2026)\n\n" + first
	if string(changelog) != want {
		t.Errorf("got\n%s\nwant\n%s", changelog, want)
	}
	if left, err := filepath.Glob(dir + "/.changelog/*"); err != nil || len(left) != 1 {
		t.Errorf("left are %q, %v", left, err)
	}

	for name, text := range map[string]string{"a.fix.md": "text\n", "b.bug.txt": "text\n", "c.bug.md": "* a bullet\n", "d.bug.md": ""} {
		write(".changelog/"+name, text)
		if output, err := run("check"); err == nil || !strings.Contains(output, name) {
			t.Errorf("%s passes: %s", name, output)
		}
		if err := os.Remove(filepath.Join(dir, ".changelog", name)); err != nil {
			t.Fatal(err)
		}
	}
	must("check", "")
}
