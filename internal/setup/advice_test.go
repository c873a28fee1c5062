// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestAdviceOf(t *testing.T) {
	t.Parallel()
	said := func(text string) error {
		return fmt.Errorf("write: %w", &ProgramError{Program: "sh", State: "exit status 1", Said: text})
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("write: %w", syscall.ENOSPC), "free space"},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, "root may not"},
		{said("cp: error writing '/x': No space left on device"), "free space"},
		{said("/usr/bin/sh: 1: echo: echo: I/O error"), "full file system"},
		{said("touch: cannot touch '/x': Read-only file system"), "read-only"},
		{said("it is Tuesday"), "run it by hand"},
		{Advise(said("No space left on device"), "my own"), "my own"},
		{fmt.Errorf("who knows"), ""},
	} {
		if got := AdviceOf(c.err); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v: %q, not %q", c.err, got, c.want)
		}
	}
}
