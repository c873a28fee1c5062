// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// staleReads is what reads do not show yet. The server's lock protects it.
type staleReads struct {
	hidden map[string]int       // reads left that do not show a new resource, by OCID
	old    map[string]oldAnswer // by path
}

// oldAnswer is a resource as it was before its last change.
type oldAnswer struct {
	wire
	left int // reads that still get it
}

func newStaleReads() staleReads {
	return staleReads{hidden: map[string]int{}, old: map[string]oldAnswer{}}
}

// answer gives what a read gets while it lags behind; found is false for one that does not.
func (l *staleReads) answer(q *request) (stale wire, found bool, err error) {
	if q.Method != http.MethodGet {
		return wire{}, false, nil
	}
	if l.countHidden(q.PathValue("id")) {
		return wire{}, true, notFound()
	}
	o, found := l.old[q.URL.Path]
	if !found {
		return wire{}, false, nil
	}
	o.left--
	if l.old[q.URL.Path] = o; o.left == 0 {
		delete(l.old, q.URL.Path)
	}
	return o.wire, true, nil
}

// countHidden says whether a resource is not shown yet, and counts the read.
func (l *staleReads) countHidden(id string) bool {
	left := l.hidden[id]
	if left == 0 {
		return false
	}
	if l.hidden[id] = left - 1; left == 1 {
		delete(l.hidden, id)
	}
	return true
}

// filter leaves out of a list what is not shown yet.
func (l *staleReads) filter(q *request, list wire) (wire, error) {
	if q.Method != http.MethodGet || len(l.hidden) == 0 {
		return list, nil
	}
	var items []json.RawMessage
	var collection struct {
		Items []json.RawMessage `json:"items"`
	}
	var err error
	switch {
	case json.Unmarshal(list.Body, &items) == nil:
		list.Body, err = json.Marshal(l.shown(items))
	case json.Unmarshal(list.Body, &collection) == nil && collection.Items != nil:
		collection.Items = l.shown(collection.Items)
		list.Body, err = json.Marshal(collection)
	}
	return list, err
}

func (l *staleReads) shown(items []json.RawMessage) []json.RawMessage {
	return slices.DeleteFunc(items, func(item json.RawMessage) bool {
		var resource struct {
			ID string `json:"id"`
		}
		return json.Unmarshal(item, &resource) == nil && l.countHidden(resource.ID)
	})
}

// before reads the resource that a request is going to change; nil where none is, or reads do not lag.
func (s *Server) before(q *request, rt route) *oldAnswer {
	collection, _, named := strings.Cut(rt.path, "{id}")
	if s.cfg.StaleReads.AfterChange == 0 || q.Method == http.MethodGet || !named {
		return nil
	}
	i := slices.IndexFunc(routes, func(get route) bool { return get.method == http.MethodGet && get.path == collection+"{id}" })
	if i < 0 {
		return nil
	}
	read := *q
	read.Request = q.Clone(q.Context())
	read.Method = http.MethodGet
	resp, err := routes[i].handle(s, &read)
	if err != nil {
		return nil
	}
	answer, err := encode(resp)
	if err != nil {
		return nil
	}
	return &oldAnswer{answer, s.cfg.StaleReads.AfterChange}
}

// changed makes the reads after a change lag behind.
func (s *Server) changed(q *request, rt route, created string, before *oldAnswer) {
	if created != "" && s.cfg.StaleReads.AfterCreate > 0 {
		s.stale.hidden[created] = s.cfg.StaleReads.AfterCreate
	}
	if before != nil {
		collection, _, _ := strings.Cut(rt.path, "{id}")
		s.stale.old[collection+q.PathValue("id")] = *before
	}
}
