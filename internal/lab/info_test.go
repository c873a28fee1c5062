// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWriteFile replaces a file at once, also over what somebody who was killed in it has left.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, labFile)
	for _, left := range []string{path, path + newSuffix} {
		if err := os.WriteFile(left, []byte("old, and longer"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	if err := writeFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	old := make([]byte, 100)
	n, _ := reader.Read(old)
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "new" || string(old[:n]) != "old, and longer" {
		t.Errorf("it has %q (%v), and its reader %q", text, err, old[:n])
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := removeFiles(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
