// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
)

// row of a list, in the order of creation.
type row struct {
	item any
	name string // display name, for sorting
}

const (
	defaultLimit = 50
	maxLimit     = 1000
)

// page sorts rows and gives the part of them that was asked for. Lists come newest first, or by
// ascending display name, unless the request says otherwise.
func page(q *request, rows []row) (response, error) {
	if err := sortRows(q, rows); err != nil {
		return response{}, err
	}
	limit, offset, err := window(q)
	if err != nil {
		return response{}, err
	}
	start := min(offset, len(rows))
	end := min(start+limit, len(rows))
	items := make([]any, 0, end-start)
	for _, r := range rows[start:end] {
		items = append(items, r.item)
	}
	resp := response{body: items}
	if end < len(rows) {
		resp.nextPage = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(end)))
	}
	return resp, nil
}

// collection wraps a page as the newer list operations do.
func collection(resp response, err error) (response, error) {
	resp.body = map[string]any{"items": resp.body}
	return resp, err
}

func sortRows(q *request, rows []row) error {
	by, err := q.enum("sortBy", []string{"TIMECREATED", "DISPLAYNAME"})
	if err != nil {
		return err
	}
	order, err := q.enum("sortOrder", []string{"ASC", "DESC"})
	if err != nil {
		return err
	}
	if by == "DISPLAYNAME" {
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.name, b.name) })
	}
	if order == "DESC" || order == "" && by != "DISPLAYNAME" {
		slices.Reverse(rows)
	}
	return nil
}

func window(q *request) (limit, offset int, err error) {
	limit = defaultLimit
	if v := q.query.Get("limit"); v != "" {
		if limit, err = strconv.Atoi(v); err != nil || limit < 1 || limit > maxLimit {
			return 0, 0, invalid("limit", "%q is no number from 1 to %d", v, maxLimit)
		}
	}
	if v := q.query.Get("page"); v != "" {
		token, err := base64.RawURLEncoding.DecodeString(v)
		if err != nil {
			return 0, 0, invalid("page", "%q is no page token", v)
		}
		if offset, err = strconv.Atoi(string(token)); err != nil || offset < 0 {
			return 0, 0, invalid("page", "%q is no page token", v)
		}
	}
	return limit, offset, nil
}
