// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"sync"
)

func init() {
	committed = func(st *store) {
		audit(st)
		if st.db == nil {
			return
		}
		if watch, found := watchers.Load(st.db.Path()); found {
			watch.(func())()
		}
	}
}

var watchers sync.Map // by path of the database

// WatchCommits gives a copy of a database after each commit to it, as a process that is killed there leaves it.
func WatchCommits(path string, take func(database []byte)) {
	watchers.Store(path, func() {
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		take(text)
	})
}

// FreeHosts of a shape, and how many there are all in all.
func (s *Server) FreeHosts(shape string) (free, capacity int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free, _ = s.freeHosts(shape)
	return free, s.cfg.Capacity[shape]
}

// UsedAddresses counts the VNICs that hold an address.
func (s *Server) UsedAddresses() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return live(s.store.vnics)
}

// mostAudited bounds the regions that are audited: it costs as much as they hold.
const mostAudited = 300

// audited has every record as it was last committed.
var audited sync.Map // *store to map[string][]byte

// audit panics when something has changed that the store was not told of: it would not survive a restart.
func audit(st *store) {
	known, _ := audited.LoadOrStore(st, map[string][]byte{})
	for _, t := range st.tables {
		t.(interface{ audit(map[string][]byte) }).audit(known.(map[string][]byte))
	}
}

func (t *table[T]) audit(known map[string][]byte) {
	if len(t.order) > mostAudited {
		return
	}
	for id, v := range t.byID {
		text, err := encodeRecord(v)
		if err != nil {
			panic(err)
		}
		if old := known[t.kind+id]; old != nil && !t.dirty[id] && !bytes.Equal(old, text) {
			panic(fmt.Sprintf("%s %s was changed without a call of changed:\n%s\n%s", t.kind, id, old, text))
		}
		known[t.kind+id] = text
		if !t.dirty[id] {
			continue
		}
		if again := reencode[T](text); !bytes.Equal(again, text) {
			panic(fmt.Sprintf("%s %s is another one after it was stored:\n%s\n%s", t.kind, id, text, again))
		}
	}
}

// reencode reads a record and writes it again.
func reencode[T stored](text []byte) []byte {
	v := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if err := decodeRecord(text, v); err != nil {
		panic(err)
	}
	again, err := encodeRecord(v)
	if err != nil {
		panic(err)
	}
	return again
}
