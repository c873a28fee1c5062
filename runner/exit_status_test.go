// SPDX-License-Identifier: MPL-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The exit statuses are what the program's help and the guide promise.
func TestExitStatuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	unfinished, invalid := filepath.Join(dir, "unfinished.txt"), filepath.Join(dir, "job.json")
	for path, text := range map[string]string{unfinished: "# nThread 1 nGpus 2\n", invalid: `{"version": 1}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	met := map[int]bool{}
	for line, want := range map[string]int{
		"version":                          0,
		"shapes --output json":             0,
		"completion fish":                  0,
		"man " + dir + "/man1":             0,
		"parse " + unfinished:              1,
		"parse " + dir + "/none":           2,
		"report " + dir + "/none.json":     2,
		"fly":                              64,
		"jobs --wings":                     64,
		"jobs --output yaml":               64,
		"shapes BM.GPU99":                  64,
		"parse":                            64,
		"run " + invalid + " --dir " + dir: 64,
		"setup --engine rkt --dry-run":     64,
	} {
		root := newRootCommand()
		root.SetArgs(strings.Fields(line))
		root.SetOut(io.Discard)
		if got := statusOf(root.ExecuteContext(t.Context())); got != want {
			t.Errorf("ocihpc-runner %s: status %d, not %d", line, got, want)
		}
		met[want] = true
	}
	guide, err := os.ReadFile("../templates/guides/runner.md")
	if err != nil {
		t.Fatal(err)
	}
	for status := range met {
		number := strconv.Itoa(status)
		if !strings.Contains(newRootCommand().Long, "\n  "+number+" ") || !strings.Contains(string(guide), "\n| "+number+" |") {
			t.Errorf("the help or the guide does not name exit status %d", status)
		}
	}
}
