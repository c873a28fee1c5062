// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"os"
	"path/filepath"
	"testing"
)

// officialVariable names the executable of OCI's own provider.
const officialVariable = "OCI_PROVIDER_BINARY"

// OfficialProvider gives a folder with the executable of OCI's own provider, oracle/oci, alone. The test is skipped where
// OCI_PROVIDER_BINARY does not name one.
func OfficialProvider(t testing.TB) string {
	t.Helper()
	binary := os.Getenv(officialVariable)
	if binary == "" {
		t.Skipf("set %s to the executable of the provider oracle/oci to run this test", officialVariable)
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil { // #nosec G703 -- who runs the tests says which
		t.Fatalf("%s: %v", officialVariable, err)
	}
	dir := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(dir, "terraform-provider-oci")); err != nil {
		t.Fatal(err)
	}
	return dir
}
