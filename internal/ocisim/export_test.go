// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"go.etcd.io/bbolt"
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

// Operations are all that a region serves.
func Operations() []string {
	var names []string
	for _, rt := range routes {
		names = append(names, rt.operation)
	}
	return names
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

// mostAudited is the most records of a region that is audited: it costs as much as they are.
const mostAudited = 200

// audited has every record as it was last committed.
var audited sync.Map // *store to map[string][]byte

// audit panics when something has changed that the store was not told of: it would not survive a restart.
func audit(st *store) {
	if st.position > mostAudited {
		return
	}
	known, _ := audited.LoadOrStore(st, map[string][]byte{})
	for _, t := range st.tables {
		t.(interface{ audit(map[string][]byte) }).audit(known.(map[string][]byte))
	}
}

func (t *table[T]) audit(known map[string][]byte) {
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

// SetBack makes a database believe that its region was served last some time ago.
func SetBack(path string, by time.Duration) error {
	db, err := openDatabase(path)
	if err != nil {
		return err
	}
	a, err := readAbout(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	a.Clock.Wall = a.Clock.Wall.Add(-by)
	text, err := json.Marshal(a)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	err = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(aboutBucket).Put(aboutKey, text) })
	return errors.Join(err, db.Close())
}
