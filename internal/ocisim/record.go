// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// record is what the store keeps of everything in it. A stored type is a struct with
//
//   - one embedded struct of the SDK, the resource as OCI shows it,
//   - an embedded record,
//   - exported fields for what the simulator must remember besides; they survive a restart,
//   - unexported fields for what exists only while the process does, such as a job.
//
// It names other resources by OCID, never by pointer: look-ups go through the store. Whoever changes one
// calls its changed before the lock is released, for the store writes, and indexes, only what it is told of.
type record struct {
	id       string
	position uint64 // in the order of creation, of all tables
	owner    owner
	expiry   *expiry // nil while it is to be kept
}

// owner is the table of a record.
type owner interface {
	changed(id string)
	expire(id string, retention time.Duration)
}

// expiry is when a record is forgotten: when both have come.
type expiry struct {
	Due   instant   `json:"due"`   // by OCI's retention
	Until time.Time `json:"until"` // by the wall clock, because clients poll in real time
}

func (r *record) header() *record { return r }

// changed tells the store of a change, which it writes before the lock is released. It does nothing for
// what has not been added yet.
func (r *record) changed() {
	if r.owner != nil {
		r.owner.changed(r.id)
	}
}

// forget lets the store drop the record after one of OCI's retention intervals.
func (r *record) forget(retention time.Duration) {
	if r.owner != nil {
		r.owner.expire(r.id, retention)
	}
}

// envelope is a record in the database. Every exported field of its type is encoded on its own: an SDK
// type's promoted UnmarshalJSON would swallow the others.
type envelope struct {
	Position uint64                     `json:"position"`
	Expiry   *expiry                    `json:"expiry,omitempty"`
	Fields   map[string]json.RawMessage `json:"fields"`
}

func encodeRecord(v stored) ([]byte, error) {
	h := v.header()
	e := envelope{h.position, h.expiry, map[string]json.RawMessage{}}
	of := reflect.ValueOf(v).Elem()
	for i := range of.NumField() {
		field := of.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		text, err := json.Marshal(of.Field(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("encode %s of %s: %w", field.Name, h.id, err)
		}
		e.Fields[field.Name] = text
	}
	return json.Marshal(e)
}

func decodeRecord(text []byte, v stored) error {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	h := v.header()
	h.position, h.expiry = e.Position, e.Expiry
	of := reflect.ValueOf(v).Elem()
	for name, text := range e.Fields {
		field := of.FieldByName(name)
		if !field.IsValid() {
			continue // of an older version
		}
		if err := json.Unmarshal(text, field.Addr().Interface()); err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
	}
	return nil
}
