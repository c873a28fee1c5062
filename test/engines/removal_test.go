// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// list names all packages and all files of a node that a set-up may touch, with mode, owner and digest. It leaves out
// what a removal leaves on purpose: images and containers, and the ids that their files have; and what package managers,
// systemd and the runner's jobs write for themselves.
const list = `
dpkg-query --show --showformat='package ${Package} ${db:Status-Status}\n' | grep ' installed$'
systemctl list-unit-files --no-legend --no-pager --state=enabled,enabled-runtime | sed 's/^/enabled /'
ls /var/lib/systemd/linger 2>/dev/null | sed 's/^/linger /'
find /etc /home /opt /root /usr/lib/systemd /usr/local /var/lib /var/spool -xdev \( -path /etc/subuid -o -path /etc/subuid- -o -path /etc/subgid -o -path /etc/subgid- \
	-o -path /etc/ld.so.cache -o -path '/etc/group*' -o -path '/etc/gshadow*' -o -path '/home/*/.ocihpc' -o -path '/home/*/.cache' -o -path '/home/*/.local/share' \
	-o -path /root/.cache -o -path /root/go -o -path '/var/lib/apt' -o -path /var/lib/dpkg -o -path /var/lib/systemd -o -path /var/lib/ucf -o -path /var/lib/lab \
	-o -path '/var/lib/cni' -o -path /var/lib/nerdctl -o -path /var/lib/containerd -o -path /var/lib/docker -o -path /var/lib/containers -o -path /var/lib/private -o -name '*.log' \
	-o -path '/home/*/ocihpc-runner' -o -path '/home/*/result.json' -o -path '/home/*/setup.json' \) -prune -o ! -type d ! -name cni.lock -printf '%M %u:%g %p %l\n'
find /etc -xdev -type f ! -path '/etc/sub[ug]id*' ! -path '/etc/g*' ! -path /etc/ld.so.cache ! -name cni.lock -exec md5sum {} +`

// lists names what is on each node.
func (n *nodes) lists(t *testing.T) [][]string {
	t.Helper()
	var all [][]string
	for _, id := range n.ids {
		lines := strings.Split(containertest.Run(t, n.lab, id, list), "\n")
		slices.Sort(lines)
		all = append(all, lines)
	}
	return all
}

// removed takes the engine away, expects that all is as it was, and that there is nothing to take away then.
func (n *nodes) removed(t *testing.T, want job.ContainerRuntime, before [][]string) {
	t.Helper()
	want.Remove, want.Images = true, nil
	result := n.setUp(t, want)
	if passes(t, result) == 0 {
		t.Error("nothing was removed")
	}
	for i, after := range n.lists(t) {
		for _, line := range after {
			if _, had := slices.BinarySearch(before[i], line); !had {
				t.Errorf("node %d has, and had not before: %s", i+1, line)
			}
		}
		for _, line := range before[i] {
			if _, has := slices.BinarySearch(after, line); !has {
				t.Errorf("node %d had before: %s", i+1, line)
			}
		}
	}
	n.unchanged(t, want)
}

// plant puts a file there that somebody else has written.
func (n *nodes) plant(t *testing.T, path, mode, owner, text string) {
	t.Helper()
	for _, id := range n.ids {
		containertest.Run(t, n.lab, id, "mkdir -p $(dirname "+path+"); printf %s "+quoted(text)+" >"+path+"; chmod "+mode+" "+path+"; chown "+owner+" "+path)
	}
}
