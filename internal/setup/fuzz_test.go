// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// fetched is a step that needs leave to download.
type fetched struct {
	Ident
	done *bool
}

func (fetched) Title() string   { return "Fetch it" }
func (fetched) Downloads() bool { return true }
func (f fetched) Check(context.Context) (State, error) {
	return State{Done: *f.done}, nil
}
func (f fetched) Apply(context.Context, io.Writer) error {
	*f.done = true
	return nil
}

// Whatever the head node says, the node answers by messages of which the last has the result, or by an error.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"owner":{"key":"k"},"setup":{"steps":[]}}` + "\n\ngo\n"))
	f.Add([]byte(`{"owner":{},"shape":"BM.GPU4.8","setup":{"dry_run":true,"container_runtime":{"engine":"podman"}}}` + "\ngo\ngo"))
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"registry_auth":"` + strings.Repeat("x", 5000)))
	f.Fuzz(func(t *testing.T, said []byte) {
		needRoot(t) // for the lock of the node
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var out bytes.Buffer
		done := false
		err := Serve(ctx, bytes.NewReader(said), &out, func(context.Context, Request) (Plan, error) {
			return Plan{Steps: []Step{fetched{Ident{ID: "fetch"}, &done}}}, nil
		})
		var last Message
		decoder := json.NewDecoder(&out)
		for {
			last = Message{}
			if decoding := decoder.Decode(&last); decoding != nil {
				if !errors.Is(decoding, io.EOF) {
					t.Fatal(decoding)
				}
				break
			}
			if last.Result != nil {
				if err != nil || decoder.More() {
					t.Errorf("%v, and more than the result", err)
				}
				return
			}
		}
		if err == nil {
			t.Error("neither a result nor an error")
		}
	})
}

func FuzzParseSubIDs(f *testing.F) {
	f.Add("opc:100000:65536\n1000:165536:65536\nbad:-1:4294967296\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range parseSubIDs(text) {
			if r.start < 0 || r.count < 0 || r.start+r.count < r.start || strings.ContainsAny(r.owner, ":\n") {
				t.Errorf("%+v", r)
			}
		}
	})
}
