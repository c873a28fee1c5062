// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// add appends a key and its value.
func add(mapping *yaml.Node, key string, value *yaml.Node) {
	mapping.Content = append(mapping.Content, word(key), value)
}

// word is a string without quotes where it is a plain word, for keys.
func word(s string) *yaml.Node {
	if !plainWord.MatchString(s) || !isPlainString(s) {
		return text(s)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: s}
}

func list(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
}

func texts(items []string) *yaml.Node {
	n := list()
	for _, item := range items {
		n.Content = append(n.Content, text(item))
	}
	return n
}

func trimmed(items []string) []string {
	var all []string
	for _, item := range items {
		all = append(all, strings.TrimSpace(item))
	}
	return all
}

func number(n int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(n)}
}

func truth(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

// text is a string that YAML 1.1, which cloud-init reads, and 1.2 take for the same string: a literal block
// where it is plain text of several lines, else double-quoted, where nothing has a meaning of its own.
func text(s string) *yaml.Node {
	style := yaml.DoubleQuotedStyle
	if strings.Contains(s, "\n") && isPlainText(s) {
		style = yaml.LiteralStyle
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: style}
}

// isPlainText says whether a literal block keeps a text as it is: plain characters, and no blank at its
// beginning.
func isPlainText(s string) bool {
	return strings.TrimLeft(s, " \t\n") == s && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && !isPlainRune(r)
	})
}
