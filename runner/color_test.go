// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// terminal opens a pseudo-terminal: what is written to tty can be read from the other end.
func terminal(t *testing.T) (other, tty *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	number, err := unix.IoctlGetInt(int(other.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(other.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return other, tty
}

// Colors are for terminals whose user wants them.
func TestColors(t *testing.T) {
	for _, test := range []struct {
		name          string
		terminal      bool
		noColor, term string
		color, live   bool
	}{
		{"terminal", true, "", "xterm", true, true},
		{"NO_COLOR", true, "1", "xterm", false, true},
		{"dumb terminal", true, "", "dumb", false, false},
		{"pipe", false, "", "xterm", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", test.noColor)
			t.Setenv("TERM", test.term)
			var other, to *os.File
			var err error
			if test.terminal {
				other, to = terminal(t)
			} else if other, to, err = os.Pipe(); err != nil {
				t.Fatal(err)
			}
			printer := newPrinter(to)
			printer.Handle(job.Event{Type: job.EventStarted, Message: "demo", Total: 1})
			printer.Handle(job.Event{Type: job.EventPhaseStarted, Message: "Check the nodes", Total: 1})
			printer.Handle(job.Event{Type: job.EventNode, Node: "gpu-1", Outcome: job.Fail, Message: "no GPU", Done: 1, Total: 1})
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
			output, err := io.ReadAll(other)
			if err != nil && len(output) == 0 { // a terminal that nobody has open gives EIO at the end
				t.Fatal(err)
			}
			text := string(output)
			if got := strings.Contains(text, "\x1b[31m"); got != test.color {
				t.Errorf("color: %v in %q", got, text)
			}
			if got := strings.Contains(text, "\x1b[K"); got != test.live {
				t.Errorf("lines that are drawn again: %v in %q", got, text)
			}
			if !strings.Contains(text, "no GPU") {
				t.Errorf("the outcome is not in %q", text)
			}
		})
	}
}
