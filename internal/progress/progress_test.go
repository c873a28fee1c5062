// SPDX-License-Identifier: MPL-2.0

package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// story is a job with everything that is drawn.
func story() []job.Event {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	events := []job.Event{
		{Type: job.EventStarted, Message: "0123456789abcdef", Total: 2},
		{Type: job.EventPhaseStarted, Message: "Check the nodes", Total: 2},
		{Type: job.EventNode, Node: "gpu-1", Outcome: job.Pass, Message: "3 checks passed", Done: 1, Total: 2},
		{Type: job.EventNode, Node: "gpu-2", Outcome: job.Warn, Message: "uniform_driver: \x1b[2Jdiffers", Done: 2, Total: 2},
		{Type: job.EventPhaseFinished, Outcome: job.Pass},
		{Type: job.EventPhaseStarted, Message: "Measure all nodes together", Total: 2},
		{Type: job.EventOutput, Message: "1 GiB  out of place 123.45 GB/s  in place 123.40 GB/s", Done: 1, Total: 1},
		{Type: job.EventPhaseFinished, Outcome: job.Fail},
		{Type: job.EventPhaseStarted, Message: "Finish"},
		{Type: job.EventPhaseFinished, Message: "skipped: nothing to do"},
		{Type: job.EventResult, Outcome: job.Fail, Result: &job.Result{Outcome: job.Fail}},
	}
	for i := range events {
		events[i].Time = start.Add(time.Duration(i) * 500 * time.Millisecond)
	}
	return events
}

func draw(p *Printer, to *strings.Builder) string {
	for _, e := range story() {
		p.Handle(e)
	}
	return to.String()
}

func TestPlain(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	want := `Job 0123456789abcdef on 2 nodes
Check the nodes
pass   1/2  gpu-1: 3 checks passed
warn   2/2  gpu-2: uniform_driver:  [2Jdiffers
pass done in 1.5 s
Measure all nodes together
  1/1  1 GiB  out of place 123.45 GB/s  in place 123.40 GB/s
fail done in 1.0 s
Finish
skipped: nothing to do
fail after 5.0 s
`
	if got := draw(Plain(&out), &out); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	const again = "\r\x1b[K"
	want := "Job 0123456789abcdef on 2 nodes\n" +
		again + "Check the nodes …" +
		again + "Check the nodes  1/2  gpu-1: 3 checks …" +
		again + "\x1b[33mwarn\x1b[0m   2/2  gpu-2: uniform_driver:  [2Jdiffers\n" +
		"\x1b[32mpass\x1b[0m Check the nodes: done in 1.5 s\n" +
		again + "Measure all nodes together …" +
		again + "Measure all nodes together  1/1  1 GiB…" +
		again + "\x1b[31mfail\x1b[0m Measure all nodes together: done in 1.0 s\n" +
		again + "Finish …" +
		again + "Finish: skipped: nothing to do\n" +
		"\x1b[31mfail\x1b[0m after 5.0 s\n"
	if got := draw(Live(&out, func() int { return 40 }, true), &out); got != want {
		t.Errorf("got:\n%q\nwant:\n%q", got, want)
	}
}

func TestLiveWithoutColor(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if got := draw(Live(&out, func() int { return 40 }, false), &out); strings.Contains(got, "\x1b[3") {
		t.Errorf("%q", got)
	}
}

// setUpStory is a set-up of nodes, with a step of each end.
func setUpStory(nodes int) []job.Event {
	step := func(done int, title string, outcome job.StepOutcome) job.Event {
		return job.Event{Type: job.EventStep, Node: "gpu-1", Step: &job.StepResult{Title: title, Outcome: outcome}, Done: done, Total: 4}
	}
	return []job.Event{
		{Type: job.EventStarted, Message: "0123456789abcdef", Total: nodes},
		{Type: job.EventPhaseStarted, Message: "Set up the nodes", Total: nodes},
		{Type: job.EventNode, Node: "gpu-1", Outcome: job.Warn, Message: "waiting: another set-up works on gpu-1 since 4 min"},
		step(1, "Look whether systemd runs", job.StepUnchanged),
		step(2, "Install runc 1.3.6", job.StepChanged),
		step(3, "Pull busybox\x1b[2J", job.StepFailed),
		step(4, "Prove it", job.StepNotRun),
		{Type: job.EventStep, Node: "gpu-1"}, // of a later version
		{Type: job.EventNode, Node: "gpu-1", Outcome: job.Fail, Message: "Pull busybox: no route to host", Done: 1, Total: nodes},
		{Type: job.EventPhaseFinished, Outcome: job.Fail, Message: "gpu-1: Pull busybox: no route to host"},
	}
}

func TestSetUp(t *testing.T) {
	t.Parallel()
	const again = "\r\x1b[K"
	const waiting, failed = "warn   gpu-1: waiting: another set-up works on gpu-1 since 4 min\n", "gpu-1: Pull busybox: no route to host\n"
	for name, c := range map[string]struct {
		nodes int
		live  bool
		want  string
	}{
		"plain, one node": {1, false, "Job 0123456789abcdef on 1 node\nSet up the nodes\n" + waiting +
			"  2/4  Install runc 1.3.6: changed\n  3/4  Pull busybox [2J: failed\nfail   1/1  " + failed + "fail " + failed},
		"plain, nodes": {2, false, "Job 0123456789abcdef on 2 nodes\nSet up the nodes\n" + waiting + "fail   1/2  " + failed + "fail " + failed},
		"live, one node": {1, true, "Job 0123456789abcdef on 1 node\n" + again + "Set up the nodes …" + again + waiting +
			again + "Set up the nodes  gpu-1  1/4  Look whether systemd runs: unchanged" +
			again + "  2/4  Install runc 1.3.6: changed\n  3/4  Pull busybox [2J: failed\n" +
			again + "Set up the nodes  gpu-1  4/4  Prove it: not run" + again + "fail   1/1  " + failed + "fail Set up the nodes: " + failed},
		"live, nodes": {2, true, "Job 0123456789abcdef on 2 nodes\n" + again + "Set up the nodes …" + again + waiting +
			again + "Set up the nodes  gpu-1  1/4  Look whether systemd runs: unchanged" +
			again + "Set up the nodes  gpu-1  2/4  Install runc 1.3.6: changed" +
			again + "Set up the nodes  gpu-1  3/4  Pull busybox [2J: failed" +
			again + "Set up the nodes  gpu-1  4/4  Prove it: not run" + again + "fail   1/2  " + failed + "fail Set up the nodes: " + failed},
	} {
		var out strings.Builder
		p := Plain(&out)
		if c.live {
			p = Live(&out, func() int { return 120 }, false)
		}
		for _, e := range setUpStory(c.nodes) {
			p.Handle(e)
		}
		if got := out.String(); got != c.want {
			t.Errorf("%s: got:\n%q\nwant:\n%q", name, got, c.want)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("übergröße", 4)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, text string, width int) {
		if got := clip(text, width); len([]rune(got)) > max(width, 0) {
			t.Errorf("%q is wider than %d", got, width)
		}
	})
}
