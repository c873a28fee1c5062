// SPDX-License-Identifier: MPL-2.0

package shape

import (
	"slices"
	"strings"
)

// Suggest gives the catalog's name that is nearest to a mistyped one; ok is false when none is near.
func Suggest(name string) (nearest string, ok bool) { return Nearest(name, Names()) }

// Nearest gives the candidate that is nearest to a mistyped word; ok is false when none is near. Of several,
// it is the first in alphabetical order.
func Nearest(word string, candidates []string) (nearest string, ok bool) {
	typed := bare(word)
	best := 1 + len(typed)/4 // more edits than this is another word, not a typo
	for _, candidate := range slices.Sorted(slices.Values(candidates)) {
		if d := editDistance(typed, bare(candidate)); d <= best && (!ok || d < best) {
			nearest, best, ok = candidate, d, true
		}
	}
	return nearest, ok
}

// bare is a name without what people mistype most: case, dots, dashes and spaces.
func bare(name string) string {
	return strings.NewReplacer(".", "", "-", "", "_", "", " ", "").Replace(strings.ToUpper(name))
}

// editDistance counts the insertions, deletions and replacements that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
