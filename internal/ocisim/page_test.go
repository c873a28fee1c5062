// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
)

// Rows that stay are given once each, whatever comes and goes between two pages.
func TestPagesOfAMovingList(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		chance := rand.New(rand.NewPCG(seed, seed))
		query := url.Values{"limit": {strconv.Itoa(1 + chance.IntN(4))}}
		if chance.IntN(2) == 0 {
			query.Set("sortBy", "DISPLAYNAME")
		}
		if chance.IntN(2) == 0 {
			query.Set("sortOrder", "ASC")
		}
		q := &request{Request: &http.Request{}, query: query, emptyPages: chance.IntN(2) == 0}
		var rows []row
		var next uint64
		grow := func() {
			next++
			rows = append(rows, row{next, strconv.Itoa(chance.IntN(5)), next})
		}
		for range 20 {
			grow()
		}
		staying := map[any]bool{}
		for _, r := range rows {
			staying[r.item] = true
		}
		var got []any
		for pages := 0; ; pages++ {
			resp, err := page(q, slices.Clone(rows))
			if err != nil {
				t.Fatal(err)
			}
			items := resp.body.([]any)
			got = append(got, items...)
			if resp.nextPage == "" {
				break
			}
			if len(items) == 0 && !q.emptyPages {
				t.Fatal("an empty page")
			}
			query.Set("page", resp.nextPage)
			if pages < 20 { // A list that grows for ever has no end.
				grow()
			}
			if gone := chance.IntN(len(rows)); chance.IntN(2) == 0 {
				delete(staying, rows[gone].item)
				rows = slices.Delete(rows, gone, gone+1)
			}
		}
		seen := map[any]bool{}
		for _, item := range got {
			if seen[item] {
				t.Fatalf("seed %d, %v: %v came twice in %v", seed, query, item, got)
			}
			seen[item] = true
			delete(staying, item)
		}
		if len(staying) > 0 {
			t.Fatalf("seed %d, %v: %v were skipped in %v", seed, query, staying, got)
		}
	}
}
