// SPDX-License-Identifier: MPL-2.0

package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
)

var pages = flag.String("pages", "", "`directory` to write the sample pages to, for looking at them")

func html(t testing.TB, r job.Result) string {
	t.Helper()
	var page bytes.Buffer
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func table(t testing.TB, r job.Result) string {
	t.Helper()
	var text bytes.Buffer
	if err := Table(&text, r); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestEverySampleHasEverySection(t *testing.T) {
	t.Parallel()
	for name, result := range samples() {
		page := html(t, result)
		if *pages != "" {
			if err := os.WriteFile(filepath.Join(*pages, name+".html"), []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, part := range []string{`<header class="card">`, `id="bandwidth"`, `id="rows"`, `id="nodes"`, `id="runs"`, `id="versions"`, "</html>"} {
			if !strings.Contains(page, part) {
				t.Errorf("%s: no %s", name, part)
			}
		}
		for _, no := range []string{"<script", "http://", "https://", "src=", "@import", "url(", "ZgotmplZ", "<no value>", "%!"} {
			if strings.Contains(page, no) {
				t.Errorf("%s: holds %q", name, no)
			}
		}
		if f := result.Failure; f != nil && (!strings.Contains(page, template.HTMLEscapeString(f.Message)) || !strings.Contains(page, template.HTMLEscapeString(f.Advice))) {
			t.Errorf("%s: the reason is not shown", name)
		}
		wellFormed(t, name, page)
		text := table(t, result)
		if !strings.Contains(text, "Verdict     ") || result.Failure != nil && !strings.Contains(text, result.Failure.Message) {
			t.Errorf("%s: no verdict, or not its reason:\n%s", name, text)
		}
	}
}

// wellFormed checks that elements are closed in order.
func wellFormed(t *testing.T, name, page string) {
	t.Helper()
	page = regexp.MustCompile(`<(meta|br)\b([^>]*)>`).ReplaceAllString(page, "<$1$2/>")
	page = strings.ReplaceAll(page, " open>", ` open="">`)
	page = strings.Replace(page, "<!DOCTYPE html>", "", 1)
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Entity = xml.HTMLEntity
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	text := table(t, samples()["slow"])
	for _, part := range []string{
		"all_reduce float sum on 32 GPUs of 4 hosts, nccl-tests 2.19.6\n",
		"        size        time     algbw     busbw   wrong        time     algbw     busbw   wrong\n",
		"     128 MiB ",
		"Each node alone\n  inst-ab3de-gpu  227.36 GB/s at 8 GiB      passed\n  inst-ab3df-gpu  95.73 GB/s at 8 GiB       failed\n    all_reduce is below the expected 200 GB/s",
		"Checks that did not pass\n  inst-ab3dg-gpu  timezone: the time zone is Etc/UTC, Asia/Tokyo was expected (warning)\n    set it in cloud-init\n",
		"Ranks       32 on 4 hosts\nWrong       0\nPeak busbw  185.48 GB/s at 8 GiB\nVerdict     failed\nReason      all_reduce is below",
		"Advice      compare the runs",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "LAB") {
		t.Error("called a lab")
	}
	for _, line := range strings.Split(text, "\n")[:14] {
		if len(line) > 100 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestTableShowsWhatTheVerdictRestsOn(t *testing.T) {
	t.Parallel()
	r := comparedResult()
	s := &r.Summaries[0]
	s.Limits = []job.AppliedLimit{{Limit: job.Limit{FromBytes: 1 << 30, MinBusbwGBPerS: ptr(185.0), WarnBusbwGBPerS: ptr(200.0)}, Origin: "catalog: oci-hpc"}}
	s.Remarks = []string{"the transport was not judged: why"}
	text := table(t, r)
	for _, part := range []string{
		"NCCL's log  NCCL 2.28.3+cuda13.0; network IB; devices mlx5_0:1/RoCE; connections by NET/IB × 16",
		"Repeats     3 of 3 are right; median peak 18", "Limit       1 GiB and more, at least 185.00 GB/s, warning below 200.00 GB/s (catalog: oci-hpc)\n",
		"Baseline    ", " GB/s, 7.4 % slower, p = 0.05: warning\n", "Remark      the transport was not judged: why\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
}

func TestLabIsSaid(t *testing.T) {
	t.Parallel()
	lab := samples()["lab"]
	if text := table(t, lab); !strings.Contains(text, "LAB: the devices are lab NVIDIA A100-SXM4-40GB (host memory); no number here is a GPU's.") {
		t.Error(text)
	}
	if page := html(t, lab); !strings.Contains(page, "This is a result of the lab.") {
		t.Error("not on the page")
	}
	if page := html(t, samples()["good"]); strings.Contains(page, "result of the lab") {
		t.Error("a good page is called the lab's")
	}
	// A single node's run of the lab, with nothing over all nodes.
	lab.Runs = lab.Runs[:1]
	if page := html(t, lab); !strings.Contains(page, "This is a result of the lab.") {
		t.Error("not on the page without an overall run")
	}
}

func TestRealReports(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Glob("../nccl/testdata/*.*")
	if err != nil || len(logs) < 60 {
		t.Fatal(err, len(logs))
	}
	for _, log := range logs {
		file, err := os.Open(log)
		if err != nil {
			t.Fatal(err)
		}
		output, err := nccl.Parse(file, nil)
		_ = file.Close()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := Reports(&text, output.Reports, output.Failure); err != nil || text.Len() == 0 {
			t.Fatal(log, err)
		}
		result := job.Result{Nodes: []job.NodeResult{{Name: "vm"}}, Failure: output.Failure}
		for i := range output.Reports {
			result.Runs = append(result.Runs, job.Measurement{Scope: job.ScopeAll, Nodes: []string{"vm"}, Report: &output.Reports[i]})
		}
		wellFormed(t, log, html(t, result))
		for _, text := range []string{text.String(), table(t, result)} {
			if strings.Contains(text, "%!") {
				t.Errorf("%s:\n%s", log, text)
			}
		}
	}
}

// poison puts text into every string that a node or a program could have given.
func poison(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type() != reflect.TypeFor[job.Scope]() {
				poison(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), text)
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]string]() && v.Len() > 0 {
			v.Set(reflect.ValueOf(map[string]string{text: text}))
		}
	}
}

func TestNothingFromNodesIsMarkup(t *testing.T) {
	t.Parallel()
	for _, evil := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'</style></title><svg onload=alert(1)>`, "</pre>\x00\x1b[2J", `{{.}}`, `javascript:alert(1)`} {
		for name, result := range samples() {
			if name == "crowd" { // more of the same
				continue
			}
			scopes := make([]job.Scope, len(result.Runs))
			for i, run := range result.Runs {
				scopes[i] = run.Scope
			}
			poison(reflect.ValueOf(&result).Elem(), evil)
			for i, scope := range scopes {
				result.Runs[i].Scope = scope
			}
			page := html(t, result)
			for _, no := range []string{"<script", "<img", "<svg onload", "ZgotmplZ"} {
				if strings.Contains(page, no) {
					t.Errorf("%s with %q: the page holds %q", name, evil, no)
				}
			}
			if strings.Count(page, "</style>") != 1 || strings.Count(page, "</title></circle>") == 0 && name == "good" {
				t.Errorf("%s with %q: the page is broken", name, evil)
			}
			if text := table(t, result); strings.ContainsAny(text, "\x00\x1b") {
				t.Errorf("%s with %q: control characters on the terminal", name, evil)
			}
		}
	}
}

func TestAbsentIsNoZero(t *testing.T) {
	t.Parallel()
	result := samples()["good"]
	row := &result.Overall().Report.Rows[0]
	row.OutOfPlace, row.InPlace = nil, &job.Placement{}
	if text := table(t, result); !strings.Contains(text, "         8 B           -         -         -       -           -         -         -       -\n") {
		t.Error(text)
	}
	if page := html(t, result); !strings.Contains(page, `<tr><td>8 B</td><td class="start">-</td><td>-</td><td><strong>-</strong></td><td>-</td>`) {
		t.Error("not on the page")
	}
	report := result.Overall().Report
	for i := range report.Rows {
		report.Rows[i].OutOfPlace, report.Rows[i].InPlace = nil, nil
	}
	if text := table(t, result); !strings.Contains(text, "Wrong       not checked\nPeak busbw  no bandwidth\n") {
		t.Error(text)
	}
	_ = html(t, result)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriterErrors(t *testing.T) {
	t.Parallel()
	if err := Table(brokenWriter{}, samples()["good"]); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if err := Reports(brokenWriter{}, nil, nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if err := HTML(brokenWriter{}, samples()["good"]); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestTableShowsSuspects(t *testing.T) {
	t.Parallel()
	rail := 3
	result := job.Result{
		Suspects: []job.Suspect{
			{Kind: job.SuspectNode, Nodes: []string{"gpu-2"}, Confidence: job.Certain, Evidence: []string{"gpu-1 with gpu-2: 0.3 GB/s\x1b[31m"}},
			{Kind: job.SuspectRail, Index: &rail, Confidence: job.Likely},
		},
		ReplaceNodes: []string{"ocid1.instance.oc1..b"}, Conclusion: "2 suspects found in 5 runs", Outcome: job.Fail,
	}
	var out strings.Builder
	if err := Table(&out, result); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Suspect     node gpu-2 (certain)\n            gpu-1 with gpu-2: 0.3 GB/s[31m\n", "Suspect     rail 3 (likely)\n",
		"Search      2 suspects found in 5 runs\n", "Replace     ocid1.instance.oc1..b\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}
