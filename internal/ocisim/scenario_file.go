// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// ParseScenario reads a scenario from YAML and checks it for a region that offers all shapes. An unknown
// key is an error. Errors name the line and what was probably meant.
func ParseScenario(text []byte) (Scenario, error) {
	var c Scenario
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return c, nil // an empty file
	} else if err != nil {
		return c, fmt.Errorf("read the scenario: %w", err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return c, errors.New("read the scenario: more than one YAML document")
	}
	lines := lineTable{}
	if err := lines.check(document.Content[0], reflect.TypeFor[Scenario](), ""); err != nil {
		return c, fmt.Errorf("read the scenario: %w", err)
	}
	if err := document.Decode(&c); err != nil {
		return c, fmt.Errorf("read the scenario: %w", err)
	}
	shapes, err := offer(nil)
	if err != nil {
		return c, err
	}
	if err := c.check(shapes); err != nil {
		return c, fmt.Errorf("read the scenario: %w", lines.locate(err))
	}
	return c, nil
}

// lineTable has the lines of a document's parts by their paths, such as faults[0].effect.
type lineTable map[string]int

// check compares keys with the fields of the type that the document is for, and notes the lines.
func (l lineTable) check(n *yaml.Node, t reflect.Type, path string) error {
	l[path] = n.Line
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("line %d: anchors and aliases are not read here; write it out", n.Line)
	case n.Tag == "!!null":
		return nil
	case t == reflect.TypeFor[time.Duration]():
		if n.Tag == "!!int" {
			return fmt.Errorf("line %d: %s needs a unit, such as %ss or %sms", n.Line, path, n.Value, n.Value)
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return l.check(n, t.Elem(), path)
	case reflect.Struct, reflect.Map:
		if n.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: %s must have keys and values", n.Line, describe(path))
		}
		return l.checkKeys(n, t, path)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			return fmt.Errorf("line %d: %s must be a list, each entry after a dash", n.Line, describe(path))
		}
		for i, entry := range n.Content {
			if err := l.check(entry, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	default:
		if n.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: %s must be a single value", n.Line, path)
		}
	}
	return nil
}

func (l lineTable) checkKeys(n *yaml.Node, t reflect.Type, path string) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key of %s is no text", key.Line, describe(path))
		}
		of, known := valueType(t, key.Value)
		if !known {
			return unknownKey(key, t, path)
		}
		if err := l.check(value, of, join(path, key.Value)); err != nil {
			return err
		}
	}
	return nil
}

// valueType is the type of what a struct or a map has under a key.
func valueType(t reflect.Type, key string) (of reflect.Type, known bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") == key {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}

func unknownKey(key *yaml.Node, t reflect.Type, path string) error {
	var names []string
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("yaml"))
	}
	if near, ok := shape.Nearest(key.Value, names); ok {
		return fmt.Errorf("line %d: %s has no key %q; is %q meant?", key.Line, describe(path), key.Value, near)
	}
	return fmt.Errorf("line %d: %s has no key %q; it has %s", key.Line, describe(path), key.Value, strings.Join(names, ", "))
}

func describe(path string) string {
	if path == "" {
		return "a scenario"
	}
	return path
}

// locate puts the line before an error that begins with a path.
func (l lineTable) locate(err error) error {
	path, found := "", false
	for at := range l {
		if at != "" && len(at) > len(path) && strings.HasPrefix(strings.ReplaceAll(err.Error(), ": ", ".")+".", at+".") {
			path, found = at, true
		}
	}
	if !found {
		return err
	}
	return fmt.Errorf("line %d: %w", l[path], err)
}
