// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCopyTreeLeavesSecrets(t *testing.T) {
	t.Parallel()
	source, target := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for path, mode := range map[string]os.FileMode{"public": 0o644, "script": 0o755, "secret": 0o640, "private/inside": 0o644, "skipped": 0o644} {
		full := filepath.Join(source, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(path), mode); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{"private": 0o700, "": 0o755} {
		if err := os.Chmod(filepath.Join(source, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("public", filepath.Join(source, "link")); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(source, target, map[string]bool{"skipped": true}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{"public": 0o644, "script": 0o755, "link": os.ModeSymlink | 0o777} {
		if info, err := os.Lstat(filepath.Join(target, path)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	for _, path := range []string{"secret", "private", "skipped"} {
		if _, err := os.Lstat(filepath.Join(target, path)); !os.IsNotExist(err) {
			t.Errorf("%s was copied", path)
		}
	}
}

func TestSystemAccounts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "passwd")
	text := "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/bash\nnobody:x:65534:65534:::\n+::::::\nbroken\nbad:x:y:z\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	accounts, err := systemAccounts(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(accounts) != 2 || accounts[0][0] != "root" || accounts[1][0] != "nobody" {
		t.Errorf("accounts: %v", accounts)
	}
}
