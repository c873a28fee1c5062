// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The rules are those of Oracle's meta schema and the page about it:
// https://docs.oracle.com/iaas/Content/ResourceManager/Concepts/terraformconfigresourcemanager_topic-schema.htm

// form is a schema document, as far as it has rules.
type form struct {
	SchemaVersion  string               `yaml:"schemaVersion"`
	Locale         string               `yaml:"locale"`
	Variables      map[string]yaml.Node `yaml:"variables"`
	VariableGroups []group              `yaml:"variableGroups"`
	Outputs        map[string]output    `yaml:"outputs"`
	OutputGroups   []group              `yaml:"outputGroups"`
}

type group struct {
	Title     string   `yaml:"title"`
	Variables []string `yaml:"variables"`
	Outputs   []string `yaml:"outputs"`
	Visible   any      `yaml:"visible"`
}

type output struct {
	Type string `yaml:"type"`
}

// field is a variable of the form.
type field struct {
	Type        string         `yaml:"type"`
	Title       *string        `yaml:"title"`
	Description string         `yaml:"description"`
	Required    bool           `yaml:"required"`
	Visible     any            `yaml:"visible"`
	Default     any            `yaml:"default"`
	Enum        []string       `yaml:"enum"`
	Minimum     *float64       `yaml:"minimum"`
	Maximum     *float64       `yaml:"maximum"`
	MinLength   *uint          `yaml:"minLength"`
	MaxLength   *uint          `yaml:"maxLength"`
	Pattern     string         `yaml:"pattern"`
	DependsOn   map[string]any `yaml:"dependsOn"`
}

// automatic variables have a value wherever they are declared.
var automatic = []string{"tenancy_ocid", "compartment_ocid", "region", "current_user_ocid"}

// kinds are the types that stacks of this project may have, by what they are in Terraform. The meta schema has more.
var kinds = map[string]string{
	"boolean": "bool", "integer": "number", "number": "number", "string": "string", "text": "string", "password": "string",
	"file": "string", "enum": "string", "datetime": "string", "oci:core:ssh:publickey": "string",
}

// dependencies are the kinds whose choices depend on other fields: on which they must, and on which they may.
var dependencies = map[string]struct{ must, may []string }{
	"oci:identity:compartment:id":          {},
	"oci:identity:region:name":             {},
	"oci:identity:availabilitydomain:name": {must: []string{"compartmentId"}},
	"oci:core:vcn:id":                      {must: []string{"compartmentId"}},
	"oci:core:nsg:id":                      {must: []string{"compartmentId"}, may: []string{"vcnId"}},
	"oci:core:subnet:id": {must: []string{"compartmentId", "vcnId"},
		may: []string{"hidePublicSubnet", "hidePrivateSubnet", "hideRegionalSubnet", "hideAdSubnet"}},
	"oci:core:image:id":           {must: []string{"compartmentId"}, may: []string{"shape", "operatingSystem", "operatingSystemVersion"}},
	"oci:core:instanceshape:name": {must: []string{"compartmentId"}, may: []string{"imageId", "availabilityDomain"}},
}

// outputKinds are all that an output can be shown as.
var outputKinds = []string{"boolean", "number", "string", "copyableString", "map", "json", "list", "csv", "link", "ocid"}

// checkSchema gives every mistake in a form, by itself and against the configuration that it is for.
func checkSchema(text []byte, declared configuration) error {
	var f form
	if err := yaml.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	var errs []error
	wrong := func(where, format string, values ...any) {
		errs = append(errs, fmt.Errorf(where+": "+format, values...))
	}
	if f.SchemaVersion != "1.0.0" && f.SchemaVersion != "1.1.0" {
		wrong("schemaVersion", "%q is neither 1.0.0 nor 1.1.0", f.SchemaVersion)
	}
	if f.Locale != "" && f.Locale != "en" {
		wrong("locale", "%q is not en", f.Locale)
	}
	for name, node := range f.Variables {
		var v field
		if err := node.Decode(&v); err != nil {
			wrong(name, "%w", err)
			continue
		}
		for _, err := range f.checkField(v, declared.variables[name]) {
			wrong(name, "%w", err)
		}
		if _, is := declared.variables[name]; !is {
			wrong(name, "the configuration has no such variable")
		}
	}
	for name, v := range declared.variables {
		if _, shown := f.Variables[name]; !shown && !v.optional && !slices.Contains(automatic, name) {
			wrong(name, "the form does not ask for it, and it has no default")
		}
	}
	errs = append(errs, f.checkGroups(declared)...)
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// checkField gives the mistakes in one variable.
func (f form) checkField(v field, of variable) (errs []error) {
	wrong := func(format string, values ...any) { errs = append(errs, fmt.Errorf(format, values...)) }
	depends, dynamic := dependencies[v.Type]
	kind := kinds[v.Type]
	if dynamic {
		kind = "string"
	}
	switch {
	case kind == "":
		wrong("the type %q is unknown", v.Type)
	case of.kind != "" && of.kind != kind:
		wrong("the form has %s, which is %s, and the configuration has %s", v.Type, kind, of.kind)
	}
	if v.Title != nil && *v.Title == "" {
		wrong("the title is empty")
	}
	if v.Type == "enum" && len(v.Enum) == 0 {
		wrong("an enum needs its values")
	}
	if value, is := v.Default.(string); is && v.Type == "enum" && !slices.Contains(v.Enum, value) {
		wrong("the default %q is none of the values", value)
	}
	_, whole := v.Default.(int)
	_, fraction := v.Default.(float64)
	if v.Default != nil && (v.Type == "integer" && !whole || v.Type == "number" && !whole && !fraction) {
		wrong("the default %v is no %s", v.Default, v.Type)
	}
	for _, name := range depends.must {
		if _, given := v.DependsOn[name]; !given {
			wrong("dependsOn needs %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.DependsOn)) {
		if !slices.Contains(depends.must, name) && !slices.Contains(depends.may, name) {
			wrong("dependsOn has no %s", name)
		}
		errs = append(errs, f.checkReferences(v.DependsOn[name])...)
	}
	return append(errs, f.checkReferences(v.Visible)...)
}

// checkReferences looks for the variables that a condition or a dependency names as ${variable}.
func (f form) checkReferences(statement any) (errs []error) {
	switch s := statement.(type) {
	case string:
		name, is := strings.CutPrefix(s, "${")
		name, ends := strings.CutSuffix(name, "}")
		if _, known := f.Variables[name]; is && ends && !known {
			errs = append(errs, fmt.Errorf("%s is no variable of the form", s))
		}
	case []any:
		for _, part := range s {
			errs = append(errs, f.checkReferences(part)...)
		}
	case map[string]any:
		for operator, parts := range s {
			if !slices.Contains([]string{"and", "or", "not", "eq", "ge", "le", "gt", "lt"}, operator) {
				errs = append(errs, fmt.Errorf("a condition has no %q", operator))
			}
			if operator == "eq" {
				errs = append(errs, f.checkChoice(parts)...)
			}
			errs = append(errs, f.checkReferences(parts)...)
		}
	}
	return errs
}

// checkChoice refuses a comparison of an enum with what it can never be.
func (f form) checkChoice(compared any) (errs []error) {
	pair, _ := compared.([]any)
	for _, part := range pair {
		name, _ := part.(string)
		node := f.Variables[strings.TrimSuffix(strings.TrimPrefix(name, "${"), "}")]
		var v field
		if name == "" || node.Decode(&v) != nil || v.Type != "enum" {
			continue
		}
		for _, other := range pair {
			if other != part && !slices.Contains(v.Enum, fmt.Sprint(other)) {
				errs = append(errs, fmt.Errorf("%s is never %v", name, other))
			}
		}
	}
	return errs
}

// checkGroups gives the mistakes in groups and outputs. What is in no group is not shown where it belongs.
func (f form) checkGroups(declared configuration) (errs []error) {
	wrong := func(where, format string, values ...any) {
		errs = append(errs, fmt.Errorf(where+": "+format, values...))
	}
	shown := map[string]bool{}
	for _, g := range append(f.VariableGroups, f.OutputGroups...) {
		if g.Title == "" || len(g.Variables)+len(g.Outputs) == 0 {
			wrong("groups", "%q needs a title, and something in it", g.Title)
		}
		for _, err := range f.checkReferences(g.Visible) {
			wrong("groups", "%q: %w", g.Title, err)
		}
		for _, name := range g.Variables {
			name = strings.TrimSuffix(strings.TrimPrefix(name, "${"), "}")
			shown[name] = true
			if _, known := f.Variables[name]; !known {
				wrong("groups", "%q has %s, which is no variable of the form", g.Title, name)
			}
		}
		for _, name := range g.Outputs {
			name = strings.TrimSuffix(strings.TrimPrefix(name, "${"), "}")
			if _, known := f.Outputs[name]; !known {
				wrong("groups", "%q has %s, which is no output of the form", g.Title, name)
			}
		}
	}
	for name := range f.Variables {
		if !shown[name] {
			wrong(name, "it is in no group")
		}
	}
	for name, o := range f.Outputs {
		if !declared.outputs[name] {
			wrong(name, "the configuration has no such output")
		}
		if !slices.Contains(outputKinds, o.Type) {
			wrong(name, "an output cannot be shown as %q", o.Type)
		}
	}
	return errs
}
