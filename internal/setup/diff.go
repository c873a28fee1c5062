// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	diffBytes = 64 << 10 // larger files are not compared by line
	diffLines = 12       // shown of what differs
	lineRunes = 120      // shown of a line
)

// diff shows the lines that differ: those taken away after "-", those added after "+". What begins and ends alike is
// left out, and so is all but the first lines of a long change. It is empty for what is no text.
func diff(before, after []byte) string {
	if len(before) > diffBytes || len(after) > diffBytes || !isText(before) || !isText(after) {
		return ""
	}
	old, fresh := lines(before), lines(after)
	for len(old) > 0 && len(fresh) > 0 && old[0] == fresh[0] {
		old, fresh = old[1:], fresh[1:]
	}
	for len(old) > 0 && len(fresh) > 0 && old[len(old)-1] == fresh[len(fresh)-1] {
		old, fresh = old[:len(old)-1], fresh[:len(fresh)-1]
	}
	shown := append(marked("-", old), marked("+", fresh)...)
	return strings.Join(shown, "\n")
}

func isText(content []byte) bool { return utf8.Valid(content) && !bytes.ContainsRune(content, 0) }

func lines(content []byte) []string {
	var all []string
	for line := range strings.Lines(string(content)) {
		all = append(all, line)
	}
	return all
}

func marked(mark string, changed []string) []string {
	var shown []string
	for i, line := range changed {
		if i == diffLines {
			return append(shown, fmt.Sprintf("%s … %d more lines", mark, len(changed)-i))
		}
		text, ended := strings.CutSuffix(line, "\n")
		if runes := []rune(text); len(runes) > lineRunes {
			text = string(runes[:lineRunes]) + "…"
		}
		if !ended {
			text += " (without a line break)"
		}
		shown = append(shown, mark+text)
	}
	return shown
}
