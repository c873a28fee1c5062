// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlError is bad YAML at a place in a part.
type yamlError struct {
	line, column int
	message      string
}

func (e *yamlError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.line, e.column, e.message)
}

func badNode(n *yaml.Node, format string, args ...any) *yamlError {
	return &yamlError{n.Line, n.Column, fmt.Sprintf(format, args...)}
}

// readYAML reads the one document that a cloud-config is; nil stands for an empty one.
func readYAML(content string) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(content))
	var document yaml.Node
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF):
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}, nil
	case err != nil:
		return nil, badYAML(err)
	}
	root := document.Content[0]
	var another yaml.Node
	switch err := decoder.Decode(&another); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, badYAML(err)
	default:
		return nil, badNode(&another, "a second document begins here; cloud-init reads only one")
	}
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode, Line: root.Line, Column: root.Column}, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, badNode(root, "a cloud-config is a mapping of keys, such as packages:")
	}
	return root, nil
}

// badYAML makes a yamlError of the parser's error.
func badYAML(err error) *yamlError {
	var load *yaml.LoadError
	if errors.As(err, &load) {
		message := load.Message
		if from := load.ContextMark; load.ContextMsg != "" && from.Line > 0 && from.Line < load.Mark.Line {
			message = fmt.Sprintf("%s %s that begins at line %d, column %d", message, load.ContextMsg, from.Line, from.Column)
		}
		return &yamlError{max(1, load.Mark.Line), max(1, load.Mark.Column), message}
	}
	return &yamlError{1, 1, strings.TrimPrefix(err.Error(), "yaml: ")}
}

// mostNodes keeps aliases of aliases from growing without end.
const mostNodes = 50_000

// normal is a copy in which what YAML lets one write in several ways is written in one: without comments,
// styles, anchors and merge keys, with sorted keys.
func normal(n *yaml.Node) (*yaml.Node, error) {
	w := normalizer{left: mostNodes}
	return w.node(n, nil)
}

type normalizer struct{ left int }

func (w *normalizer) node(n *yaml.Node, inside []*yaml.Node) (*yaml.Node, error) {
	if w.left--; w.left < 0 {
		return nil, badNode(n, "aliases make this too large")
	}
	switch n.Kind {
	case yaml.AliasNode:
		if slices.Contains(inside, n.Alias) {
			return nil, badNode(n, "the alias *%s holds itself", n.Value)
		}
		return w.node(n.Alias, append(inside, n.Alias))
	case yaml.SequenceNode:
		same := list()
		for _, item := range n.Content {
			plain, err := w.node(item, inside)
			if err != nil {
				return nil, err
			}
			same.Content = append(same.Content, plain)
		}
		return same, nil
	case yaml.MappingNode:
		return w.mapping(n, inside)
	default:
		return normalScalar(n)
	}
}

type entry struct{ key, value *yaml.Node }

func (w *normalizer) mapping(n *yaml.Node, inside []*yaml.Node) (*yaml.Node, error) {
	var entries, merged []entry
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			more, err := w.merge(value, inside)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return nil, badNode(key, "a key must be a word")
		}
		plainKey, err := normalScalar(key)
		if err != nil {
			return nil, err
		}
		if seen[plainKey.Value] {
			return nil, badNode(key, "the key %s is there twice", key.Value)
		}
		seen[plainKey.Value] = true
		plain, err := w.node(value, inside)
		if err != nil {
			return nil, err
		}
		if plainKey.Tag == "!!str" {
			plainKey = word(plainKey.Value)
		}
		entries = append(entries, entry{plainKey, plain})
	}
	for _, e := range merged {
		if !seen[e.key.Value] {
			seen[e.key.Value] = true
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.key.Value, b.key.Value) })
	same := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range entries {
		same.Content = append(same.Content, e.key, e.value)
	}
	return same, nil
}

// merge gives the entries that a merge key takes over: those of one mapping, or of several, of which the
// first has precedence.
func (w *normalizer) merge(value *yaml.Node, inside []*yaml.Node) ([]entry, error) {
	plain, err := w.node(value, inside)
	if err != nil {
		return nil, err
	}
	sources := []*yaml.Node{plain}
	if plain.Kind == yaml.SequenceNode {
		sources = plain.Content
	}
	var entries []entry
	for _, source := range sources {
		if source.Kind != yaml.MappingNode {
			return nil, badNode(value, "<< takes mappings only")
		}
		for i := 0; i+1 < len(source.Content); i += 2 {
			entries = append(entries, entry{source.Content[i], source.Content[i+1]})
		}
	}
	return entries, nil
}

// normalScalar keeps what is no string for cloud-init, and quotes what is.
func normalScalar(n *yaml.Node) (*yaml.Node, error) {
	tagged := n.Style&yaml.TaggedStyle != 0
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch {
	case tagged && n.Tag == "!!binary":
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Style: yaml.TaggedStyle | yaml.DoubleQuotedStyle, Value: n.Value}, nil
	case tagged && n.Tag != "!!str":
		return nil, badNode(n, "cloud-init takes no tag such as %s", n.Tag)
	case tagged || quoted || isPlainString(n.Value):
		return text(n.Value), nil
	}
	value := n.Value
	switch {
	case yamlTrue.MatchString(value):
		value = "true"
	case yamlFalse.MatchString(value):
		value = "false"
	case yamlNull.MatchString(value):
		value = "null"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: value}, nil
}

var (
	plainWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

	yamlTrue  = regexp.MustCompile(`^(yes|Yes|YES|true|True|TRUE|on|On|ON)$`)
	yamlFalse = regexp.MustCompile(`^(no|No|NO|false|False|FALSE|off|Off|OFF)$`)
	yamlNull  = regexp.MustCompile(`^(~|null|Null|NULL|)$`)
	// yamlOther is what YAML 1.1 or 1.2 reads as number, time, merge or default.
	yamlOther = regexp.MustCompile(`^([-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*(:[0-5]?[0-9])*)` +
		`|[-+]?([0-9][0-9_]*)?\.?[0-9_]*([eE][-+]?[0-9]+)?` +
		`|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*` +
		`|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)` +
		`|\d{4}-\d\d?-\d\d?(([Tt]|[ \t]+)\d\d?:\d\d:\d\d(\.\d*)?([ \t]*(Z|[-+]\d\d?(:?\d\d)?))?)?` +
		`|<<|=)$`)
)

// isPlainString says whether a scalar without quotes is a string in YAML 1.1, which cloud-init reads, and 1.2.
func isPlainString(s string) bool {
	return !yamlTrue.MatchString(s) && !yamlFalse.MatchString(s) && !yamlNull.MatchString(s) && !yamlOther.MatchString(s)
}
