// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// Normal is a part's content without what its author may format as they like: a cloud-config that says the
// same has the same normal form. Other content, and what cannot be read, stays as it is.
func (p Part) Normal() string {
	if !p.isCloudConfig() {
		return p.Content
	}
	root, err := readYAML(p.Content)
	if err != nil {
		return p.Content
	}
	plain, err := normal(root)
	if err != nil {
		return p.Content
	}
	return emit(plain)
}

func (p Part) isCloudConfig() bool {
	return p.ContentType == "" || p.ContentType == CloudConfig
}

// multipart makes a MIME message, as cloud-init reads it, of the set-up's own cloud-config and the user's
// parts, in order.
func (o *Output) multipart(own string, parts []Part) string {
	messages := []string{message(CloudConfig, "", "ocihpc.yaml", own)}
	for i, p := range parts {
		content, mergeType := p.Normal(), ""
		if p.isCloudConfig() {
			mergeType = cmp.Or(p.MergeType, DefaultMergeType)
		}
		name := fmt.Sprintf("part-%d", i+1)
		messages = append(messages, message(cmp.Or(p.ContentType, CloudConfig), mergeType, name, content))
		o.note(fmt.Sprintf("parts[%d]", i), len(content))
	}
	sum := sha256.Sum256([]byte(strings.Join(messages, "")))
	boundary := "ocihpc-" + hex.EncodeToString(sum[:16])
	var b strings.Builder
	fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=\"%s\"\nMIME-Version: 1.0\n", boundary)
	for _, m := range messages {
		fmt.Fprintf(&b, "\n--%s\n%s", boundary, m)
	}
	fmt.Fprintf(&b, "\n--%s--\n", boundary)
	return b.String()
}

// message is a part of a MIME message.
func message(contentType, mergeType, name, content string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Content-Type: %s; charset=\"utf-8\"\nMIME-Version: 1.0\n", contentType)
	if mergeType != "" {
		fmt.Fprintf(&b, "Merge-Type: %s\n", mergeType)
	}
	fmt.Fprintf(&b, "Content-Disposition: attachment; filename=\"%s\"\n", name)
	if isMailText(content) {
		fmt.Fprintf(&b, "Content-Transfer-Encoding: 7bit\n\n%s", content)
		return b.String()
	}
	b.WriteString("Content-Transfer-Encoding: base64\n\n")
	for encoded := base64.StdEncoding.EncodeToString([]byte(content)); encoded != ""; {
		n := min(76, len(encoded))
		b.WriteString(encoded[:n] + "\n")
		encoded = encoded[n:]
	}
	return b.String()
}

// isMailText says whether mail keeps a text as it is: ASCII in lines of at most 998 characters.
func isMailText(s string) bool {
	for line := range strings.Lines(s) {
		if len(line) > 998 {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r > '~' })
}
