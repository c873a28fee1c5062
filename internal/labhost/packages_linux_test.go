// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"slices"
	"testing"
)

// TestSplitStatus hides packages by their exact names.
func TestSplitStatus(t *testing.T) {
	t.Parallel()
	const docker, runc, rest = "Package: docker.io\nStatus: install ok installed\n\n", "Package: runc\nDescription: Package: docker.io\n\n", "Package: docker.io-doc\nVersion: 1\n"
	kept, hidden := splitStatus(docker+runc+rest, []string{"docker.io", "podman"})
	if kept != runc+rest || !slices.Equal(hidden, []string{"docker.io"}) {
		t.Errorf("kept %q, hidden %q", kept, hidden)
	}
}

// TestInfoKind tells a package's files from those of others with similar names.
func TestInfoKind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ file, name, want string }{
		{"docker.io.list", "docker.io", "list"},
		{"libc6:amd64.list", "libc6", "list"},
		{"libc6-dev:amd64.list", "libc6", ""},
		{"runc.md5sums", "runc", "md5sums"},
		{"runc", "runc", ""},
		{"podman.list", "docker.io", ""},
	} {
		if got := infoKind(test.file, test.name); got != test.want {
			t.Errorf("%s of %s is %q, want %q", test.file, test.name, got, test.want)
		}
	}
}
