// SPDX-License-Identifier: MPL-2.0

// Package docs_test reads what people read: that links lead somewhere, that the files and commands which are named
// exist, and that every configuration which is shown is valid.
package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is where the repository begins.
const root = "../.."

// texts are the project's Markdown files, by their path from the root. Templates are read as what they become in docs/.
func texts(t *testing.T) map[string]string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard",
		"*.md", ":!templates").Output()
	if err != nil {
		t.Fatalf("list the Markdown files: %v", err)
	}
	files := map[string]string{}
	for path := range strings.FieldsSeq(string(list)) {
		files[path] = read(t, path)
	}
	if files["README.md"] == "" || files["docs/index.md"] == "" {
		t.Fatalf("README.md or docs/index.md is not among %d files", len(files))
	}
	return files
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is a fenced piece of code.
type block struct {
	language, text string
	line           int // of the fence
}

// split parts a text into prose, where code leaves empty lines, and fenced blocks.
func split(text string) (prose string, blocks []block) {
	var kept strings.Builder
	var open *block
	number := 0
	for line := range strings.Lines(text) {
		number++
		fence, is := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case is && open == nil:
			open = &block{language: fence, line: number}
		case is:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		default:
			kept.WriteString(line)
			continue
		}
		kept.WriteByte('\n')
	}
	return kept.String(), blocks
}

var inlineCode = regexp.MustCompile("`[^`\n]+`")
