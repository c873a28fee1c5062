// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
)

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// watchSecrets looks for the passwords of registry and proxy and for the private key in all processes, until nowhere is asked.
func (n *nodes) watchSecrets(t *testing.T) *acctest.Secrets {
	t.Helper()
	return acctest.WatchSecrets(t, password, proxyPassword, acctest.KeyLine(t, n.lab.Info.SSHPrivateKeyPath)).InLogins(proxyPassword)
}

// nowhere expects that none was told, and that no node keeps one, but in the files that are inputs
// themselves: the runner's job directories, logs of engines, memory and the journal are looked at, too.
func (n *nodes) nowhere(t *testing.T, secrets *acctest.Secrets) {
	t.Helper()
	secrets.InProcesses()
	for _, id := range n.ids {
		secrets.OnHost(n.lab, id, "home/opc/auth.json", "home/opc/key", "etc/environment")
	}
}
