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

func FuzzClip(f *testing.F) {
	f.Add("übergröße", 4)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, text string, width int) {
		if got := clip(text, width); len([]rune(got)) > max(width, 0) {
			t.Errorf("%q is wider than %d", got, width)
		}
	})
}
