// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// databaseVersion changes when an older region can no longer be read.
const databaseVersion = 1

// about is what a database says of its region as a whole.
type about struct {
	Version       int       `json:"version"`
	Region        string    `json:"region"`
	TenancyID     string    `json:"tenancy_id"`
	CompartmentID string    `json:"compartment_id"`
	Made          time.Time `json:"made"`
	Clock         anchor    `json:"clock"`
	Names         []byte    `json:"names"`    // state of the generator
	Position      uint64    `json:"position"` // of the newest record
	Scenario      Scenario  `json:"scenario"`
}

var (
	aboutBucket = []byte("region")
	aboutKey    = []byte("about")
)

// openDatabase opens or makes a database for its owner alone. What is committed survives the process, not
// a loss of power: it is not synced. It gives nil where there is to be none.
func openDatabase(path string) (*bbolt.DB, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, Timeout: time.Second,
	})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, fmt.Errorf("open the region's database %s: another process has it open", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the region's database %s: %w", path, err)
	}
	return db, nil
}

// readAbout gives nil for a database that is new.
func readAbout(db *bbolt.DB) (*about, error) {
	var a *about
	err := db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(aboutBucket)
		if b == nil {
			return nil
		}
		a = &about{}
		return json.Unmarshal(b.Get(aboutKey), a)
	})
	if err != nil {
		return nil, fmt.Errorf("read the region's database: %w", err)
	}
	return a, nil
}

// load fills the store from its database.
func (st *store) load() error {
	err := st.db.View(func(tx *bbolt.Tx) error {
		for _, t := range st.tables {
			b := tx.Bucket([]byte(t.name()))
			if b == nil {
				continue
			}
			if err := b.ForEach(func(id, text []byte) error { return t.load(string(id), text) }); err != nil {
				return fmt.Errorf("%s: %w", t.name(), err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the region's database: %w", err)
	}
	for _, t := range st.tables {
		t.ready()
	}
	return nil
}

// commit writes what has changed. What could not be written stays to be written.
func (st *store) commit(a []byte) error {
	if st.db != nil {
		if err := st.write(a); err != nil {
			return fmt.Errorf("write the region's database: %w", err)
		}
	}
	st.about = a
	if committed != nil {
		committed(st)
	}
	for _, t := range st.tables {
		t.clean()
	}
	return nil
}

// committed is a test's, which looks at the store after each commit.
var committed func(*store)

func (st *store) close() error {
	if st.db == nil {
		return nil
	}
	if err := st.db.Close(); err != nil {
		return fmt.Errorf("close the region's database: %w", err)
	}
	return nil
}

func (st *store) write(a []byte) error {
	changed := !bytes.Equal(a, st.about)
	for _, t := range st.tables {
		changed = changed || t.isDirty()
	}
	if !changed {
		return nil
	}
	return st.db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(aboutBucket)
		if err != nil {
			return err
		}
		if err := b.Put(aboutKey, a); err != nil {
			return err
		}
		for _, t := range st.tables {
			if !t.isDirty() {
				continue
			}
			b, err := tx.CreateBucketIfNotExists([]byte(t.name()))
			if err != nil {
				return err
			}
			if err := t.write(b); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *table[T]) name() string { return t.kind }

func (t *table[T]) isDirty() bool { return len(t.dirty) > 0 }

func (t *table[T]) clean() { clear(t.dirty) }

// write writes the changed records to the table's part of the database.
func (t *table[T]) write(b *bbolt.Bucket) error {
	for id := range t.dirty {
		v, found := t.byID[id]
		if !found {
			if err := b.Delete([]byte(id)); err != nil {
				return err
			}
			continue
		}
		text, err := encodeRecord(v)
		if err != nil {
			return err
		}
		if err := b.Put([]byte(id), text); err != nil {
			return err
		}
	}
	return nil
}
