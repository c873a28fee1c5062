// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	_ "embed" // for the list of keys
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// keyList has a line for each key that a cloud-config can have: its path, in which * is any name and [] an
// item, and the kinds of its values. A mapping with an exclamation mark has no other keys than those listed.
// It is made of the schemas of cloud-init 22.4 and 26.2, for images have either and what lies between; a test
// holds it against the installed one. Which of the keys an image's version has, only that can say.
//
//go:embed keys.txt
var keyList string

// keyNode is what may be at a place in a cloud-config.
type keyNode struct {
	kinds  []string // none: anything
	closed bool
	keys   map[string]*keyNode
	item   *keyNode
}

// keys reads keyList once.
var keys = sync.OnceValue(func() *keyNode {
	root := &keyNode{closed: true, kinds: []string{"mapping"}}
	for line := range strings.Lines(keyList) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		path, kinds, _ := strings.Cut(line, " ")
		n := root.at(path)
		for kind := range strings.FieldsSeq(kinds) {
			open := strings.TrimSuffix(kind, "!")
			n.kinds = append(n.kinds, open)
			n.closed = n.closed || open != kind
		}
	}
	return root
})

// at finds or makes the node of a path such as users[].name.
func (n *keyNode) at(path string) *keyNode {
	for name := range strings.SplitSeq(strings.ReplaceAll(path, "[]", ".[]"), ".") {
		if name == "[]" {
			if n.item == nil {
				n.item = &keyNode{}
			}
			n = n.item
			continue
		}
		if n.keys == nil {
			n.keys = map[string]*keyNode{}
		}
		if n.keys[name] == nil {
			n.keys[name] = &keyNode{}
		}
		n = n.keys[name]
	}
	return n
}

// check says what of a YAML node cloud-init does not know, or would not take.
func (n *keyNode) check(y *yaml.Node, path string) []*yamlError {
	if y.Kind == yaml.AliasNode {
		return nil // what it stands for is checked where it is
	}
	if kind := kindOf(y); kind != "null" && len(n.kinds) > 0 && !slices.Contains(n.kinds, kind) {
		return []*yamlError{badNode(y, "%s is a %s; cloud-init takes a %s", path, kind, strings.Join(slices.DeleteFunc(slices.Clone(n.kinds), func(k string) bool { return k == "null" }), " or a "))}
	}
	var found []*yamlError
	switch y.Kind {
	case yaml.SequenceNode:
		for i, item := range y.Content {
			if n.item != nil {
				found = append(found, n.item.check(item, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(y.Content); i += 2 {
			found = append(found, n.checkEntry(y.Content[i], y.Content[i+1], path)...)
		}
	default:
	}
	return found
}

func (n *keyNode) checkEntry(key, value *yaml.Node, path string) []*yamlError {
	inside := strings.TrimPrefix(path+"."+key.Value, ".")
	known := n.keys[key.Value]
	if known == nil {
		known = n.keys["*"]
	}
	switch {
	case known != nil:
		return known.check(value, inside)
	case !n.closed || key.Tag == "!!merge" || path == "" && strings.HasPrefix(key.Value, "x-"):
		return nil
	}
	var names []string
	for name := range n.keys {
		if newer := strings.ReplaceAll(name, "-", "_"); newer == name || n.keys[newer] == nil {
			names = append(names, name)
		}
	}
	meant := ""
	if nearest, ok := shape.Nearest(key.Value, names); ok {
		meant = fmt.Sprintf("; did you mean %s?", nearest)
	}
	return []*yamlError{badNode(key, "cloud-init knows no key %s%s", inside, meant)}
}

func kindOf(y *yaml.Node) string {
	switch y.Kind {
	case yaml.SequenceNode:
		return "list"
	case yaml.MappingNode:
		return "mapping"
	default:
	}
	plain := y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
	switch {
	case !plain || isPlainString(y.Value):
		return "string"
	case yamlTrue.MatchString(y.Value), yamlFalse.MatchString(y.Value):
		return "boolean"
	case yamlNull.MatchString(y.Value):
		return "null"
	case strings.Contains(strings.TrimLeft(y.Value, "+-"), "-"): // a date: cloud-init's schema has them as strings
		return "string"
	}
	return "number"
}
