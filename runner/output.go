// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// output is the flag --output: a form for people, by its name, JSON, or JUnit's XML where a command has it.
type output struct {
	form  string
	junit bool // whether the command has it
	value string
}

const (
	outputJSON  = "json"
	outputJUnit = "junit"
)

// forms are the flag's values; the first is the default.
func (o *output) forms() []string {
	forms := []string{o.form, outputJSON}
	if o.junit {
		forms = append(forms, outputJUnit)
	}
	return forms
}

// flag adds it to a command.
func (o *output) flag(cmd *cobra.Command) {
	cmd.Flags().Var(o, "output", "`format`: "+o.choice())
	complete := cobra.FixedCompletions(o.forms(), cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc("output", complete); err != nil {
		panic(err) // the flag is there
	}
}

// choice names the values for people.
func (o *output) choice() string {
	forms := o.forms()
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

func (o *output) String() string {
	if o.value == "" {
		return o.form
	}
	return o.value
}

// Set takes the flag's value.
func (o *output) Set(value string) error {
	if !slices.Contains(o.forms(), value) {
		return fmt.Errorf("it is %s", o.choice())
	}
	o.value = value
	return nil
}

// Type is what the value is called.
func (o *output) Type() string { return "format" }

// print writes v as JSON, or has it written for people, or as JUnit's XML.
func (o *output) print(w io.Writer, v any, forPeople func(io.Writer) error, junit ...func(io.Writer) error) error {
	switch o.value {
	case outputJSON:
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(v)
	case outputJUnit:
		return junit[0](w) // the value is only there where the command has it
	}
	return forPeople(w)
}
