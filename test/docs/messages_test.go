// SPDX-License-Identifier: MPL-2.0

package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// printed is a message in the first column of a table; an ellipsis in it stands for names and numbers.
var printed = regexp.MustCompile("(?m)^\\| `([^`]+)`")

// joined is where Go puts two texts together.
var joined = regexp.MustCompile(`"\s*\+\s*"`)

// TestMessages looks in the programs for every message of the troubleshooting guide: whoever searches for one must find it.
func TestMessages(t *testing.T) {
	t.Parallel()
	said := programTexts(t)
	messages := printed.FindAllStringSubmatch(read(t, "docs/guides/troubleshooting.md"), -1)
	if len(messages) < 80 {
		t.Errorf("only %d messages", len(messages))
	}
	for _, message := range messages {
		for part := range strings.SplitSeq(strings.ToLower(message[1]), "…") {
			if !strings.Contains(said, part) {
				t.Errorf("nothing prints %q of %q", part, message[1])
			}
		}
	}
}

// programTexts are the sources of the programs in lower case, and what Terraform was seen to show, without its line breaks.
func programTexts(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	add := func(path string, d fs.DirEntry, err error) error {
		golden := strings.Contains(path, "testdata/golden/")
		source := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
		if err != nil || d.IsDir() || !golden && !source {
			return err
		}
		content, err := os.ReadFile(path) // #nosec G122 G304 -- of this repository
		text := strings.ReplaceAll(string(content), `\"`, `"`)
		if golden {
			text = strings.Join(strings.Fields(strings.ReplaceAll(text, "│", "")), " ")
		}
		all.WriteString(strings.ToLower(joined.ReplaceAllString(text, "")) + "\n")
		return err
	}
	for _, dir := range []string{"provider", "internal", "lab", "runner"} {
		if err := filepath.WalkDir(filepath.Join(root, dir), add); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
