// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// TestGuides reads every scenario of the guide as the lab does, and looks for every effect in it and for
// every command and flag that it shows.
func TestGuides(t *testing.T) {
	t.Parallel()
	var guides string
	for _, name := range []string{"lab", "lab-official-provider", "testing-against-the-lab"} {
		text, err := os.ReadFile("../templates/guides/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		guides += string(text)
	}
	scenarios := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(guides, -1)
	if len(scenarios) < 10 {
		t.Errorf("only %d scenarios", len(scenarios))
	}
	var all ocisim.Scenario
	for _, block := range scenarios {
		c, err := ocisim.ParseScenario([]byte(block[1]))
		if err != nil {
			t.Errorf("%s\n%v", block[1], err)
		}
		all = c.Over(all)
	}
	if all.Capacity == nil || all.Quotas == nil || all.TagDefaults == nil || len(all.Nodes) == 0 || len(all.Faults) < 5 || all.StaleReads.AfterChange == 0 {
		t.Errorf("the examples set too little: %+v", all)
	}
	for _, effect := range ocisim.Effects() {
		if !strings.Contains(guides, "\n| `"+effect+"` |") {
			t.Errorf("effect %s is not in the guide", effect)
		}
	}
	for _, command := range newCommand().Commands() {
		if command.Example == "" {
			t.Errorf("the help of %s has no example", command.Name())
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^ocihpc-lab ([a-z]+)|\(ocihpc-lab ([a-z]+)`).FindAllStringSubmatch(guides, -1) {
		name := line[1] + line[2]
		if command, _, err := newCommand().Find([]string{name}); err != nil || command.Name() != name {
			t.Errorf("the guide shows `ocihpc-lab %s`, which is no command: %v", name, err)
		}
	}
}
