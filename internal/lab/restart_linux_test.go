// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// countedUserData leaves a line on the host's disk each time that cloud-init runs its modules.
const countedUserData = `#cloud-config
runcmd:
  - echo ran >> /root/runs
`

func waitCloudInit(t *testing.T, l *lab.Lab, host string) {
	t.Helper()
	mustExec(t, l, host, "sh", "-c", "until [ -e /run/cloud-init/result.json ]; do sleep 0.1; done")
}

// remembered is what a lab that goes on must not lose.
func remembered(t *testing.T, l *lab.Lab, host string) string {
	t.Helper()
	waitCloudInit(t, l, host)
	i := l.Info
	files, err := os.ReadFile(i.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{
		i.Endpoint, i.HTTPSEndpoint, i.TenancyOCID, i.UserOCID, i.CompartmentID, i.SubnetID, i.ImageID, i.Fingerprint, string(files),
		i.SSHAuthorizedKeys, i.BastionHostKey,
		mustExec(t, l, "bastion", "cat", "/etc/ssh/ssh_host_ed25519_key.pub"),
		mustExec(t, l, host, "cat", "/etc/ssh/ssh_host_ed25519_key.pub", "/etc/machine-id", "/etc/hostname", "/root/runs", "/home/opc/.ssh/authorized_keys"),
		mustExec(t, l, host, "sh", "-c", "cat /root/mine; [ ! -e /opt/oci-hpc ] && cat /opt/mine/file; ls -A /usr/games; stat -c %u:%a /home/opc/mine"),
	}, "\n")
}

// TestGoesOn kills a lab, and suspends it: each time it goes on with its region and its hosts' disks.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	cfg := lab.Config{Dir: filepath.Join(t.TempDir(), "lab"), Detached: true}
	l := start(t, cfg)
	network, instances := cluster(t, l.Info, 2, countedUserData)
	host := *instances[0].Id
	waitCloudInit(t, l, host)
	// An own directory in place of one of the machine's needs what overlays keep in extended attributes.
	mustExec(t, l, host, "sh", "-c", "echo mine > /root/mine; rm -rf /opt/oci-hpc /usr/games; mkdir -p /opt/mine /usr/games; echo file > /opt/mine/file; "+
		"echo x > /home/opc/mine; chown opc:opc /home/opc/mine; chmod 600 /home/opc/mine")
	before := remembered(t, l, host)

	t.Log("killed")
	pid := l.Info.PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the lab to end", func() bool { return syscall.Kill(pid, 0) != nil })
	if l = start(t, cfg); !l.GoesOn {
		t.Error("a new lab was started")
	}
	if after := remembered(t, l, host); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}

	t.Log("suspended")
	if err := l.Suspend(); err != nil {
		t.Fatal(err)
	}
	l = start(t, cfg)
	if after := remembered(t, l, host); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}

	t.Log("stopped and started")
	mustExec(t, l, host, "touch", "/run/before")
	compute := computeClient(t, l.Info)
	act := func(action core.InstanceActionActionEnum, state core.InstanceLifecycleStateEnum) {
		if _, err := compute.InstanceAction(t.Context(), core.InstanceActionRequest{InstanceId: &host, Action: action}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the instance to be "+string(state), func() bool {
			got, err := compute.GetInstance(t.Context(), core.GetInstanceRequest{InstanceId: &host})
			return err == nil && got.LifecycleState == state
		})
	}
	act(core.InstanceActionActionStop, core.InstanceLifecycleStateStopped)
	act(core.InstanceActionActionStart, core.InstanceLifecycleStateRunning)
	mustExec(t, l, host, "test", "!", "-e", "/run/before")
	if after := remembered(t, l, host); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}

	t.Log("terminated")
	client := management(t, l.Info)
	if _, err := client.TerminateClusterNetwork(t.Context(), core.TerminateClusterNetworkRequest{ClusterNetworkId: common.String(network)}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the disks to be removed", func() bool { return len(entries(t, filepath.Join(cfg.Dir, "disks"))) == 1 }) // the bastion's
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if left := strings.Join(entries(t, cfg.Dir), " "); left != "lab.log requests.log" {
		t.Errorf("left: %s", left)
	}
}

// TestRemove removes what a lab has left that was killed; of a plain user's lab, too.
func TestRemove(t *testing.T) {
	t.Parallel()
	cfg := lab.Config{Dir: filepath.Join(t.TempDir(), "lab"), Detached: true}
	l := start(t, cfg)
	mustExec(t, l, "bastion", "sh", "-c", "install -d -o opc -m 700 /home/opc/closed && touch /home/opc/closed/file")
	pid := l.Info.PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the lab to end", func() bool { return syscall.Kill(pid, 0) != nil })
	if err := lab.Remove(t.Context(), cfg.Dir); err != nil {
		t.Fatal(err)
	}
	if left := strings.Join(entries(t, cfg.Dir), " "); left != "lab.log requests.log" {
		t.Errorf("left: %s", left)
	}
	if err := lab.Remove(t.Context(), cfg.Dir); err == nil {
		t.Error("removed twice")
	}
}

// TestClock advances the clock of a slow lab.
func TestClock(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{Hosts: lab.HostsNone, TimeScale: 1})
	done := make(chan struct{})
	go func() {
		defer close(done)
		cluster(t, l.Info, 2, "")
	}()
	for {
		clock, err := l.Advance(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if clock.Elapsed < time.Hour || clock.Scale != 1 {
			t.Errorf("the clock shows %+v", clock)
		}
		select {
		case <-done:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func computeClient(t *testing.T, info lab.Info) core.ComputeClient {
	t.Helper()
	clientLock.Lock()
	defer clientLock.Unlock()
	provider, err := common.ConfigurationProviderFromFile(info.ConfigFile, "")
	if err != nil {
		t.Fatal(err)
	}
	client, err := core.NewComputeClientWithConfigurationProvider(provider)
	if err != nil {
		t.Fatal(err)
	}
	client.Host = info.Endpoint
	return client
}

// TestOpenDuringStart stops a lab that another process has not finished to start.
func TestOpenDuringStart(t *testing.T) {
	t.Parallel()
	cfg := lab.Config{Dir: filepath.Join(t.TempDir(), "lab"), Detached: true, Hosts: lab.HostsNone}
	if err := start(t, cfg).Suspend(); err != nil { // It leaves its description, with its process.
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() {
		_, err := lab.Start(t.Context(), cfg)
		started <- err
	}()
	var opened *lab.Lab
	for {
		var err error
		if opened, err = lab.Open(t.Context(), cfg.Dir); err == nil {
			break
		}
		if !errors.Is(err, lab.ErrNotRunning) {
			t.Fatal(err)
		}
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lab.Remove(t.Context(), cfg.Dir); !errors.Is(err, lab.ErrNotRunning) {
		t.Errorf("after the end, something is left: %v", err)
	}
	if err := <-started; err != nil {
		t.Logf("the start was ended before its last step: %v", err)
	}
}

// TestLogsGoOn keeps what was logged before a lab was killed, and says what to do about a damaged state.
func TestLogsGoOn(t *testing.T) {
	t.Parallel()
	cfg := lab.Config{Dir: filepath.Join(t.TempDir(), "lab"), Detached: true, Hosts: lab.HostsNone}
	for n := range 2 {
		l := start(t, cfg)
		response, err := http.Get(l.Info.Endpoint + "/20160918/unknown")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if err := l.Suspend(); err != nil {
			t.Fatal(err)
		}
		records := 0
		for _, err := range lab.Requests(t.Context(), cfg.Dir, false) {
			if err != nil {
				t.Fatal(err)
			}
			records++
		}
		if records != n+1 {
			t.Errorf("after %d requests, the log has %d", n+1, records)
		}
	}
	if _, err := lab.Open(t.Context(), cfg.Dir); !errors.Is(err, lab.ErrNotRunning) || !strings.Contains(err.Error(), "ocihpc-lab up") {
		t.Errorf("a suspended lab is said to be: %v", err)
	}
	database := filepath.Join(cfg.Dir, "region.db")
	for _, size := range []int64{20000, 1000} { // the one makes the database's own check panic, the other is refused
		if err := os.Truncate(database, size); err != nil {
			t.Fatal(err)
		}
		_, err := lab.Start(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), "--fresh") || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("a damaged state gives %v", err)
		}
	}
	cfg.Fresh = true
	if l := start(t, cfg); l.GoesOn {
		t.Error("the damaged lab goes on")
	}
}
