// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"reflect"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// What a node says comes in pieces: the messages are the same, wherever they are cut.
func FuzzMessageStream(f *testing.F) {
	f.Add([]byte(`{"applying":"a"}`+"\n"+`{"asks":true}`+"\n"+`{"step":{"name":"a","outcome":"changed"},"done":1,"total":2}`+"\n"), uint8(7))
	f.Add([]byte(`{"result":{"steps":[]}}`+"\n{"), uint8(1))
	f.Add([]byte("sudo: a password is required\n"), uint8(3))
	f.Fuzz(func(t *testing.T, said []byte, piece uint8) {
		hear := func(size int) (heard []setup.Message, err error) {
			stream := &messageStream{handle: func(m setup.Message) { heard = append(heard, m) }}
			for at := 0; at < len(said); at += size {
				if _, err = stream.Write(said[at:min(len(said), at+size)]); err != nil {
					break
				}
			}
			return heard, err
		}
		whole, wholeErr := hear(len(said) + 1)
		cut, cutErr := hear(int(piece) + 1)
		if !reflect.DeepEqual(whole, cut) || (wholeErr == nil) != (cutErr == nil) {
			t.Errorf("%+v, %v; in pieces of %d %+v, %v", whole, wholeErr, piece, cut, cutErr)
		}
	})
}
