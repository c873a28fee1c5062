// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
)

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// secrets looks for the registry's password where it must not be.
type secrets struct{ nodes *nodes }

// forms in which the password may appear: as it is, and as clients of registries keep it.
func forms() []string {
	return []string{password, base64.StdEncoding.EncodeToString([]byte("puller:" + password))}
}

const (
	foundFile = "/run/found-in-arguments"
	watchUnit = "watch-arguments"
)

// watchArguments looks at the arguments and environments of all processes on all nodes, again and again, until nowhere is asked.
func (n *nodes) watchArguments(t *testing.T) secrets {
	t.Helper()
	// The patterns are read from a file: else the search finds itself.
	script := fmt.Sprintf(`while :; do grep -alF -f /run/patterns /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | while read -r f; do tr "\0" " " <$f >>%s; done; sleep 0.02; done`, foundFile)
	for _, id := range n.ids {
		containertest.Run(t, n.lab, id, "umask 077; printf %s "+quoted(strings.Join(forms(), "\n"))+" >/run/patterns; : >"+foundFile+"; systemd-run --quiet --unit="+watchUnit+" sh -c "+quoted(script))
	}
	return secrets{n}
}

// nowhere ends the watch, and looks at all that the nodes have written: files that root can read, in memory and on disk, and the journal.
func (s secrets) nowhere(t *testing.T) {
	t.Helper()
	for _, id := range s.nodes.ids {
		if active := containertest.Run(t, s.nodes.lab, id, "systemctl is-active "+watchUnit+"; systemctl stop "+watchUnit); active != "active\n" {
			t.Errorf("the watch is %s", active)
		}
		if found := containertest.Run(t, s.nodes.lab, id, "cat "+foundFile); found != "" {
			t.Errorf("a process had the password in its arguments or environment: %s", found)
		}
		files := containertest.Run(t, s.nodes.lab, id, `
			journalctl --sync || true
			find /etc /home /opt /root/.[a-z]* /run /tmp /var -xdev -path /root/.cache -prune -o -type f -newer /run/patterns -not -name auth.json -not -path /run/patterns -print0 2>/dev/null |
				xargs -0 -r grep -alF -f /run/patterns 2>/dev/null || true
			find /run -xdev -type f -not -path /run/patterns -print0 2>/dev/null | xargs -0 -r grep -alF -f /run/patterns 2>/dev/null || true
			journalctl --no-pager --boot --output=export 2>/dev/null | grep -aF -f /run/patterns || true
			rm /run/patterns`)
		if files != "" {
			t.Errorf("the password is in %s", files)
		}
	}
}
