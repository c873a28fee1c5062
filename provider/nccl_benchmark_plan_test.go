// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
)

// A measurement is made again for a reason that the plan shows, and only then.
func TestAccNCCLBenchmark_again(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	const least = "max_size_bytes = 64\n  iterations = 1"
	tf := acctest.NewTerraform(t, measured(l, least), l.Info.Environ()...)
	plan := func(want ...string) string {
		t.Helper()
		text := tf.Must("plan", "-input=false", "-no-color")
		for _, part := range want {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
				t.Errorf("the plan does not say %q:\n%s", part, text)
			}
		}
		return text
	}
	measuredAt := func() string { return tf.State(benchmarkAddress).Values["measured_at"].(string) } //nolint:forcetypeassert // the schema's

	plan(`+ measured_because = "it was never measured"`)
	tf.Apply()
	tf.ExpectNoChanges()
	first := measuredAt()

	tf.Configure(measured(l, least, "triggers = { image = \"new\" }\n  max_age = \"999h\""))
	plan(`~ measured_because = "it was never measured" -> "changed: triggers"`)
	tf.Apply()
	tf.ExpectNoChanges()
	second := measuredAt()
	if first == second {
		t.Error("another trigger does not measure again")
	}

	tf.Configure(measured(l, least, "triggers = { image = \"new\" }"))
	if text := plan(`- max_age`); strings.Contains(text, "known after apply") {
		t.Errorf("how long a measurement is good for changes what was measured:\n%s", text)
	}
	tf.Apply()
	if measuredAt() != second {
		t.Error("what says how long a measurement is good for measures again")
	}

	report := filepath.Join(t.TempDir(), "report.html")
	tf.Configure(measured(l, least, "triggers = { image = \"new\" }", fmt.Sprintf("report_path = %q", report)))
	tf.Apply()
	if _, err := os.Stat(report); err != nil || measuredAt() != second {
		t.Errorf("the same work is measured again though the head node has its result, or has no report: %v", err)
	}
	tf.Must("apply", "-auto-approve", "-input=false", "-replace="+benchmarkAddress)
	replaced := measuredAt()
	if replaced == second {
		t.Error("a measurement that was to be replaced is the old one")
	}

	time.Sleep(time.Second) // the age that is asked for
	tf.Configure(measured(l, least, "triggers = { image = \"new\" }\n  max_age = \"1s\""))
	tf.Apply()
	third := measuredAt()
	if third == replaced {
		t.Error("a measurement that is too old is not made again")
	}
	time.Sleep(time.Second)
	plan(`-> "it was measured at ` + third + `, and max_age is 1s"`)
}
