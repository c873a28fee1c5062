// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Key is an ed25519 SSH key, of a host or of a user.
type Key struct {
	// PrivatePEM is in OpenSSH's format, without a passphrase.
	PrivatePEM []byte
	public     ssh.PublicKey
}

// NewKey makes a key.
func NewKey() (Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("make an SSH key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return Key{}, fmt.Errorf("encode an SSH key: %w", err)
	}
	return ParseKey(pem.EncodeToMemory(block))
}

// ParseKey reads a key in OpenSSH's format.
func ParseKey(privatePEM []byte) (Key, error) {
	signer, err := ssh.ParsePrivateKey(privatePEM)
	if err != nil {
		return Key{}, fmt.Errorf("read an SSH key: %w", err)
	}
	return Key{PrivatePEM: privatePEM, public: signer.PublicKey()}, nil
}

// AuthorizedKey is the public half as authorized_keys and known_hosts have it: "ssh-ed25519 AAAA…".
func (k Key) AuthorizedKey() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.public)))
}

// machineID makes an ID as in /etc/machine-id.
func machineID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // It never fails.
	return hex.EncodeToString(id[:])
}
