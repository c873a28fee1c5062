// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

const ncclLogs = "../internal/nccl/testdata/"

func runParse(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := newRootCommand()
	var out bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs(append([]string{"parse"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	out, err := runParse(t, "", ncclLogs+"v2.16.8.alltoall", "--output", "json")
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		t.Fatal(err)
	}
	if len(document) != 2 || document["failure"] != nil {
		t.Errorf("want reports and failure only: %s", out)
	}
	report := document["reports"].([]any)[0].(map[string]any)
	row := report["rows"].([]any)[0].(map[string]any)
	if wrong, there := row["in_place"].(map[string]any)["wrong"]; !there || wrong != nil {
		t.Errorf("an absent value must be null: %v", row)
	}
	if report["collective"] != "alltoall" || report["complete"] != true || report["avg_busbw_gb_per_s"] != 61.3447 || row["size_bytes"] != 1024.0 {
		t.Errorf("%v", report)
	}

	out, err = runParse(t, "", ncclLogs+"v2.19.6.badopt", "--output", "json", "--exit-status", "0")
	if code := exitCode(0); !errors.As(err, &code) || code != 1 {
		t.Errorf("error %v, want exit status 1", err)
	}
	want := `{
  "reports": [],
  "failure": {
    "kind": "unknown_option",
    "message": "nccl-tests do not know the option --frobnicate and printed their usage instead of running"
  }
}
`
	if out != want {
		t.Errorf("got %s", out)
	}
}

func TestParseTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(ncclLogs + "v2.19.6.all_reduce")
	if err != nil {
		t.Fatal(err)
	}
	out, err := runParse(t, string(text), "-")
	if err != nil || !strings.Contains(out, "128 MiB      469.17    286.08    286.08       0") || !strings.Contains(out, "No failure") {
		t.Errorf("error %v:\n%s", err, out)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	code := exitCode(0)
	if _, err := runParse(t, "", "/no/such/file"); !errors.Is(err, fs.ErrNotExist) || errors.As(err, &code) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := runParse(t, "", "-", "--output", "xml"); err == nil || errors.As(err, &code) {
		t.Errorf("unknown format: %v", err)
	}
	if _, err := runParse(t, ""); err == nil || errors.As(err, &code) {
		t.Errorf("no file: %v", err)
	}
}
