// SPDX-License-Identifier: MPL-2.0

package handover

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// start gives content to whoever has a token of tokens.
func start(t *testing.T, private bool, content Content) (announced Announcement, tokens *io.PipeWriter, ended chan error) {
	t.Helper()
	in, tokens := io.Pipe()
	told, out := io.Pipe()
	ended = make(chan error, 1)
	go func() { ended <- Give(t.Context(), in, out, private, content) }()
	line, err := bufio.NewReader(told).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, &announced); err != nil || announced.Port == 0 {
		t.Fatalf("%s: %v", line, err)
	}
	t.Cleanup(func() { _ = tokens.Close() })
	return announced, tokens, ended
}

// allow lets receivers in. The last line is read when the tokens before it are in force.
func allow(t *testing.T, to io.Writer, tokens ...string) {
	t.Helper()
	if _, err := io.WriteString(to, strings.Join(tokens, "\n")+"\n\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(to, "\n"); err != nil {
		t.Fatal(err)
	}
}

func offer(a Announcement, token string) Offer {
	return Offer{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(a.Port)), Token: token, Certificate: a.Certificate}
}

func take(t *testing.T, o Offer) (string, error) {
	t.Helper()
	var got bytes.Buffer
	err := Take(t.Context(), o, func(from io.Reader) error {
		_, err := got.ReadFrom(from)
		return err
	})
	return got.String(), err
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("an image\n", 1<<17)
	announced, tokens, ended := start(t, true, func(_ context.Context, to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	})
	one, two := NewToken(), NewToken()
	allow(t, tokens, one, two)
	for _, token := range []string{one, two} {
		if got, err := take(t, offer(announced, token)); err != nil || got != text {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	late := NewToken()
	go func() {
		time.Sleep(100 * time.Millisecond) // most likely after the receiver has come
		_, _ = io.WriteString(tokens, late+"\n")
	}()
	if got, err := take(t, offer(announced, late)); err != nil || got != text {
		t.Errorf("a receiver that is there before its token: %d bytes, %v", len(got), err)
	}
	var strangers sync.WaitGroup
	for what, token := range map[string]string{"used up": one, "never given": NewToken(), "empty": "", "long": strings.Repeat("x", 1000)} {
		strangers.Go(func() {
			if got, err := take(t, offer(announced, token)); err == nil || got != "" {
				t.Errorf("with a token that is %s: %d bytes, %v", what, len(got), err)
			}
		})
	}
	strangers.Wait()
	stranger := offer(announced, NewToken())
	stranger.Certificate = strings.Repeat("0", 64)
	if _, err := take(t, stranger); !errors.Is(err, ErrStranger) {
		t.Errorf("another certificate: %v", err)
	}
	_ = tokens.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := take(t, offer(announced, two)); err == nil {
		t.Error("it gives on after its end")
	}
}

// A giver that fails, or is ended, in the middle cannot be taken for one that gave all.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"error", "end"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			half := make(chan struct{})
			announced, tokens, _ := start(t, true, func(ctx context.Context, to io.Writer) error {
				if _, err := fmt.Fprint(to, "half of it"); err != nil {
					return err
				}
				if name == "error" {
					return errors.New("the engine died")
				}
				close(half)
				<-ctx.Done()
				return ctx.Err()
			})
			token := NewToken()
			allow(t, tokens, token)
			if name == "end" {
				go func() {
					<-half
					_ = tokens.Close()
				}()
			}
			used := errors.New("the archive is broken")
			err := Take(t.Context(), offer(announced, token), func(from io.Reader) error {
				_, _ = io.Copy(io.Discard, from)
				return used
			})
			reason := map[string]string{"error": ": the engine died", "end": ": unexpected EOF"}[name]
			if err == nil || errors.Is(err, used) || !strings.HasPrefix(err.Error(), "take from ") || !strings.HasSuffix(err.Error(), reason) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTakeTellsOfTheUse(t *testing.T) {
	t.Parallel()
	announced, tokens, _ := start(t, true, func(_ context.Context, to io.Writer) error {
		_, err := io.WriteString(to, "all")
		return err
	})
	token := NewToken()
	allow(t, tokens, token)
	full := errors.New("the disk is full")
	if err := Take(t.Context(), offer(announced, token), func(io.Reader) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
