// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

const (
	base32Digits = "abcdefghijklmnopqrstuvwxyz234567"
	alphanumeric = "abcdefghijklmnopqrstuvwxyz0123456789"
)

// namer draws OCIDs, names and MAC addresses. The server's lock protects it.
type namer struct {
	source *rand.PCG // its state outlives the process, so that no OCID comes twice
	rand   *rand.Rand
	region string
}

func newNamer(seed uint64, region string) *namer {
	if seed == 0 {
		var b [8]byte
		_, _ = crand.Read(b[:]) // never fails, as documented
		seed = binary.LittleEndian.Uint64(b[:])
	}
	source := rand.NewPCG(seed, seed)
	return &namer{source, rand.New(source), region} //nolint:gosec // names, no secrets
}

func (n *namer) letters(alphabet string, count int) string {
	b := make([]byte, count)
	for i := range b {
		b[i] = alphabet[n.rand.IntN(len(alphabet))]
	}
	return string(b)
}

func (n *namer) ocid(kind string) string {
	return fmt.Sprintf("ocid1.%s.oc1.%s.%s", kind, n.region, n.letters(base32Digits, 60))
}

// mac is in 02:00:17, where OCI's VNICs are.
func (n *namer) mac() string {
	return fmt.Sprintf("02:00:17:%02x:%02x:%02x", n.rand.IntN(256), n.rand.IntN(256), n.rand.IntN(256))
}

// member names a pool's instance.
func (n *namer) member(pool string) string {
	return "inst-" + n.letters(alphanumeric, 5) + "-" + pool
}

var notHostname = regexp.MustCompile(`[^a-z0-9-]+`)

// hostnameOf makes an RFC 1123 label of a display name.
func hostnameOf(displayName string) string {
	label := strings.Trim(notHostname.ReplaceAllString(strings.ToLower(displayName), "-"), "-")
	if len(label) > 63 {
		label = strings.TrimRight(label[:63], "-")
	}
	return label
}
