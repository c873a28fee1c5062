// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// configuration is what a stack's root module declares.
type configuration struct {
	variables map[string]variable
	outputs   map[string]bool
}

type variable struct {
	kind     string // as it is written, such as list(string)
	optional bool   // it has a default
}

// readConfiguration reads the .tf files of the root; there must be one at least.
func readConfiguration(stack fs.FS) (configuration, error) {
	is := configuration{variables: map[string]variable{}, outputs: map[string]bool{}}
	names, err := fs.Glob(stack, "*.tf")
	if err != nil || len(names) == 0 {
		return is, fmt.Errorf("there is no .tf file in the root (%w)", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(stack, name)
		if err != nil {
			return is, fmt.Errorf("read %s: %w", name, err)
		}
		file, diagnostics := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
		if diagnostics.HasErrors() {
			return is, diagnostics
		}
		is.add(file.Body.(*hclsyntax.Body), text)
	}
	return is, nil
}

func (c configuration) add(body *hclsyntax.Body, text []byte) {
	for _, block := range body.Blocks {
		switch block.Type {
		case "variable":
			v := variable{kind: "string"} // Resource Manager's default
			if kind := block.Body.Attributes["type"]; kind != nil {
				v.kind = strings.TrimSpace(string(kind.Expr.Range().SliceBytes(text)))
			}
			v.optional = block.Body.Attributes["default"] != nil
			c.variables[block.Labels[0]] = v
		case "output":
			c.outputs[block.Labels[0]] = true
		}
	}
}
