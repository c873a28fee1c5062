// SPDX-License-Identifier: MPL-2.0

package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(<?([^)\s>]+)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	anchor  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	marks   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// repository begins the addresses of files of this project.
const repository = "https://github.com/ocihpc/terraform-provider-ocihpc/"

// anchors are what a link into a text can name: its headings as GitHub and the registry name them, and anchors.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	prose, _ := split(text)
	for _, match := range heading.FindAllStringSubmatch(prose, -1) {
		slug := strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")
		name := slug
		for i := 1; found[name]; i++ {
			name = slug + "-" + strconv.Itoa(i)
		}
		found[name] = true
	}
	for _, match := range anchor.FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}

// target resolves a link in a file: the path from the root, and whether it is one of this project's.
func target(file, to string) (string, bool) {
	if rest, ours := strings.CutPrefix(to, repository); ours {
		kind, rest, _ := strings.Cut(rest, "/") // blob/main/PATH
		_, rest, _ = strings.Cut(rest, "/")
		return rest, kind == "blob" || kind == "tree"
	}
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return "", false
	}
	if to == "" {
		return file, true
	}
	return path.Join(path.Dir(file), to), true
}

// TestLinks follows every link to a file of this project, and into it.
func TestLinks(t *testing.T) {
	t.Parallel()
	files := texts(t)
	followed := 0
	for file, text := range files {
		prose, _ := split(text)
		for _, match := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(prose, "code"), -1) {
			to, fragment, _ := strings.Cut(match[1], "#")
			to, ours := target(file, to)
			if !ours {
				continue
			}
			followed++
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", file, match[1])
				continue
			}
			if fragment != "" && files[to] != "" && !anchors(files[to])[fragment] {
				t.Errorf("%s: the link to %s leads to no heading", file, match[1])
			}
		}
	}
	if followed < 50 {
		t.Errorf("only %d links were found", followed)
	}
}

// TestNames looks for every file and every make target that the texts for contributors name. What is built need not be there.
func TestNames(t *testing.T) {
	t.Parallel()
	makefile, built := read(t, "GNUmakefile"), read(t, ".gitignore")
	made := regexp.MustCompile(`\bmake ([a-z][a-z-]+)`)
	named := regexp.MustCompile("`((?:[\\w.*-]+/)+[\\w.*-]*|[\\w-]+\\.(?:md|yml|env|sh|go))`")
	places := 0
	for file, text := range texts(t) {
		var code []string
		_, blocks := split(text)
		for _, b := range blocks {
			code = append(code, b.text)
		}
		code = append(code, inlineCode.FindAllString(text, -1)...)
		for _, match := range made.FindAllStringSubmatch(strings.Join(code, "\n"), -1) {
			if strings.HasPrefix(file, "docs/") {
				continue // makefiles of its readers
			}
			if !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s names `make %s`, which GNUmakefile does not have", file, match[1])
			}
		}
		if file != "CONTRIBUTING.md" && !strings.HasPrefix(file, "decisions/") {
			continue
		}
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			places++
			if strings.Contains("\n"+built, "\n/"+match[1]+"\n") {
				continue
			}
			if found, err := filepath.Glob(filepath.Join(root, match[1])); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which is not there", file, match[1])
			}
		}
	}
	if places < 30 {
		t.Errorf("CONTRIBUTING.md and decisions/ name only %d files", places)
	}
}
