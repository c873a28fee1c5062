// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/common"
)

// request is a verified request with its body read.
type request struct {
	*http.Request
	body  []byte
	query url.Values
	user  User
	sees  viewer
	// emptyPages puts an empty page before each page of a list.
	emptyPages bool
}

// response is what a handler gives back; it is encoded while the lock is still held.
type response struct {
	status      int // 0 means 200
	body        any
	etag        string
	workRequest string
	nextPage    string
	location    string
	created     string // OCID of what the request made, for retry tokens
}

// ok answers with a resource and its etag.
func ok(resource any) (response, error) {
	return response{body: resource, etag: etagOf(resource)}, nil
}

// decode reads and validates a request body.
func decode[T any](q *request) (T, error) {
	var body T
	if err := json.Unmarshal(q.body, &body); err != nil {
		return body, &apiError{http.StatusBadRequest, "CannotParseRequest", "Incorrectly formatted request: " + err.Error()}
	}
	return body, validate(body)
}

// onlyFields refuses a body that sets others than the simulated fields.
func onlyFields(q *request, simulated ...string) error {
	fields, err := decode[map[string]json.RawMessage](q)
	if err != nil {
		return err
	}
	for name, v := range fields {
		if string(v) != "null" && !slices.Contains(simulated, name) {
			return notSimulated(name)
		}
	}
	return nil
}

// convert carries the fields that two of the SDK's structs have in common.
func convert[T any](from any) (T, error) {
	var to T
	encoded, err := json.Marshal(from)
	if err != nil {
		return to, err
	}
	return to, json.Unmarshal(encoded, &to)
}

// etagOf is a digest of the resource: it changes with whatever a client can see.
func etagOf(resource any) string {
	encoded, err := json.Marshal(resource)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

// match compares if-match, where it was sent, with the resource.
func (q *request) match(resource any) error {
	want := q.Header.Get("If-Match")
	if want == "" || want == "*" || strings.Trim(want, `"`) == etagOf(resource) {
		return nil
	}
	return &apiError{http.StatusPreconditionFailed, "NoEtagMatch", "The If-Match header does not match the resource's current etag."}
}

// authorize checks the compartment that something shall be created in.
func (q *request) authorize(compartment *string) error {
	if !q.sees(value(compartment)) {
		return notFound()
	}
	return nil
}

// compartment gives the mandatory query parameter of lists.
func (q *request) compartment() (string, error) {
	id := q.query.Get("compartmentId")
	if id == "" {
		return "", missing("compartmentId")
	}
	return id, q.authorize(&id)
}

// enum gives a query parameter that has one of some values, or nothing.
func (q *request) enum(name string, values []string) (string, error) {
	v := q.query.Get(name)
	if v != "" && !slices.Contains(values, v) {
		return "", invalid(name, "%q is none of %s", v, strings.Join(values, ", "))
	}
	return v, nil
}

// flag gives a query parameter that is true or false; false where it is absent.
func (q *request) flag(name string) (bool, error) {
	v := q.query.Get(name)
	if v == "" {
		return false, nil
	}
	set, err := strconv.ParseBool(v)
	if err != nil {
		return false, invalid(name, "%q is neither true nor false", v)
	}
	return set, nil
}

// wants says whether a query parameter is absent or equal.
func (q *request) wants(name string, have *string) bool {
	v := q.query.Get(name)
	return v == "" || v == value(have)
}

func ptr[T any](v T) *T { return &v }

// value of an optional field, or zero.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func (s *Server) timestamp() *common.SDKTime { return &common.SDKTime{Time: s.clock.now()} }

// tagged gives tags as OCI shows them: never absent. What requests create gets them by [Server.tagged].
func tagged(freeform map[string]string, defined map[string]map[string]any) (map[string]string, map[string]map[string]any) {
	if freeform == nil {
		freeform = map[string]string{}
	}
	if defined == nil {
		defined = map[string]map[string]any{}
	}
	return freeform, defined
}

// set overwrites a field that a request may leave out.
func set[T any](field **T, v *T) {
	if v != nil {
		*field = v
	}
}

// setTags overwrites the tags that a request brings.
func setTags(freeform *map[string]string, defined *map[string]map[string]any, f map[string]string, d map[string]map[string]any) {
	if f != nil {
		*freeform = f
	}
	if d != nil {
		*defined = d
	}
}
