// SPDX-License-Identifier: MPL-2.0

package remote

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
)

// giver is another host that has the runner, or says so.
func giver(t *testing.T, content string) *handover.Offer {
	t.Helper()
	in, tokens := io.Pipe()
	told, out := io.Pipe()
	go func() {
		_ = handover.Give(t.Context(), in, out, false, func(_ context.Context, to io.Writer) error {
			_, err := io.WriteString(to, content)
			return err
		})
	}()
	line, err := bufio.NewReader(told).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var announced handover.Announcement
	if err := json.Unmarshal(line, &announced); err != nil {
		t.Fatal(err)
	}
	o := &handover.Offer{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(announced.Port)), Token: handover.NewToken()}
	if _, err := io.WriteString(tokens, o.Token+"\n\n"); err != nil {
		t.Fatal(err)
	}
	return o
}

// A host gets the runner from others, believes none of them, and gets it by the session where they are of no use.
func TestEnsureRunnerFrom(t *testing.T) {
	t.Parallel()
	content := "#!/bin/sh\necho one\n" + strings.Repeat("#\n", 1<<19)
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for name, tt := range map[string]struct {
		offers   func(t *testing.T) []*handover.Offer
		failures []string
	}{
		"another host":  {func(t *testing.T) []*handover.Offer { return []*handover.Offer{giver(t, content)} }, nil},
		"no other host": {func(*testing.T) []*handover.Offer { return []*handover.Offer{nil} }, nil},
		"tampered":      {func(t *testing.T) []*handover.Offer { return []*handover.Offer{giver(t, content+"x"), nil} }, []string{"SHA-256"}},
		"cut off":       {func(t *testing.T) []*handover.Offer { return []*handover.Offer{giver(t, content[:1<<19]), nil} }, []string{"SHA-256"}},
		"nobody there, another": {func(t *testing.T) []*handover.Offer {
			return []*handover.Offer{{Address: closed.Addr().String(), Token: "x"}, giver(t, content)}
		}, []string{"refused"}},
		"not let in": {func(t *testing.T) []*handover.Offer {
			o := giver(t, content)
			o.Token = "x"
			return []*handover.Offer{o, nil}
		}, []string{"SHA-256"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, to := startHost(t)
			c := mustDial(t, to, nil)
			offers, asked := tt.offers(t), 0
			var failures []string
			file, err := EnsureRunnerFrom(t.Context(), c, func(string) ([]byte, string, error) {
				return []byte(content), sha256Hex([]byte(content)), nil
			}, func(_ context.Context, failed error) (*handover.Offer, error) {
				if failed != nil {
					failures = append(failures, failed.Error())
				}
				asked++
				return offers[asked-1], nil
			})
			if err != nil || asked != len(offers) || len(failures) != len(tt.failures) {
				t.Fatalf("%d offers asked for, failures %q, error %v", asked, failures, err)
			}
			for i, want := range tt.failures {
				if !strings.Contains(failures[i], want) {
					t.Errorf("failure %q lacks %q", failures[i], want)
				}
			}
			file = filepath.Join(h.Home, file)
			if !bytes.Equal([]byte(readFile(t, file)), []byte(content)) {
				t.Error("the content is another")
			}
			checkMode(t, file, 0o700)
			noneBeside(t, file)
		})
	}
}

// A packet for each few hundred bytes costs sshd more than all else that a benchmark has it do.
func TestPack(t *testing.T) {
	t.Parallel()
	content := make([]byte, 1<<20)
	_, _ = rand.Read(content)
	var arrived bytes.Buffer
	packets := 0
	err := pack(writerFunc(func(p []byte) (int, error) {
		packets++
		return arrived.Write(p)
	}), content)
	if most := arrived.Len()/(32<<10) + 1; err != nil || packets > most {
		t.Errorf("%d packets, want %d at most (%v)", packets, most, err)
	}
	unpacked, err := gzip.NewReader(&arrived)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d of %d bytes arrived whole (%v)", len(got), len(content), err)
	}
}

// A runner that is there is known to be used, by its time.
func TestEnsureRunnerTouches(t *testing.T) {
	t.Parallel()
	h, to := startHost(t)
	c := mustDial(t, to, nil)
	runners := func(string) ([]byte, string, error) { return []byte("x"), sha256Hex([]byte("x")), nil }
	file, err := EnsureRunner(t.Context(), c, runners)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(h.Home, file)
	if out, err := c.Output(t.Context(), "touch -d 2001-01-01 "+file); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if _, err := EnsureRunner(t.Context(), c, runners); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.ModTime().Year() == 2001 {
		t.Errorf("%v, %v", info, err)
	}
}
