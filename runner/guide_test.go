// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// shown are the command lines in a text, without what a shell does with their output.
func shown(text string) [][]string {
	var lines [][]string
	for _, match := range regexp.MustCompile(`(?m)^ *(?:\$ |&& )?ocihpc-runner ([^#|>&\n]*)`).FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Fields(match[1]))
	}
	return lines
}

// Every command line that people are shown is one that the program takes.
func TestShownCommands(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, file := range []string{"../README.md", "../templates/guides/runner.md", "../templates/guides/health-checks.md", "../templates/guides/acceptance-in-ci.md",
		"../templates/guides/air-gapped.md", "help"} {
		var text string
		if file == "help" {
			for _, command := range append(newRootCommand().Commands(), newRootCommand()) {
				text += command.Example + "\n"
				if command.Example == "" && !command.Hidden {
					t.Errorf("the help of %s has no example", command.Name())
				}
			}
		} else {
			content, err := os.ReadFile(file) // #nosec G304 -- of this repository
			if err != nil {
				t.Fatal(err)
			}
			text = string(content)
		}
		lines := shown(text)
		if len(lines) == 0 {
			t.Errorf("%s shows no command", file)
		}
		for _, line := range lines {
			command, rest, err := newRootCommand().Find(line)
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err == nil {
				err = command.ValidateArgs(command.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: ocihpc-runner %s: %v", file, strings.Join(line, " "), err)
				continue
			}
			used[file+" "+command.Name()] = true
		}
	}
	for _, command := range []string{"setup", "jobs", "attach", "cancel", "clean", "mirror", "check"} {
		for _, file := range []string{"../README.md", "../templates/guides/runner.md", "help"} {
			if !used[file+" "+command] {
				t.Errorf("%s shows no use of %s", file, command)
			}
		}
	}
}

// Every document that the guides show is read as the program reads it.
func TestGuideDocuments(t *testing.T) {
	t.Parallel()
	var blocks [][]string
	for _, guide := range []string{"runner", "acceptance-in-ci"} {
		text, err := os.ReadFile("../templates/guides/" + guide + ".md") // #nosec G304 -- of this repository
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1)...)
	}
	if len(blocks) != 4 {
		t.Errorf("%d documents", len(blocks))
	}
	for _, block := range blocks {
		if strings.Contains(block[1], `"version"`) {
			if _, err := job.Decode(strings.NewReader(block[1])); err != nil {
				t.Errorf("%s: %v", block[1], err)
			}
			continue
		}
		var setup job.Setup
		if err := job.DecodeStrict([]byte(block[1]), &setup); err != nil {
			t.Errorf("%s: %v", block[1], err)
		} else if err := setup.Validate(); err != nil {
			t.Errorf("%s: %v", block[1], err)
		}
	}
}
