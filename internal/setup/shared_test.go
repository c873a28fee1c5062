// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// parcel is a file that nodes share.
type parcel struct{ path string }

func (parcel) Name() string    { return "parcel" }
func (parcel) Title() string   { return "Have the parcel" }
func (parcel) Content() string { return "the parcel" }

func (p parcel) Identity(context.Context) (string, error) {
	text, err := os.ReadFile(p.path)
	return string(text), err
}

func (p parcel) Check(context.Context) (State, error) {
	_, err := os.Stat(p.path)
	return State{Done: err == nil, Detail: "it is not there"}, nil
}

func (p parcel) Apply(context.Context, io.Writer) error {
	return os.WriteFile(p.path, []byte("from its origin"), 0o600)
}

func (p parcel) Receive(ctx context.Context, from Gift, _ io.Writer) error {
	return handover.Take(ctx, from.Offer, func(content io.Reader) error {
		text, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		return os.WriteFile(p.path, text, 0o600)
	})
}

// A node gets something from another one, or, when that dies in the middle, from where it comes from.
func TestSharedStep(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		gives     bool
		failure   error
		has, says string
	}{
		"given":       {true, nil, "from gpu-7", "it came from gpu-7"},
		"dies":        {true, errors.New("the node went down"), "from its origin", "gpu-7 could not give it (take from"},
		"nobody else": {false, nil, "from its origin", "it is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, tokens := io.Pipe()
			told, out := io.Pipe()
			go func() {
				_ = handover.Give(t.Context(), in, out, true, func(_ context.Context, to io.Writer) error {
					_, _ = fmt.Fprint(to, "from gpu-7")
					return tt.failure
				})
			}()
			var announced handover.Announcement
			if err := json.NewDecoder(bufio.NewReader(told)).Decode(&announced); err != nil {
				t.Fatal(err)
			}
			gift := &Gift{From: "gpu-7", Offer: handover.Offer{
				Address: fmt.Sprintf("127.0.0.1:%d", announced.Port), Token: handover.NewToken(), Certificate: announced.Certificate,
			}}
			if _, err := io.WriteString(tokens, gift.Token+"\n\n"); err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(gift)
			if err != nil {
				t.Fatal(err)
			}

			messages, to := io.Pipe()
			s := &server{out: json.NewEncoder(to), granted: make(chan *Gift, 1)}
			step := parcel{filepath.Join(t.TempDir(), "parcel")}
			done := make(chan job.StepResult, 1)
			go func() { done <- Run(t.Context(), []Step{step}, s.options(1))[0] }()
			asked := 0
			for decoder := json.NewDecoder(messages); ; {
				var m Message
				if err := decoder.Decode(&m); err != nil {
					t.Fatal(err)
				}
				if m.Asks {
					asked++
					answer := string(line)
					if asked > 1 || !tt.gives {
						answer = Grant
					}
					got, ok := answerOf(answer + "\n")
					if !ok || m.Content != step.Content() || (m.Failed != "") != (asked > 1) {
						t.Errorf("question %+v", m)
					}
					s.granted <- got
				}
				if m.Step != nil {
					if m.Holds == nil || m.Holds.Identity != tt.has {
						t.Errorf("it holds %+v", m.Holds)
					}
					break
				}
			}
			if r := <-done; r.Outcome != job.StepChanged || !strings.Contains(r.Message, tt.says) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// What a program writes comes as a whole, however slowly it is taken.
func TestProgramStreams(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	_, err := Program{Argv: []string{"head", "-c", "3000000", "/dev/zero"}, Stdout: &got}.Run(t.Context(), nil)
	if err != nil || got.Len() != 3000000 {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	full := errors.New("nobody takes it")
	if _, err := (Program{Argv: []string{"head", "-c", "3000000", "/dev/zero"}, Stdout: writerFunc(func([]byte) (int, error) { return 0, full })}).Run(t.Context(), nil); err == nil {
		t.Error("what nobody took counts as written")
	}
}
