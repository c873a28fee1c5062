// SPDX-License-Identifier: MPL-2.0

package containertest_test

import (
	"testing"
	"time"
	"os"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

func TestTry(t *testing.T) {
	l := containertest.StartLab(t, lab.Config{})
	containertest.AddRepository(t, l, "bastion")
	text, _ := os.ReadFile("/tmp/hosts/try")
	began := time.Now()
	out, err := l.Exec(t.Context(), "bastion", "bash", "-c", string(text))
	t.Logf("%s\n%s %v", time.Since(began), out, err)
}
