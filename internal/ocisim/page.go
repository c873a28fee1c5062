// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
)

// row of a list.
type row struct {
	at   uint64 // position in the order of creation
	name string // display name, for sorting
	item any
}

const (
	defaultLimit = 50
	maxLimit     = 1000
)

// page sorts rows and gives the part of them that was asked for. Lists come newest first, or by
// ascending display name, unless the request says otherwise.
func page(q *request, rows []row) (response, error) {
	before, err := sorting(q)
	if err != nil {
		return response{}, err
	}
	return cut(q, rows, before)
}

// cut gives the part of rows in some order that was asked for.
func cut(q *request, rows []row, before func(a, b row) int) (response, error) {
	limit, after, err := window(q)
	if err != nil {
		return response{}, err
	}
	if q.emptyPages && !after.Turn {
		after.Turn = true
		return response{body: []any{}, nextPage: after.token()}, nil
	}
	slices.SortFunc(rows, before)
	start := 0
	if after.At != nil {
		var found bool
		if start, found = slices.BinarySearchFunc(rows, row{at: *after.At, name: after.Name}, before); found {
			start++
		}
	}
	end := min(start+limit, len(rows))
	items := make([]any, 0, end-start)
	for _, r := range rows[start:end] {
		items = append(items, r.item)
	}
	resp := response{body: items}
	if end < len(rows) {
		resp.nextPage = cursor{At: &rows[end-1].at, Name: rows[end-1].name}.token()
	}
	return resp, nil
}

// collection wraps a page as the newer list operations do.
func collection(resp response, err error) (response, error) {
	resp.body = map[string]any{"items": resp.body}
	return resp, err
}

// sorting gives the order of a list. It is a strict one, so that every row has its place.
func sorting(q *request) (func(a, b row) int, error) {
	by, err := q.enum("sortBy", []string{"TIMECREATED", "DISPLAYNAME"})
	if err != nil {
		return nil, err
	}
	order, err := q.enum("sortOrder", []string{"ASC", "DESC"})
	if err != nil {
		return nil, err
	}
	byName := by == "DISPLAYNAME"
	ascending := func(a, b row) int {
		if byName && a.name != b.name {
			return cmp.Compare(a.name, b.name)
		}
		return cmp.Compare(a.at, b.at)
	}
	if order == "DESC" || order == "" && !byName {
		return func(a, b row) int { return ascending(b, a) }, nil
	}
	return ascending, nil
}

// cursor is what a page token holds: the last row of the page before. Rows may come and go between two
// pages; none that stays is skipped or comes twice.
type cursor struct {
	At   *uint64 `json:"at"` // nil at the beginning
	Name string  `json:"name"`
	Turn bool    `json:"turn"` // an empty page has been given here
}

func (c cursor) token() string {
	text, err := json.Marshal(c)
	if err != nil {
		return "" // It always encodes.
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// window gives how many rows are wanted, and after which one.
func window(q *request) (limit int, after cursor, err error) {
	limit = defaultLimit
	if v := q.query.Get("limit"); v != "" {
		if limit, err = strconv.Atoi(v); err != nil || limit < 1 || limit > maxLimit {
			return 0, after, invalid("limit", "%q is no number from 1 to %d", v, maxLimit)
		}
	}
	token := q.query.Get("page")
	if token == "" {
		return limit, after, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &after)
	}
	if err != nil {
		return 0, after, invalid("page", "%q is no page token", token)
	}
	return limit, after, nil
}
