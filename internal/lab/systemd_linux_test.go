// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// TestSystemd boots instances whose init is systemd: cloud-init runs as its units, logins have sessions and
// service managers of their own, and services work.
func TestSystemd(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		if _, err := lab.Start(t.Context(), lab.Config{Init: lab.InitSystemd}); !errors.Is(err, lab.ErrUnsupported) {
			t.Errorf("a plain user's lab: %v", err)
		}
		return
	}
	l := start(t, lab.Config{Init: lab.InitSystemd})
	null, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, instances := cluster(t, l.Info, 2, userData)
	t.Logf("2 instances RUNNING after %s", time.Since(began).Round(time.Millisecond))
	bastion, config := dial(t, l.Info)
	for _, instance := range instances {
		id := *instance.Id
		if out := mustExec(t, l, id, "cloud-init", "status", "--wait"); !strings.HasSuffix(out, "status: done") {
			t.Errorf("cloud-init: %s\n%s", out, mustExec(t, l, id, "sh", "-c", "journalctl --no-pager | tail -n 50; cat /var/log/cloud-init.log"))
		}
		for command, want := range map[string]string{
			"ps -o comm= 1": "systemd", "cloud-init query cloud_name": "oracle", "cat /etc/written-by-cloud-init": "hello",
			"systemctl is-system-running --wait": "running", "systemctl is-enabled firewalld || true": "disabled",
			"timedatectl show --property=Timezone": "Timezone=Asia/Tokyo", "cat /var/tmp/runcmd": "root " + mustExec(t, l, id, "hostname"),
		} {
			if got := mustExec(t, l, id, "sh", "-c", command); got != want {
				t.Errorf("%s: %q, want %q\n%s", command, got, want, mustExec(t, l, id, "sh", "-c", "systemctl --failed; journalctl --no-pager -p warning"))
			}
		}
		if _, err := os.Stat("/dev/loop-control"); err == nil {
			if size := mustExec(t, l, id, "blockdev", "--getsize64", "/dev/nvme3n1"); size != "10737418240" {
				t.Errorf("an NVMe device has %s bytes", size)
			}
		}
		if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != null.Mode() {
			t.Fatalf("the machine's %s is now %v, %v", os.DevNull, after, err)
		}
		host := hop(t, bastion, *config, mustExec(t, l, id, "hostname", "-i"))
		for command, want := range map[string]string{
			"systemctl --user is-system-running --wait; loginctl enable-linger; loginctl show-user --property=Linger opc": "running\nLinger=yes",
			"systemd-run --user --quiet --wait --pipe cat /proc/self/loginuid >/dev/null && echo ran":                     "ran",
			"sudo systemd-run --quiet --wait --pipe systemctl show --property=Id ssh":                                     "Id=ssh.service",
		} {
			if got := shell(t, host, command); got != want {
				t.Errorf("%s: %q, want %q", command, got, want)
			}
		}
	}
	t.Logf("cloud-init done and all seen after %s", time.Since(began).Round(time.Millisecond))
}
