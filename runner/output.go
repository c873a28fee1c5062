// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// output is the flag --output: a form for people, by its name, or JSON.
type output struct {
	form string
	json bool
}

// flag adds it to a command.
func (o *output) flag(cmd *cobra.Command) {
	cmd.Flags().Var(o, "output", "`format`: "+o.form+" or json")
	complete := cobra.FixedCompletions([]string{o.form, "json"}, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc("output", complete); err != nil {
		panic(err) // the flag is there
	}
}

func (o *output) String() string {
	if o.json {
		return "json"
	}
	return o.form
}

// Set takes the flag's value.
func (o *output) Set(value string) error {
	if value != o.form && value != "json" {
		return fmt.Errorf("it is %s or json", o.form)
	}
	o.json = value == "json"
	return nil
}

// Type is what the value is called.
func (o *output) Type() string { return "format" }

// print writes v as JSON, or has it written for people.
func (o *output) print(w io.Writer, v any, forPeople func(io.Writer) error) error {
	if !o.json {
		return forPeople(w)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
