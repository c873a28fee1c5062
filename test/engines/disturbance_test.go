// SPDX-License-Identifier: MPL-2.0

package engines_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/containertest"
)

// slowPackage is installed by apt until somebody makes /run/go-on.
const slowPackage = `
mkdir -p /run/slow/DEBIAN
printf 'Package: slow\nVersion: 1\nArchitecture: all\nMaintainer: lab\nDescription: takes its time\n' >/run/slow/DEBIAN/control
printf '#!/bin/sh\nuntil [ -e /run/go-on ]; do sleep 0.1; done\n' >/run/slow/DEBIAN/postinst
chmod 755 /run/slow/DEBIAN/postinst
dpkg-deb --build /run/slow /run/slow.deb >/dev/null
systemd-run --quiet --unit=slow sh -c 'apt-get install -y /run/slow.deb && dpkg --purge slow'
until pgrep -f slow.postinst >/dev/null; do sleep 0.1; done`

// disturb has apt work on the head node until the set-up has said that it waits for it, and resets the other node by
// OCI's API while the set-up installs packages there. The function that it gives waits for both.
func (n *nodes) disturb(t *testing.T) (wait func(t *testing.T)) {
	t.Helper()
	containertest.Run(t, n.lab, n.ids[0], slowPackage)
	client := compute(t, n.lab.Info)
	failed := make(chan string, 2)
	go func() {
		until := func(host, line string) string {
			out, err := n.lab.Exec(t.Context(), host, "sh", "-c", "until "+line+"; do sleep 0.1; done")
			if err != nil {
				return err.Error() + ": " + string(out)
			}
			return ""
		}
		go func() {
			why := until(n.ids[0], "grep -s 'waiting: /var/lib/dpkg/lock.* is locked by process .*apt-get install' "+home+"/progress.log")
			if _, err := n.lab.Exec(t.Context(), n.ids[0], "touch", "/run/go-on"); err != nil {
				why += err.Error()
			}
			failed <- why
		}()
		why := until(n.ids[1], "grep -s podman /var/lib/dpkg/status | grep -q '^Package: podman' && pgrep -x dpkg >/dev/null")
		if _, err := client.InstanceAction(t.Context(), core.InstanceActionRequest{InstanceId: &n.ids[1], Action: core.InstanceActionActionReset}); err != nil {
			why += err.Error()
		}
		failed <- why
	}()
	return func(t *testing.T) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 {
			select {
			case why := <-failed:
				if why != "" {
					t.Errorf("the set-up was not disturbed: %s", why)
				}
			case <-ctx.Done():
				t.Error("the set-up was not disturbed")
			}
		}
		progress := containertest.Run(t, n.lab, n.ids[0], "cat "+home+"/progress.log")
		for _, said := range []string{"is locked by process", "waiting for it to come back"} {
			if !strings.Contains(progress, said) {
				t.Errorf("the set-up did not say %q:\n%s", said, progress)
			}
		}
	}
}
