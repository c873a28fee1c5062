// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxUserDataBytes is what OCI takes as an instance's metadata, of which user_data (in base64) is a part
// and ssh_authorized_keys another.
const MaxUserDataBytes = 32_000

// FitsOnlyPacked says that only [Output.GzipBase64] is small enough for OCI.
func (o Output) FitsOnlyPacked() bool {
	return len(o.Base64) > MaxUserDataBytes && len(o.GzipBase64()) <= MaxUserDataBytes
}

// CheckSize fails when the config is too large for OCI even compressed, and names its biggest parts.
func (o Output) CheckSize() error {
	if len(o.Base64) <= MaxUserDataBytes || len(o.GzipBase64()) <= MaxUserDataBytes {
		return nil
	}
	return fmt.Errorf("user_data would have %d bytes, %d compressed; OCI takes %d. Biggest parts: %s. "+
		"Put large files into Object Storage and fetch them with runcmd",
		len(o.Base64), len(o.GzipBase64()), MaxUserDataBytes, o.biggestParts())
}

func (o Output) biggestParts() string {
	parts := slices.SortedStableFunc(slices.Values(o.sizes), func(a, b size) int { return cmp.Compare(b.bytes, a.bytes) })
	var names []string
	for _, p := range parts[:min(3, len(parts))] {
		names = append(names, fmt.Sprintf("%s (%d bytes)", p.name, p.bytes))
	}
	return strings.Join(names, ", ")
}
