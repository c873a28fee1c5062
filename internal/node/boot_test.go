// SPDX-License-Identifier: MPL-2.0

package node

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func TestSetup(t *testing.T) {
	t.Parallel()
	const grown = `{"step":"grow_root","exit":0,"seconds":2,"message":"grown"}` + "\n"
	const log = "== 2026-01-01T00:00:00Z grow_root\ngrown\n== 2026-01-01T00:00:02Z nvme\n== is no header\nno room\n  at all\n"
	tests := map[string]struct {
		status, log string
		want        job.Outcome
		says        string
	}{
		"complete":       {grown + `{"step":"ready","exit":0,"seconds":1,"message":""}` + "\n", log, job.Pass, "2 steps in 3 seconds: grow_root 2 s, ready 1 s"},
		"failed":         {grown + `{"step":"nvme","exit":5,"seconds":1,"message":"at \"all\""}` + "\n", strings.Replace(log, "== is no header\n", "", 1), job.Fail, "step nvme failed with exit status 5 after 1 seconds: at \"all\"\nno room\n  at all"},
		"failed, no log": {`{"step":"nvme","exit":5,"seconds":1,"message":"m"}`, "", job.Fail, "exit status 5 after 1 seconds: m"},
		"log of another": {`{"step":"rdma","exit":5,"seconds":1,"message":"m"}`, log, job.Fail, "exit status 5 after 1 seconds: m"},
		"ended early":    {grown, log, job.Fail, "did not finish; done: grow_root 2 s"},
		"empty":          {"", log, job.Fail, "did not finish; done: nothing"},
		"no status":      {"hello\n", log, job.CannotTell, `"hello\n" is not the status of a step`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, filepath.Join(dir, "status"), test.status, 0o644)
			put(t, filepath.Join(dir, "log"), test.log, 0o600)
			c := checkBoot(readBoot(t.Context(), filepath.Join(dir, "status"), filepath.Join(dir, "log")), "done")
			if c.Outcome != test.want || !strings.HasSuffix(c.Message, test.says) && test.want != job.CannotTell || !strings.Contains(c.Message, test.says) {
				t.Errorf("%+v", c)
			}
		})
	}
	if c := checkBoot(readBoot(t.Context(), filepath.Join(t.TempDir(), "none"), ""), "done"); c.Name != "" {
		t.Errorf("a node without a set-up was checked for it: %+v", c)
	}
	running := boot{there: true, steps: []job.BootStep{{Step: "grow_root", Seconds: 2}}}
	if c := checkBoot(running, cloudInitRunning); c.Outcome != job.Warn || c.Message != "the set-up still runs; done so far: grow_root 2 s" || !strings.Contains(c.Advice, "--wait") {
		t.Errorf("%+v", c)
	}
}

func FuzzParseBoot(f *testing.F) {
	f.Add(`{"step":"a","exit":1,"seconds":2,"message":"m"}` + "\n{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := parseBoot(text)
		if err != nil && steps != nil {
			t.Errorf("%v, %v", steps, err)
		}
	})
}
