// SPDX-License-Identifier: MPL-2.0

package launch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
)

func startAgent(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "rsh") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	agent := &Agent{Nodes: map[string]Node{"10.0.0.1": {Host: Local{Name: "here"}, Runner: supervisor(t)}}}
	socket = filepath.Join(dir, "socket")
	if err := agent.Listen(t.Context(), socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	})
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v", info.Mode())
	}
	return socket
}

func TestRsh(t *testing.T) {
	t.Parallel()
	socket := startAgent(t)
	tests := map[string]struct {
		host, line, stdout, stderr string
		status                     int
	}{
		"output":       {"10.0.0.1", "echo out; echo err >&2", "out\n", "err\n", 0},
		"status":       {"10.0.0.1", "exit 42", "", "", 42},
		"quotes":       {"10.0.0.1", `A="a 'b'" ; export A; printf '%s' "$A"`, "a 'b'", "", 0},
		"no input":     {"10.0.0.1", "cat; echo end", "end\n", "", 0},
		"unknown host": {"10.0.0.9", "true", "", "ocihpc-runner rsh: 10.0.0.9 is no node of this job\n", 255},
		"large output": {"10.0.0.1", "head -c 3000000 /dev/zero | tr '\\0' x", strings.Repeat("x", 3000000), "", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status, err := Rsh(t.Context(), socket, test.host, test.line, &stdout, &stderr)
			if err != nil || status != test.status || stdout.String() != test.stdout || stderr.String() != test.stderr {
				t.Errorf("status %d, error %v, stdout %.80q, stderr %.200q", status, err, stdout.String(), stderr.String())
			}
		})
	}
}

func TestRshManyAtATime(t *testing.T) {
	t.Parallel()
	socket := startAgent(t)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			status, err := Rsh(t.Context(), socket, "10.0.0.1", "exit "+string(rune('0'+i%10)), io.Discard, io.Discard)
			if err != nil || status != i%10 {
				t.Errorf("%d: status %d, %v", i, status, err)
			}
		})
	}
	group.Wait()
}

// The client's end is the end of the command.
func TestRshEndsTheCommand(t *testing.T) {
	t.Parallel()
	socket := startAgent(t)
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "state")
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := Rsh(ctx, socket, "10.0.0.1", "sh -c 'trap \"echo ended >"+file+"; exit\" TERM; echo up; while :; do sleep 0.05; done'", writer, io.Discard)
		ended <- err
	}()
	if _, err := reader.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the client ends with %v", err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(file); string(text) == "ended\n" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the command was not ended")
		}
	}
}

func TestRshWithoutAgent(t *testing.T) {
	t.Parallel()
	if status, err := Rsh(t.Context(), filepath.Join(t.TempDir(), "none"), "a", "true", io.Discard, io.Discard); err == nil || status != 255 {
		t.Errorf("status %d, %v", status, err)
	}
}

func TestAgentRefusesLongPath(t *testing.T) {
	t.Parallel()
	agent := &Agent{}
	if err := agent.Listen(t.Context(), filepath.Join(t.TempDir(), strings.Repeat("x", 120))); err == nil || !strings.Contains(err.Error(), "shorter path") {
		t.Errorf("got %v", err)
	}
}

func TestLocalRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	here := Local{Name: "here"}
	if err := here.Run(t.Context(), remote.Command{Line: "cat; echo $((1+1))", Stdin: strings.NewReader("in "), Stdout: &out}); err != nil || out.String() != "in 2\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	var exit *remote.ExitError
	if err := here.Run(t.Context(), remote.Command{Line: "exit 3"}); !errors.As(err, &exit) || exit.Status != 3 || exit.Name != "here" {
		t.Errorf("got %v", err)
	}
}

func FuzzReadFrame(f *testing.F) {
	var frames bytes.Buffer
	for kind := frameStdout; kind <= frameExit; kind++ {
		if err := writeFrame(&frames, kind, []byte{byte(kind)}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(frames.Bytes())
	f.Add([]byte{3, 0, 0, 0, 0})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, text []byte) {
		var stdout, stderr bytes.Buffer
		status, err := relay(bytes.NewReader(text), &stdout, &stderr)
		if status < 0 || status > 255 || (err != nil && status != statusUnreachable) {
			t.Errorf("status %d, %v", status, err)
		}
		if stdout.Len()+stderr.Len() > len(text) {
			t.Errorf("%d bytes came out of %d", stdout.Len()+stderr.Len(), len(text))
		}
	})
}

// What goes in comes out, whatever the pieces are in which it is written and read.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("out"), []byte("err"), byte(7), uint64(1))
	f.Fuzz(func(t *testing.T, out, errors []byte, status byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		var wire bytes.Buffer
		var lock sync.Mutex
		for _, stream := range []struct {
			kind frameKind
			text []byte
		}{{frameStdout, out}, {frameStderr, errors}} {
			w := frameWriter{kind: stream.kind, to: &wire, lock: &lock}
			for text := stream.text; len(text) > 0; {
				n := 1 + random.IntN(len(text))
				if _, err := w.Write(text[:n]); err != nil {
					t.Fatal(err)
				}
				text = text[n:]
			}
		}
		if err := writeFrame(&wire, frameExit, []byte{status}); err != nil {
			t.Fatal(err)
		}
		var gotOut, gotErr bytes.Buffer
		got, err := relay(&wire, &gotOut, &gotErr)
		if err != nil || got != int(status) || !bytes.Equal(gotOut.Bytes(), out) || !bytes.Equal(gotErr.Bytes(), errors) {
			t.Errorf("status %d, %v, %q, %q", got, err, gotOut.Bytes(), gotErr.Bytes())
		}
	})
}

func FuzzReadRequest(f *testing.F) {
	f.Add([]byte(`{"host":"a","line":"b"}`))
	f.Add([]byte(`{"host":"a"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if asked, err := readRequest(bytes.NewReader(text)); err == nil && (asked.Host == "" || asked.Line == "") {
			t.Errorf("%+v", asked)
		}
	})
}
