// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

// superviseVariable makes this test program the supervisor of the command in its arguments.
const superviseVariable = "OCIHPC_TEST_SUPERVISE"

func TestMain(m *testing.M) {
	if os.Getenv(superviseVariable) == "" {
		os.Exit(m.Run())
	}
	arguments := os.Args[1:]
	for arguments[0] != "--" {
		arguments = arguments[1:]
	}
	if err := os.Unsetenv(superviseVariable); err != nil {
		panic(err)
	}
	status, err := Supervise(context.Background(), Command{Argv: arguments[1:], LibraryDir: "/first"}, os.Stdin)
	if err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error())
	}
	os.Exit(status)
}

// supervisor gives a program that supervises as ocihpc-runner does.
func supervisor(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runner := filepath.Join(t.TempDir(), "runner")
	if err := os.WriteFile(runner, []byte("#!/bin/sh\n"+superviseVariable+"=1 exec "+self+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return runner
}

// supervise runs a shell script under supervision by way of [Run].
func supervise(ctx context.Context, t *testing.T, script string, stdout io.Writer) error {
	t.Helper()
	return Run(ctx, Local{Name: "here"}, supervisor(t), Command{Argv: []string{"sh", "-c", script}}, stdout, io.Discard)
}

func TestSuperviseGivesTheStatus(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 128 + 9, "exec /no/such/program": 127} {
		err := supervise(t.Context(), t, script, io.Discard)
		var exit *remote.ExitError
		got := 0
		if errors.As(err, &exit) {
			got = exit.Status
		} else if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %d, want %d", script, got, want)
		}
	}
}

func TestSuperviseSetsTheEnvironment(t *testing.T) {
	t.Setenv("LD_LIBRARY_PATH", "/second")
	var out strings.Builder
	if err := supervise(t.Context(), t, "echo $LD_LIBRARY_PATH; readlink /proc/self/fd/0", &out); err != nil || out.String() != "/first:/second\n/dev/null\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

// Neither daemons nor programs that do not listen to SIGTERM stay, whether the program ends by itself or is ended.
func TestSuperviseLeavesNothing(t *testing.T) {
	t.Parallel()
	const family = `dir=%s
setsid sh -c 'echo $$ > '$dir'/daemon; exec sleep 1000' &
setsid sh -c 'trap "" TERM; echo $$ > '$dir'/deaf; while :; do sleep 0.1; done' &
while [ ! -s $dir/daemon ] || [ ! -s $dir/deaf ]; do sleep 0.01; done
`
	for name, test := range map[string]struct {
		then    string
		endedBy error
	}{
		"ends by itself": {"echo up", nil},
		"is ended":       {"echo up; exec sleep 1000", errors.New("enough")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			up := writerFunc(func([]byte) { cancel(test.endedBy) })
			if test.endedBy == nil {
				up = func([]byte) {}
			}
			err := supervise(ctx, t, strings.Replace(family, "%s", dir, 1)+test.then, up)
			if !errors.Is(err, test.endedBy) {
				t.Errorf("error: %v", err)
			}
			for _, file := range []string{"daemon", "deaf"} {
				text, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
				if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
					t.Errorf("the %s process %d is still there: %v", file, pid, err)
				}
			}
		})
	}
}

func TestRunAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-ctx.Done()
	if err := supervise(ctx, t, "true", io.Discard); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if killAfter > 10*time.Second || endGrace <= killAfter {
		t.Errorf("a command has %s, its end %s", killAfter, endGrace)
	}
}

type writerFunc func([]byte)

func (w writerFunc) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
