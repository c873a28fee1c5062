// SPDX-License-Identifier: MPL-2.0

package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func TestJUnit(t *testing.T) {
	t.Parallel()
	nodes := []job.NodeResult{
		{Name: "gpu-1", Facts: &job.Facts{}, Checks: []job.Check{
			{Name: "gpu_count", Outcome: job.Pass, Message: "8 GPUs"},
			{Name: "clock", Outcome: job.Warn, Message: "off", Advice: "chronyc"},
			{Name: "gpu_ecc", Outcome: job.Fail, Message: "GPU 3: <2> errors & more\x01", Advice: "reset"},
			{Name: "gpu_details", Outcome: job.CannotTell, Message: "no state"},
		}},
		{Name: "gpu-2"},
	}
	runs := []job.Measurement{{Scope: job.ScopeAll, Outcome: job.Fail, Seconds: 1.5, Failure: &job.Failure{Message: "too slow", Advice: "look"}}}
	var out bytes.Buffer
	result := job.Result{Nodes: nodes, Runs: runs, Outcome: job.Fail, Failure: &job.Failure{Message: "the median is too slow", Advice: "look"}}
	if err := JUnit(&out, result); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Time    string `xml:"time,attr"`
				Failure struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
				Out string `xml:"system-out"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if read.Tests != 7 || read.Failures != 3 || read.Errors != 1 || read.Skipped != 1 || len(read.Suites) != 3 {
		t.Fatalf("%s", out.String())
	}
	first := read.Suites[0].Cases
	if read.Suites[0].Name != "gpu-1" || !strings.HasPrefix(first[2].Failure.Message, "GPU 3: <2> errors & more") || first[2].Failure.Text != "reset" || first[1].Out != "warning: off\nchronyc" {
		t.Errorf("%s", out.String())
	}
	if together := read.Suites[2].Cases[0]; together.Name != "all nodes" || together.Time != "1.500" || together.Failure.Message != "too slow" {
		t.Errorf("%+v", together)
	}
	// Each repeat may be good by itself, and what they come to not.
	if verdict := read.Suites[2].Cases[1]; verdict.Name != "verdict" || verdict.Failure.Message != "the median is too slow" {
		t.Errorf("%+v", verdict)
	}
}
