// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The test's own binary stands for a program, and a copy of it for what it embeds.
func TestWrite(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	var embedded, other bytes.Buffer
	compress(t, &embedded, content)
	compress(t, &other, content[:100])
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	binary := file("program", append(content, embedded.Bytes()...))
	inside, outside := file("part.gz", embedded.Bytes()), file("other.gz", other.Bytes())

	var texts [2][]byte
	for i := range texts {
		to := filepath.Join(dir, "document.json")
		if err := write("1.2.3", binary, to, []string{inside, outside}); err != nil {
			t.Fatal(err)
		}
		if texts[i], err = os.ReadFile(to); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("the same program has two documents")
	}
	var d document
	if err := json.Unmarshal(texts[0], &d); err != nil {
		t.Fatal(err)
	}
	if program := d.Metadata.Component; program.Name != "program" || program.Version != "1.2.3" || len(program.Hashes) != 1 {
		t.Errorf("the program is %+v", program)
	}
	names := map[string]bool{}
	refs := map[string]bool{}
	for _, c := range d.Components {
		names[c.Name] = true
		for _, part := range append(c.Components, c) {
			if refs[part.BOMRef] {
				t.Errorf("%s is there twice", part.BOMRef)
			}
			refs[part.BOMRef] = true
		}
	}
	if !names["stdlib"] || !names["github.com/google/uuid"] || !names["part"] || names["other"] {
		t.Errorf("components are %v", names)
	}
	if !refs["part pkg:golang/stdlib@"+strings.TrimPrefix(d.Components[0].Version, "v")] {
		t.Errorf("what is embedded has no components of its own: %v", refs)
	}
}

func compress(t *testing.T, to *bytes.Buffer, content []byte) {
	t.Helper()
	w := gzip.NewWriter(to)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
