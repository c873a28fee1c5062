// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a set-up needs root")
	}
}

// outcomes runs the steps and gives their outcomes in a line.
func outcomes(t *testing.T, o Options, steps ...Step) (string, []job.StepResult) {
	t.Helper()
	results := Run(t.Context(), steps, o)
	var words []string
	for _, r := range results {
		words = append(words, string(r.Outcome))
		t.Logf("%+v", r)
	}
	return strings.Join(words, " "), results
}

// Every kind of step that works anywhere: a dry run changes nothing, the first run all, the second nothing.
func TestStepsAreIdempotent(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // a user without rights is to get in
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	archive, sum := makeArchive(t, at("a.tgz"), map[string]string{"kit-1/bin/tool": "#!/bin/sh\n", "kit-1/README": "read me"})
	steps := []Step{
		Directory{Ident{ID: "dir"}, Place{Path: at("x/y"), Mode: 0o777 | os.ModeSticky, Owner: "nobody"}},
		File{Ident{ID: "file"}, Place{Path: at("x/y/f"), Mode: 0o640, Owner: "nobody:root"}, []byte("content")},
		Link{Ident{ID: "link"}, at("l"), "x/y"},
		Command{Ident: Ident{ID: "creates"}, Program: Program{Argv: []string{"touch", at("touched")}}, Creates: at("touched")},
		Command{Ident: Ident{ID: "unless"}, Program: Program{Argv: []string{"cp", at("x/y/f"), at("copy")}}, Unless: []string{"cmp", at("x/y/f"), at("copy")}},
		Command{Ident: Ident{ID: "user"}, Program: Program{Argv: []string{"sh", "-c", "id -un >" + at("x/y/who")}, User: "nobody"}, Creates: at("x/y/who")},
		Download{Ident{ID: "download"}, Place{Path: at("copy.tgz"), Mode: 0o600}, archive, sum},
		Unpack{Ident: Ident{ID: "unpack"}, Archive: at("copy.tgz"), Dir: at("opt"), Strip: 1},
	}
	all := func(outcome string) string { return strings.TrimSpace(strings.Repeat(outcome+" ", len(steps))) }
	if got, _ := outcomes(t, Options{DryRun: true}, steps...); got != all("would_change") {
		t.Fatalf("dry run: %s", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Fatalf("a dry run made %v", entries)
	}
	if got, _ := outcomes(t, Options{}, steps...); got != all("changed") {
		t.Fatalf("first run: %s", got)
	}
	if got, _ := outcomes(t, Options{}, steps...); got != all("unchanged") {
		t.Fatalf("second run: %s", got)
	}
	if who, _ := os.ReadFile(at("x/y/who")); string(who) != "nobody\n" {
		t.Errorf("run as %q", who)
	}
	if tool, _ := os.ReadFile(at("opt/bin/tool")); string(tool) != "#!/bin/sh\n" {
		t.Errorf("unpacked %q", tool)
	}
	if left, _ := filepath.Glob(at("x/y/.ocihpc-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
	for path, spoil := range map[string]func(string) error{
		"x/y":          func(p string) error { return os.Chmod(p, 0o700) },
		"x/y/f":        func(p string) error { return os.Lchown(p, 0, 0) },
		"l":            func(p string) error { return errors.Join(os.Remove(p), os.Symlink("elsewhere", p)) },
		"copy.tgz":     func(p string) error { return os.WriteFile(p, []byte("tampered"), 0o600) },
		"opt/bin/tool": func(p string) error { return os.WriteFile(p, []byte("#!/bin/ls\n"), 0o755) },
	} {
		if err := spoil(at(path)); err != nil {
			t.Fatal(err)
		}
		if got, _ := outcomes(t, Options{}, steps...); strings.Count(got, "changed")-strings.Count(got, "unchanged") < 1 || strings.Contains(got, "failed") {
			t.Errorf("%s is not put right: %s", path, got)
		}
		if got, _ := outcomes(t, Options{}, steps...); got != all("unchanged") {
			t.Errorf("after %s was put right: %s", path, got)
		}
	}
}

// pretender says that it did what it did not.
type pretender struct{ Ident }

func (pretender) Title() string                        { return "Pretend" }
func (pretender) Check(context.Context) (State, error) { return State{Detail: "nothing there"}, nil }
func (pretender) Apply(_ context.Context, output io.Writer) error {
	_, err := io.WriteString(output, "done!\n")
	return err
}

func TestStepThatDoesNotVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	after := Link{Ident{ID: "after"}, filepath.Join(dir, "l"), "x"}
	got, results := outcomes(t, Options{}, pretender{Ident{ID: "pretend"}}, after)
	if got != "failed not_run" || !strings.Contains(results[0].Message, "still not in place: nothing there") || results[0].Output != "done!\n" || results[0].Advice == "" {
		t.Errorf("%s: %+v", got, results[0])
	}
	if _, err := os.Lstat(after.Path); err == nil {
		t.Error("the step after a failed one was applied")
	}
}

func TestFailuresTellWhatToDo(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		step         Step
		says, advice string
	}{
		"no parent":     {File{Place: Place{Path: dir + "/no/such", Mode: 0o600}}, "no such file", "before this one"},
		"no user":       {File{Place: Place{Path: dir + "/f", Mode: 0o600, Owner: "nosuchuser"}}, "nosuchuser", "add the user"},
		"no group":      {Directory{Place: Place{Path: dir + "/f", Mode: 0o700, Owner: "root:nosuchgroup"}}, "nosuchgroup", "add the group"},
		"directory":     {File{Place: Place{Path: dir, Mode: 0o600}}, "is a directory", "move it away"},
		"file":          {Directory{Place: Place{Path: dir + "/file", Mode: 0o700}}, "not a directory", "move it away"},
		"file as link":  {Link{Path: dir + "/file", Target: "x"}, "is no link", "move it away"},
		"no program":    {Command{Program: Program{Argv: []string{"no-such-program"}}, Creates: dir + "/f"}, "not installed", "before this one"},
		"exit status":   {Command{Program: Program{Argv: []string{"sh", "-c", "echo broken >&2; exit 3"}}, Creates: dir + "/f"}, "exit status 3: broken", "run it by hand"},
		"no such user":  {Command{Program: Program{Argv: []string{"true"}, User: "nosuchuser"}, Creates: dir + "/f"}, "nosuchuser", "add the user"},
		"no systemd":    {Service{Unit: "x.service"}, "not the init", "without it"},
		"no such group": {Groups{User: "nosuchuser", Groups: []string{"root"}}, "nosuchuser", "add the user"},
	} {
		if _, err := os.Stat("/run/systemd/system"); err == nil && name == "no systemd" {
			continue
		}
		got, results := outcomes(t, Options{}, test.step)
		if got != "failed" || !strings.Contains(results[0].Message, test.says) || !strings.Contains(results[0].Advice, test.advice) {
			t.Errorf("%s: %s %+v", name, got, results[0])
		}
	}
}

// A dry run goes on: what cannot be told before an earlier change is made is a change, too.
func TestDryRunBehindAChange(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := t.TempDir()
	first := Link{Ident{ID: "first"}, dir + "/l", "x"}
	unknown := File{Ident{ID: "unknown"}, Place{Path: dir + "/f", Mode: 0o600, Owner: "nosuchuser"}, nil}
	if got, _ := outcomes(t, Options{DryRun: true}, unknown, first, unknown); got != "failed would_change would_change" {
		t.Error(got)
	}
}

func TestFileOnAFullDisk(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	old := File{Ident{ID: "old"}, Place{Path: dir + "/f", Mode: 0o644}, []byte("old")}
	big := File{Ident{ID: "big"}, old.Place, make([]byte, 1<<20)}
	if got, _ := outcomes(t, Options{}, old); got != "changed" {
		t.Fatal(got)
	}
	got, results := outcomes(t, Options{}, big)
	if got != "failed" || !strings.Contains(results[0].Message, "no space") || !strings.Contains(results[0].Advice, "free space") {
		t.Errorf("%s: %+v", got, results[0])
	}
	if got, _ := outcomes(t, Options{}, old); got != "unchanged" { // whole or not at all
		t.Errorf("the file before is %s", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// What may hold secrets is shown nowhere, what everybody may read is shown by line.
func TestFileDiffers(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for name, test := range map[string]struct {
		present, wanted os.FileMode
		shown           bool
	}{
		"public": {0o644, 0o644, true}, "secret": {0o600, 0o600, false}, "becomes secret": {0o644, 0o600, false}, "was secret": {0o640, 0o644, false},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte("same\nhush-old\nsame\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.present); err != nil {
			t.Fatal(err)
		}
		for _, content := range []string{"same\nhush-new\nsame\n", "same\nhush-newer\nsame\n"} {
			state, err := File{Place: Place{Path: path, Mode: test.wanted}, Content: []byte(content)}.Check(t.Context())
			if err != nil || state.Done || strings.Contains(state.Detail, "hush") != test.shown {
				t.Errorf("%s: %+v, %v", name, state, err)
			}
			if test.shown && !strings.HasSuffix(state.Detail, ":\n-hush-old\n+"+strings.Split(content, "\n")[1]) {
				t.Errorf("%s: %q", name, state.Detail)
			}
		}
	}
}

func TestDiffIsShort(t *testing.T) {
	t.Parallel()
	long := diff([]byte(strings.Repeat("a\n", 100)), []byte(strings.Repeat("é", 500)))
	if lines := strings.Count(long, "\n") + 1; lines != diffLines+2 || !strings.Contains(long, "- … 88 more lines") || !strings.Contains(long, "é…") {
		t.Errorf("%d lines: %s", lines, long)
	}
	if got := diff([]byte("a"), []byte{0, 1}); got != "" {
		t.Errorf("binary: %q", got)
	}
}

func TestProgramEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	dir := t.TempDir()
	output := writerFunc(func(p []byte) (int, error) {
		cancel(reason)
		return len(p), nil
	})
	_, err := Program{Argv: []string{"sh", "-c", "sleep 1000 & echo $! >" + dir + "/pid; echo started; wait"}}.Run(ctx, output)
	if !errors.Is(err, reason) {
		t.Fatal(err)
	}
	pid, _ := os.ReadFile(dir + "/pid")
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) { // init reaps it
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %s", stat)
		}
	}
}

func TestParseMode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]os.FileMode{"0644": 0o644, "600": 0o600, "1777": 0o777 | os.ModeSticky, "4755": 0o755 | os.ModeSetuid} {
		got, err := ParseMode(text)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if back := octal(got); back != "0"+strings.TrimPrefix(text, "0") && back != text {
			t.Errorf("%s comes back as %s", text, back)
		}
	}
	if _, err := ParseMode("rwx"); err == nil {
		t.Error("rwx is taken")
	}
}
