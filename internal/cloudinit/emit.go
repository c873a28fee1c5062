// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// emit writes a cloud-config. What is written depends on nothing but the node: with a library's emitter, a
// new version of that could change the user data of every cluster. It is several times as fast, too.
func emit(root *yaml.Node) string {
	e := emitter{}
	e.text.WriteString("#cloud-config\n")
	if len(root.Content) == 0 {
		e.value(root, 0)
	} else {
		e.block(root, 0)
	}
	return e.text.String()
}

// emitter writes the forms of nodes that this package makes: mappings and lists as blocks, and scalars in
// double quotes, as literal blocks, or as they are.
type emitter struct{ text strings.Builder }

const indentation = "  "

// block writes the entries of a mapping or list, the first where the line is at.
func (e *emitter) block(n *yaml.Node, depth int) {
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(n.Content); i += step {
		if i > 0 {
			e.indent(depth)
		}
		if step == 1 {
			e.item(n.Content[i], depth)
		} else {
			e.entry(n.Content[i], n.Content[i+1], depth)
		}
	}
}

// item writes an item of a list; a block in it begins on the same line.
func (e *emitter) item(n *yaml.Node, depth int) {
	e.text.WriteString("- ")
	if len(n.Content) > 0 {
		e.block(n, depth+1)
		return
	}
	e.value(n, depth)
}

// mostKeyBytes is how long a key may be for a parser to find the colon after it.
const mostKeyBytes = 1000

func (e *emitter) entry(key, value *yaml.Node, depth int) {
	name := inline(key)
	if len(name) > mostKeyBytes {
		e.text.WriteString("? " + name + "\n")
		e.indent(depth)
		name = ""
	}
	e.text.WriteString(name + ":")
	if len(value.Content) > 0 {
		e.text.WriteString("\n")
		e.indent(depth + 1)
		e.block(value, depth+1)
		return
	}
	e.text.WriteString(" ")
	e.value(value, depth)
}

// value writes what has no entries after a key or dash, and ends the line.
func (e *emitter) value(n *yaml.Node, depth int) {
	if n.Style == yaml.LiteralStyle {
		e.literal(n.Value, depth+1)
		return
	}
	e.text.WriteString(inline(n) + "\n")
}

// inline is a node without entries in one line.
func inline(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "{}"
	case n.Kind == yaml.SequenceNode:
		return "[]"
	case n.Style&yaml.TaggedStyle != 0:
		return n.Tag + " " + quoted(n.Value)
	case n.Style != 0:
		return quoted(n.Value)
	default:
		return n.Value
	}
}

// literal writes a text that [isPlainText] as a block, whose head says what becomes of line breaks at its end.
func (e *emitter) literal(text string, depth int) {
	switch {
	case !strings.HasSuffix(text, "\n"):
		e.text.WriteString("|-\n")
	case strings.HasSuffix(text, "\n\n"):
		e.text.WriteString("|+\n")
	default:
		e.text.WriteString("|\n")
	}
	e.text.Grow(len(text) + strings.Count(text, "\n")*depth*len(indentation))
	for line := range strings.Lines(text) {
		if line != "\n" {
			e.indent(depth)
		}
		e.text.WriteString(line)
	}
	if !strings.HasSuffix(text, "\n") {
		e.text.WriteString("\n")
	}
}

func (e *emitter) indent(depth int) {
	for range depth {
		e.text.WriteString(indentation)
	}
}

var escapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\t", `\t`)

// quoted is a text in double quotes; what is neither ASCII nor plain is escaped by its number.
func quoted(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > '~' }) {
		return `"` + s + `"`
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("\"\\\n\t", r):
			b.WriteString(escapes.Replace(string(r)))
		case isPlainRune(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	return `"` + b.String() + `"`
}

// isPlainRune says whether every parser takes a character as it is: none that controls, none of YAML 1.1's
// other line breaks, nothing beyond Unicode's basic plane.
func isPlainRune(r rune) bool {
	if r < unicode.MaxASCII {
		return r >= ' '
	}
	return unicode.IsGraphic(r) && r != '\u2028' && r != '\u2029' && r <= 0xfffd
}
