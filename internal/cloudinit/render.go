// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Output is a rendered cloud-config in the forms that it is used in.
type Output struct {
	// Rendered is the cloud-config itself.
	Rendered string
	// Base64 and GzipBase64 are what goes into an instance's user_data: either, cloud-init reads both.
	Base64     string
	GzipBase64 string
	// SHA256 of Rendered, in hex.
	SHA256 string
	// parts by their size in Rendered, for the message on too large a config.
	parts []part
}

type part struct {
	name string
	size int
}

// Render makes the cloud-config of a node that [Validate] has nothing to say against. Lists keep their
// order; files are sorted by path.
func Render(c Config) (Output, error) {
	var out Output
	root := &yaml.Node{Kind: yaml.MappingNode}
	if c.Timezone != "" {
		add(root, "timezone", text(c.Timezone))
	}
	if len(c.Packages) > 0 {
		packages := &yaml.Node{Kind: yaml.SequenceNode}
		for _, name := range c.Packages {
			packages.Content = append(packages.Content, text(name))
		}
		add(root, "packages", packages)
		out.parts = append(out.parts, part{"packages", len(strings.Join(c.Packages, " "))})
	}
	files := &yaml.Node{Kind: yaml.SequenceNode}
	for _, path := range slices.Sorted(maps.Keys(c.WriteFiles)) {
		f := c.WriteFiles[path]
		files.Content = append(files.Content, fileNode(path, f.Permissions, f.Content))
		out.parts = append(out.parts, part{fmt.Sprintf("write_files[%q]", path), len(path) + len(f.Content)})
	}
	if script := setupScript(c); script != "" {
		files.Content = append(files.Content, fileNode(ScriptPath, "0700", script))
		for i, command := range c.Runcmd {
			out.parts = append(out.parts, part{fmt.Sprintf("runcmd[%d]", i), len(command)})
			script = strings.Replace(script, command, "", 1)
		}
		out.parts = append(out.parts, part{"set-up script", len(script)})
	}
	if len(files.Content) > 0 {
		add(root, "write_files", files)
	}

	var b bytes.Buffer
	b.WriteString("#cloud-config\n")
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return Output{}, fmt.Errorf("encode the cloud-config: %w", err)
	}
	packed, err := pack(b.Bytes())
	if err != nil {
		return Output{}, err
	}
	sum := sha256.Sum256(b.Bytes())
	out.Rendered = b.String()
	out.Base64 = base64.StdEncoding.EncodeToString(b.Bytes())
	out.GzipBase64 = base64.StdEncoding.EncodeToString(packed)
	out.SHA256 = hex.EncodeToString(sum[:])
	return out, nil
}

func fileNode(path, permissions, content string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "path", text(path))
	add(n, "permissions", text(permissions))
	add(n, "content", text(content))
	return n
}

func add(mapping *yaml.Node, key string, value *yaml.Node) {
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
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

// isPlainText says whether a literal block keeps a text as it is: no control characters, none of YAML
// 1.1's other line breaks, and no blank at its beginning.
func isPlainText(s string) bool {
	return strings.TrimLeft(s, " \t\n") == s && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r > '~'
	})
}

// pack compresses without a time stamp, so that the same text gives the same bytes.
func pack(b []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.DefaultCompression)
	if err != nil {
		return nil, fmt.Errorf("compress the cloud-config: %w", err)
	}
	if _, err := w.Write(b); err != nil {
		return nil, fmt.Errorf("compress the cloud-config: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress the cloud-config: %w", err)
	}
	return packed.Bytes(), nil
}
