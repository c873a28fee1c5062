// SPDX-License-Identifier: MPL-2.0

// Package progress draws a job's events for people: a live line a phase on a terminal, plain lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Printer draws events, given in their order. It is not safe for concurrent use.
type Printer struct {
	to io.Writer
	// width gives the terminal's columns; nil means that it is no terminal.
	width func() int
	color bool

	jobStart, phaseStart time.Time
	nodes                int
	phase                string // title of the one that runs
	drawn                bool   // a live line stands without its end
}

// Plain draws lines that are never touched again.
func Plain(to io.Writer) *Printer { return &Printer{to: to} }

// Live draws on a terminal; width gives its columns at the moment.
func Live(to io.Writer, width func() int, color bool) *Printer {
	return &Printer{to: to, width: width, color: color}
}

// Handle draws one event.
func (p *Printer) Handle(e job.Event) {
	switch e.Type {
	case job.EventStarted:
		p.jobStart, p.nodes = e.Time, e.Total
		p.line("", fmt.Sprintf("Job %s on %s", e.Message, count(e.Total, "node")))
	case job.EventPhaseStarted:
		p.phase, p.phaseStart = e.Message, e.Time
		p.begin()
	case job.EventNode, job.EventOutput:
		p.step(e)
	case job.EventStep:
		p.setUpStep(e)
	case job.EventPhaseFinished:
		p.end(e)
	case job.EventResult:
		p.line(e.Outcome, fmt.Sprintf("after %.1f s", e.Time.Sub(p.jobStart).Seconds()))
	}
}

func (p *Printer) live() bool { return p.width != nil }

func (p *Printer) begin() {
	if p.live() {
		p.redraw(p.phase + " …")
		return
	}
	p.line("", p.phase)
}

func (p *Printer) step(e job.Event) {
	text := e.Message
	if e.Node != "" && !strings.HasPrefix(text, e.Node) {
		text = e.Node + ": " + text
	}
	if e.Total > 0 {
		text = fmt.Sprintf("%d/%d  %s", e.Done, e.Total, text)
	}
	ordinary := e.Outcome == "" || e.Outcome == job.Pass || e.Outcome == job.CannotTell
	if p.live() && ordinary {
		p.redraw(p.phase + "  " + text)
		return
	}
	p.line(e.Outcome, "  "+text)
}

// setUpStep draws a step of a node's set-up. Of many nodes, and of what was in place, only the live line tells: what
// failed comes with the node's own end.
func (p *Printer) setUpStep(e job.Event) {
	if e.Step == nil {
		return
	}
	outcome := strings.ReplaceAll(string(e.Step.Outcome), "_", " ")
	text := fmt.Sprintf("%d/%d  %s: %s", e.Done, e.Total, e.Step.Title, outcome)
	switch {
	case p.nodes == 1 && e.Step.Outcome != job.StepUnchanged && e.Step.Outcome != job.StepNotRun:
		p.line("", "  "+text)
	case p.live():
		p.redraw(p.phase + "  " + e.Node + "  " + text)
	}
}

func (p *Printer) end(e job.Event) {
	text := e.Message
	if text == "" {
		text = fmt.Sprintf("done in %.1f s", e.Time.Sub(p.phaseStart).Seconds())
	}
	if p.live() {
		text = p.phase + ": " + text
	}
	p.line(e.Outcome, text)
}

// line writes a line that stays, in place of the live one.
func (p *Printer) line(outcome job.Outcome, text string) {
	if p.drawn {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
		p.drawn = false
	}
	mark := ""
	if outcome != "" {
		mark = p.mark(outcome) + " "
	}
	_, _ = fmt.Fprintf(p.to, "%s%s\n", mark, printable(text)) // where progress cannot be shown, the work goes on
}

// redraw puts a text into the live line, as much of it as the terminal is wide.
func (p *Printer) redraw(text string) {
	_, _ = io.WriteString(p.to, "\r\x1b[K"+clip(printable(text), p.width()-1))
	p.drawn = true
}

// Colours by outcome, in ANSI's numbers.
var colors = map[job.Outcome]int{job.Pass: 32, job.Warn: 33, job.Fail: 31, job.CouldNotRun: 31, job.CannotTell: 33}

func (p *Printer) mark(o job.Outcome) string {
	word := strings.ReplaceAll(string(o), "_", " ")
	if !p.color {
		return word
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colors[o], word)
}

// printable takes control characters out of what nodes sent: they could rule the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// clip cuts a text to a number of characters.
func clip(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return string([]rune(text)[:width-1]) + "…"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
