// SPDX-License-Identifier: MPL-2.0

package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func TestFilesHasEveryForm(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "reports")
	names, err := Files(dir, foundResult())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"report.txt", "report.html", "summary.md", "junit.xml", "metrics.prom", "results.csv", "result.json",
		"bandwidth.svg", "bandwidth.png", "latency.svg", "latency.png", "each-node.svg", "each-node.png", "pairs.svg", "pairs.png"}
	if !slices.Equal(names, want) {
		t.Errorf("the files are %v", names)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name)) // #nosec G304 -- of the test
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v)", name, info.Mode(), err)
		}
		switch filepath.Ext(name) {
		case ".svg":
			wellFormedXML(t, name, text)
		case ".png":
			picture, err := png.Decode(bytes.NewReader(text))
			if err != nil || picture.Bounds().Dx() != 2*int(wide.width) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	var r job.Result
	if text, err := os.ReadFile(filepath.Join(dir, "result.json")); err != nil || json.Unmarshal(text, &r) != nil || r.Outcome != job.Fail { // #nosec G304 -- of the test
		t.Errorf("result.json does not give the result back: %v", err)
	}
}

func wellFormedXML(t *testing.T, name string, text []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s is no XML: %v", name, err)
			return
		}
	}
}

func TestFilesSaysWhereItFails(t *testing.T) {
	t.Parallel()
	occupied := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Files(occupied, foundResult()); err == nil || !strings.Contains(err.Error(), occupied) {
		t.Errorf("into a file: %v", err)
	}
}

func TestCSVHasEveryValue(t *testing.T) {
	t.Parallel()
	r := foundResult()
	r.Runs[0].Report.Rows[0].InPlace.WrongResults = nil
	var out bytes.Buffer
	if err := CSV(&out, r); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := 1
	for _, run := range r.Runs {
		want += 2 * len(run.Report.Rows)
	}
	if len(lines) != want || !slices.Equal(lines[0], csvHeader) {
		t.Fatalf("%d lines, not %d", len(lines), want)
	}
	first := []string{"node", r.Nodes[0].Name, "1", "", "pass", "all_reduce", "8", "8", "float", "sum", "out_of_place"}
	if !slices.Equal(lines[1][:len(first)], first) {
		t.Errorf("the first line is %v", lines[1])
	}
	if time, err := strconv.ParseFloat(lines[1][11], 64); err != nil || time != *r.Runs[0].Report.Rows[0].OutOfPlace.TimeUS {
		t.Errorf("its time is %q", lines[1][11])
	}
	if lines[2][14] != "" || lines[1][14] != "0" {
		t.Errorf("wrong values that nobody counted are %q, counted ones %q", lines[2][14], lines[1][14])
	}
}

// A line of Prometheus' text format: https://prometheus.io/docs/instrumenting/exposition_formats/
var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)((?:\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\})?) ([-+.e0-9]+)$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-z_]+) gauge$`)
)

func TestPrometheusFormat(t *testing.T) {
	t.Parallel()
	nasty := foundResult()
	nasty.Nodes[0].Name = "a\"b\\c\nd"
	nasty.Runs[0].Nodes = []string{nasty.Nodes[0].Name}
	all := samples()
	all["nasty"] = nasty
	for name, r := range all {
		var out bytes.Buffer
		if err := Prometheus(&out, r); err != nil {
			t.Fatal(err)
		}
		family, seen := "", map[string]bool{}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if m := typeLine.FindStringSubmatch(line); m != nil {
				family = m[1]
			}
			if strings.HasPrefix(line, "#") {
				continue
			}
			m := sampleLine.FindStringSubmatch(line)
			if m == nil || m[1] != family || seen[m[1]+m[2]] {
				t.Errorf("%s: %q is malformed, in the family %s, or there twice", name, line, family)
				continue
			}
			seen[m[1]+m[2]] = true
		}
	}
	var out bytes.Buffer
	if err := Prometheus(&out, foundResult()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`ocihpc_outcome{outcome="fail"} 1`, `ocihpc_outcome{outcome="pass"} 0`, "ocihpc_finished_timestamp_seconds 1.795167187e+09",
		`ocihpc_node_outcome{node="inst-ab3de-gpu",outcome="pass"} 1`, `ocihpc_check_outcome{node="inst-ab3de-gpu",check="gpu_count",outcome="pass"} 1`,
		`ocihpc_suspect{kind="node",nodes="inst-ab3dj-gpu",index="",confidence="certain"} 1`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("there is no line %s", want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	r := foundResult()
	r.Nodes[1].Checks = append(r.Nodes[1].Checks, job.Check{Name: "gpu_ecc", Outcome: job.Fail, Message: "GPU 3 | <b>bad</b>\nreally"})
	var out bytes.Buffer
	if err := Markdown(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## ✕ failed: all\\_reduce reached 41.28 GB/s bus bandwidth at 8 GiB\n",
		"- **node inst-ab3dj-gpu** (certain): with inst-ab3di-gpu: 41.9 GB/s at 8 GiB, the other pairs reach 223.4 GB/s; with",
		"| 8 GiB |", "| inst-ab3df-gpu | failed | 224.94 | ✕ gpu\\_ecc: GPU 3 \\| &lt;b&gt;bad&lt;/b&gt; really |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	var lab bytes.Buffer
	if err := Markdown(&lab, samples()["lab"]); err != nil || !strings.Contains(lab.String(), "A result of the lab") {
		t.Errorf("the lab is not named: %v", err)
	}
}
