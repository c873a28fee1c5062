// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"sshd", "sudo", "mpirun", "mpicc"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cloud-init"), nil, 0o600); err != nil { // nobody can run it
		t.Fatal(err)
	}
	err := checkPrograms("/nonexistent:" + dir)
	if !errors.Is(err, ErrUnsupported) || !strings.HasSuffix(err.Error(), "apt-get install -y cloud-init`") {
		t.Errorf("only cloud-init cannot run: %v", err)
	}
	err = checkPrograms("/nonexistent")
	if !strings.Contains(err.Error(), "openssh-server sudo cloud-init openmpi-bin libopenmpi-dev") {
		t.Errorf("everything is missing: %v", err)
	}
}
