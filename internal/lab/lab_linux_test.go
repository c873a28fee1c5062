// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"golang.org/x/crypto/ssh"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// start starts a lab for a test. Only a machine that cannot have namespaces at all skips it.
func start(t testing.TB, cfg lab.Config) *lab.Lab {
	t.Helper()
	began := time.Now()
	l, err := lab.Start(t.Context(), cfg)
	if errors.Is(err, lab.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("up in %s", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(l.Info.Dir, "lab.log"))
			t.Logf("end of the lab's log:\n%s", text[max(0, len(text)-4000):])
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// cluster launches a cluster network of BM.GPU4.8 with the real SDK and waits until it is RUNNING.
func cluster(t testing.TB, info lab.Info, size int, userData string) (id string, instances []core.InstanceSummary) {
	t.Helper()
	client := management(t, info)
	ctx := t.Context()
	configuration, err := client.CreateInstanceConfiguration(ctx, core.CreateInstanceConfigurationRequest{
		CreateInstanceConfiguration: core.CreateInstanceConfigurationDetails{
			CompartmentId: &info.CompartmentID,
			InstanceDetails: core.ComputeInstanceDetails{LaunchDetails: &core.InstanceConfigurationLaunchInstanceDetails{
				CompartmentId: &info.CompartmentID, Shape: common.String("BM.GPU4.8"),
				Metadata: map[string]string{
					"ssh_authorized_keys": info.SSHAuthorizedKeys, "user_data": base64.StdEncoding.EncodeToString([]byte(userData)),
				},
				SourceDetails: core.InstanceConfigurationInstanceSourceViaImageDetails{ImageId: &info.ImageID},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	created, err := client.CreateClusterNetwork(ctx, core.CreateClusterNetworkRequest{
		CreateClusterNetworkDetails: core.CreateClusterNetworkDetails{
			CompartmentId: &info.CompartmentID, DisplayName: common.String("gpu"),
			InstancePools: []core.CreateClusterNetworkInstancePoolDetails{{
				InstanceConfigurationId: configuration.Id, Size: &size, DisplayName: common.String("gpu"),
			}},
			PlacementConfiguration: &core.ClusterNetworkPlacementConfigurationDetails{
				AvailabilityDomain: &info.AvailabilityDomain, PrimarySubnetId: &info.SubnetID,
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the cluster network to run", func() bool {
		got, err := client.GetClusterNetwork(ctx, core.GetClusterNetworkRequest{ClusterNetworkId: created.Id})
		if err != nil {
			t.Fatal(err)
		}
		return got.LifecycleState == core.ClusterNetworkLifecycleStateRunning
	})
	list, err := client.ListClusterNetworkInstances(ctx, core.ListClusterNetworkInstancesRequest{
		CompartmentId: &info.CompartmentID, ClusterNetworkId: created.Id,
	})
	if err != nil {
		t.Fatal(err)
	}
	return *created.Id, list.Items
}

// clientLock makes clients one at a time: the SDK's region table has no lock of its own.
var clientLock sync.Mutex

func management(t testing.TB, info lab.Info) core.ComputeManagementClient {
	t.Helper()
	clientLock.Lock()
	defer clientLock.Unlock()
	provider, err := common.ConfigurationProviderFromFile(info.ConfigFile, "")
	if err != nil {
		t.Fatal(err)
	}
	client, err := core.NewComputeManagementClientWithConfigurationProvider(provider)
	if err != nil {
		t.Fatal(err)
	}
	client.Host = info.Endpoint
	return client
}

// waitFor polls a condition until the test's own deadline.
func waitFor(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func mustExec(t testing.TB, l *lab.Lab, host string, argv ...string) string {
	t.Helper()
	out, err := l.Exec(t.Context(), host, argv...)
	if err != nil {
		t.Fatalf("%s: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// dial logs in to the bastion as a client on this machine does, checking its host key.
func dial(t *testing.T, info lab.Info) (*ssh.Client, *ssh.ClientConfig) {
	t.Helper()
	key, err := os.ReadFile(info.SSHPrivateKeyPath)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey([]byte(info.BastionHostKey))
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ClientConfig{
		User: info.BastionUser, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.FixedHostKey(hostKey), HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	}
	bastion, err := ssh.Dial("tcp", net.JoinHostPort(info.BastionHost, fmt.Sprint(info.BastionPort)), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bastion.Close() })
	return bastion, config
}

// hop logs in to a host through the bastion, whatever host key it shows.
func hop(t *testing.T, bastion *ssh.Client, config ssh.ClientConfig, address string) *ssh.Client {
	t.Helper()
	config.HostKeyCallback = ssh.InsecureIgnoreHostKey()
	tunnel, err := bastion.DialContext(t.Context(), "tcp", net.JoinHostPort(address, "22"))
	if err != nil {
		t.Fatal(err)
	}
	conn, channels, requests, err := ssh.NewClientConn(tunnel, address, &config)
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(conn, channels, requests)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func shell(t *testing.T, client *ssh.Client, line string) string {
	t.Helper()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	out, err := session.CombinedOutput(line)
	if err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	return strings.TrimSpace(string(out))
}

const userData = `#cloud-config
timezone: Asia/Tokyo
write_files:
  - path: /etc/written-by-cloud-init
    content: "hello"
packages: [sudo]
runcmd:
  - [/usr/libexec/oci-growfs, -y]
  - systemctl disable --now firewalld
  - echo "$(id -un) $(hostname)" > /var/tmp/runcmd
`

func TestHosts(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{})
	began := time.Now()
	id, instances := cluster(t, l.Info, 2, userData)
	t.Logf("2 instances RUNNING after %s", time.Since(began).Round(time.Millisecond))
	if len(instances) != 2 {
		t.Fatalf("%d instances, want 2", len(instances))
	}
	a, b := *instances[0].Id, *instances[1].Id
	hostname := mustExec(t, l, a, "hostname")
	address := mustExec(t, l, a, "hostname", "-i")
	if out := mustExec(t, l, a, "cloud-init", "status", "--wait"); !strings.HasSuffix(out, "status: done") {
		t.Errorf("cloud-init: %s\n%s", out, mustExec(t, l, a, "cat", "/var/log/cloud-init-output.log", "/var/log/cloud-init.log"))
	}
	t.Logf("cloud-init done after %s", time.Since(began).Round(time.Millisecond))
	mustExec(t, l, b, "cloud-init", "status", "--wait")

	t.Run("identity", func(t *testing.T) {
		if !regexp.MustCompile(`^inst-[a-z0-9]{5}-gpu$`).MatchString(hostname) {
			t.Errorf("host name %q", hostname)
		}
		if !strings.HasPrefix(address, "10.0.64.") {
			t.Errorf("address %q is not in the private subnet", address)
		}
		if other := mustExec(t, l, b, "getent", "hosts", hostname); !strings.HasPrefix(other, address) {
			t.Errorf("the other host resolves %s to %q, want %s", hostname, other, address)
		}
	})
	t.Run("ssh", func(t *testing.T) {
		bastion, config := dial(t, l.Info)
		host := hop(t, bastion, *config, address)
		if got := shell(t, host, "echo $(id -un) $(sudo id -un) $(hostname)"); got != "opc root "+hostname {
			t.Errorf("got %q", got)
		}
		if got := shell(t, bastion, "sudo hostname"); got != "bastion" {
			t.Errorf("the bastion calls itself %q", got)
		}
		config.Timeout = time.Second
		if _, err := ssh.Dial("tcp", net.JoinHostPort(address, "22"), config); err == nil {
			t.Error("the host can be reached without the bastion")
		}
	})
	t.Run("cloud-init", func(t *testing.T) {
		for _, check := range []struct{ command, want string }{
			{"cat /etc/written-by-cloud-init", "hello"},
			{"cat /var/tmp/runcmd", "root " + hostname},
			{"date +%Z", "JST"},
			{"systemctl is-active firewalld || true", "inactive"},
			{"systemctl is-active sshd", "active"},
			{"cloud-init query cloud_name", "oracle"},
			{"grep -c 'oci-growfs (lab)' /var/log/cloud-init-output.log", "1"},
		} {
			if got := mustExec(t, l, a, "sh", "-c", check.command); got != check.want {
				t.Errorf("%s: %q, want %q", check.command, got, check.want)
			}
		}
	})
	t.Run("metadata", func(t *testing.T) {
		const ask = "python3 -c 'import sys,urllib.request,urllib.error as e\n" +
			"try: print(urllib.request.urlopen(urllib.request.Request(\"http://169.254.169.254/opc/\"+sys.argv[1],headers=dict(h.split(\": \") for h in sys.argv[2:]))).read().decode())\n" +
			"except e.HTTPError as x: print(x.code)' "
		for _, check := range []struct{ arguments, want string }{
			{"v2/instance/id 'Authorization: Bearer Oracle'", a},
			{"v2/instance/metadata/ssh_authorized_keys 'Authorization: Bearer Oracle'", l.Info.SSHAuthorizedKeys},
			{"v2/vnics/0/privateIp 'Authorization: Bearer Oracle'", address},
			{"v2/instance/shape 'Authorization: Bearer Oracle'", "BM.GPU4.8"},
			{"v2/instance/nothing 'Authorization: Bearer Oracle'", "404"},
			{"v2/instance/", "403"},
			{"v2/instance/ 'Authorization: Bearer Oracle' 'X-Forwarded-For: 1.2.3.4'", "403"},
			{"v1/instance/", "404"},
		} {
			if got := mustExec(t, l, a, "sh", "-c", ask+check.arguments); got != check.want {
				t.Errorf("%s: %q, want %q", check.arguments, got, check.want)
			}
		}
	})
	t.Run("gpus", func(t *testing.T) {
		listed := mustExec(t, l, a, "nvidia-smi", "-L")
		if strings.Count(listed, "lab") != 8 {
			t.Errorf("want 8 lab GPUs:\n%s", listed)
		}
	})
	t.Run("the tutorials' volume", func(t *testing.T) {
		needLoopDevices(t)
		out := mustExec(t, l, a, "sh", "-ec", `vgcreate nvme /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1
			lvcreate -l 100%FREE nvme
			mkfs.xfs -q -L localscratch /dev/nvme/lvol0
			mkdir -p /mnt/localdisk
			echo 'LABEL=localscratch /mnt/localdisk/ xfs defaults,noatime 0 0' >>/etc/fstab
			mount /mnt/localdisk
			findmnt -n -o FSTYPE /mnt/localdisk`)
		if !strings.Contains(out, "(lab stand-in): nvme/lvol0 is at /dev/nvme/lvol0") || !strings.HasSuffix(out, "\nxfs") {
			t.Error(out)
		}
	})
	t.Run("host key changes", func(t *testing.T) {
		bastion, config := dial(t, l.Info)
		mustExec(t, l, b, "sh", "-c", "rm /etc/ssh/ssh_host_ed25519_key* && ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key && systemctl restart sshd")
		changed, _, _, _, err := ssh.ParseAuthorizedKey([]byte(mustExec(t, l, b, "cat", "/etc/ssh/ssh_host_ed25519_key.pub")))
		if err != nil {
			t.Fatal(err)
		}
		other := mustExec(t, l, b, "hostname", "-i")
		waitFor(t, "sshd to show its new key", func() bool {
			tunnel, err := bastion.DialContext(t.Context(), "tcp", net.JoinHostPort(other, "22"))
			if err != nil {
				return false // sshd is between its two lives
			}
			defer func() { _ = tunnel.Close() }()
			strict := *config
			strict.HostKeyCallback = ssh.FixedHostKey(changed)
			_, _, _, err = ssh.NewClientConn(tunnel, other, &strict)
			return err == nil
		})
	})
	t.Run("machine shows nothing of the lab", func(t *testing.T) {
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(mounts), "/tmp/hosts") {
			t.Errorf("mounts:\n%s", mounts)
		}
		interfaces, err := net.Interfaces()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range interfaces {
			if strings.HasPrefix(i.Name, "subnet") || i.Name == "v0" {
				t.Errorf("interface %s of the lab is the machine's", i.Name)
			}
		}
	})
	t.Run("machine is hidden", func(t *testing.T) {
		before, err := os.Stat(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = l.Exec(t.Context(), a, "chmod", "600", os.DevNull) // A user namespace refuses it.
		if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != before.Mode() {
			t.Errorf("a host changed the machine's %s: %v, %v", os.DevNull, after, err)
			_ = os.Chmod(os.DevNull, before.Mode())
		}
		_, _ = l.Exec(t.Context(), a, "chmod", "666", os.DevNull)
		for _, path := range []string{l.Info.Dir, "/etc/ssh/ssh_host_rsa_key", "/root/.bashrc"} {
			if _, err := l.Exec(t.Context(), a, "test", "!", "-e", path); err != nil {
				t.Errorf("%s of the machine is on the host", path)
			}
		}
		for _, command := range []string{"echo 1 > /proc/sys/vm/overcommit_memory", "date -s 2001-01-01", "echo 1 > /sys/kernel/mm/ksm/run"} {
			if out, err := l.Exec(t.Context(), a, "sh", "-c", command); err == nil {
				t.Errorf("%s worked: %s", command, out)
			}
		}
	})
	t.Run("mpirun", func(t *testing.T) { testMPI(t, l, []string{a, b}) })
	t.Run("exec", func(t *testing.T) {
		if got := mustExec(t, l, hostname, "hostname"); got != hostname {
			t.Errorf("a command for host %s ran on %s", hostname, got)
		}
		var exit *lab.ExitError
		if _, err := l.Exec(t.Context(), a, "sh", "-c", "echo why >&2; exit 7"); !errors.As(err, &exit) || exit.Status != 7 || string(exit.Stderr) != "why\n" {
			t.Errorf("got %v", err)
		}
		if _, err := l.Exec(t.Context(), "ocid1.instance.none", "true"); err == nil {
			t.Error("a command ran on a host that does not exist")
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if _, err := l.Exec(ctx, a, "sleep", "1000"); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled command gives %v", err)
		}
		waitFor(t, "the command to end", func() bool {
			_, err := l.Exec(t.Context(), a, "pgrep", "-x", "sleep")
			return errors.As(err, &exit)
		})
	})
	t.Run("status", func(t *testing.T) {
		status, err := l.Status(t.Context())
		if err != nil || len(status.InstanceList) != 2 {
			t.Fatalf("status %+v, %v", status, err)
		}
		want := lab.InstanceStatus{ID: a, Hostname: hostname, PrivateIP: netip.MustParseAddr(address), Shape: "BM.GPU4.8", State: "RUNNING"}
		if !slices.Contains(status.InstanceList, want) {
			t.Errorf("instances %+v, want %+v among them", status.InstanceList, want)
		}
		if n := status.NVMe; n.Expected != 8 || (n.Attached == 8) != (n.Less == "") || (os.Geteuid() != 0 && n.Attached > 0) {
			t.Errorf("NVMe devices %+v", n)
		}
	})
	t.Run("terminate", func(t *testing.T) {
		client := management(t, l.Info)
		if _, err := client.TerminateClusterNetwork(t.Context(), core.TerminateClusterNetworkRequest{ClusterNetworkId: &id}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the hosts to go", func() bool {
			status, err := l.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(status.Hosts) == 0 && status.Instances == 0
		})
	})
}

// testMPI runs the stand-in benchmark over both hosts, with a key that opc has on the first one.
func testMPI(t *testing.T, l *lab.Lab, ids []string) {
	mustExec(t, l, ids[0], "runuser", "-u", "opc", "--", "sh", "-c", "mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519")
	public := mustExec(t, l, ids[0], "cat", "/home/opc/.ssh/id_ed25519.pub")
	var names []string
	for _, id := range ids {
		mustExec(t, l, id, "sh", "-c", "echo '"+public+"' >> /home/opc/.ssh/authorized_keys")
		names = append(names, mustExec(t, l, id, "hostname")+":8")
	}
	began := time.Now()
	out := mustExec(t, l, ids[0], "runuser", "-u", "opc", "--", "mpirun", "--mca", "plm_rsh_args", "-o StrictHostKeyChecking=accept-new",
		"-np", "16", "--host", strings.Join(names, ","), "/opt/oci-hpc/nccl-test/build/all_reduce_perf", "-b", "8", "-e", "64K", "-f", "2", "-n", "2", "-w", "1")
	t.Logf("16 ranks on 2 hosts in %s:\n%s", time.Since(began).Round(time.Millisecond), out)
	if !strings.Contains(out, "Out of bounds values : 0 OK") || strings.Count(out, "lab") < 16 {
		t.Errorf("unexpected output")
	}
}

// TestKilled kills the lab's process without warning: nothing of it may be left on the machine.
func TestKilled(t *testing.T) {
	t.Parallel()
	l := start(t, lab.Config{})
	cluster(t, l.Info, 2, userData)
	inside := processesOf(t, l.Info.PID)
	if len(inside) < 4 { // the lab, the bastion, two hosts
		t.Fatalf("processes of the lab: %v", inside)
	}
	if err := syscall.Kill(l.Info.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "all processes to end", func() bool {
		for _, pid := range inside {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); !errors.Is(err, fs.ErrNotExist) {
				return false
			}
		}
		return true
	})
	if _, err := lab.Open(t.Context(), l.Info.Dir); !errors.Is(err, lab.ErrNotRunning) {
		t.Errorf("open: %v", err)
	}
}

// TestStarterKilled kills the process that starts a lab, at moments of the start: no lab is left, and
// where one ran already, it takes the files for clients away.
func TestStarterKilled(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("LAB_TEST_STARTER"); dir != "" { // the process to kill
		start(t, lab.Config{Dir: dir})
		<-t.Context().Done()
		return
	}
	for _, moment := range []string{"api_key.pem", "lab.log", "info.json"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "lab")
			exists := func() bool {
				_, err := os.Stat(filepath.Join(dir, moment))
				return err == nil
			}
			starter := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStarterKilled$", "-test.v")
			starter.Env = append(os.Environ(), "LAB_TEST_STARTER="+dir)
			var output bytes.Buffer
			starter.Stdout, starter.Stderr = &output, &output
			if err := starter.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- starter.Wait() }()
			waitFor(t, moment, func() bool { return exists() || len(ended) > 0 })
			if err := starter.Process.Kill(); errors.Is(err, os.ErrProcessDone) && strings.Contains(output.String(), "--- SKIP") {
				t.Skip(&output)
			}
			if err := <-ended; err == nil {
				t.Fatalf("the starter ended by itself:\n%s", &output)
			}
			if moment == "info.json" {
				waitFor(t, "the files to go", func() bool { return !exists() })
			}
			waitFor(t, "the lab to end", func() bool {
				again, err := lab.Start(t.Context(), lab.Config{Dir: dir, Hosts: lab.HostsNone, Fresh: true})
				return err == nil && again.Close() == nil
			})
		})
	}
}

// processesOf lists a process and all that descend from it.
func processesOf(t *testing.T, root int) []int {
	t.Helper()
	found := []int{root}
	for i := 0; i < len(found); i++ {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", found[i]))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			text, _ := os.ReadFile(task)
			for _, word := range strings.Fields(string(text)) {
				var pid int
				if _, err := fmt.Sscan(word, &pid); err == nil {
					found = append(found, pid)
				}
			}
		}
	}
	return found
}

func TestStateDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lab")
	l := start(t, lab.Config{Dir: dir, Detached: true, Hosts: lab.HostsNone})
	if _, err := lab.Start(t.Context(), lab.Config{Dir: dir, Hosts: lab.HostsNone}); !errors.Is(err, lab.ErrRunning) {
		t.Errorf("a second lab: %v", err)
	}
	opened, err := lab.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if opened.Info != l.Info {
		t.Errorf("opened %+v, started %+v", opened.Info, l.Info)
	}
	_, instances := cluster(t, l.Info, 3, "#cloud-config\n")
	if status, err := opened.Status(t.Context()); err != nil || status.Instances != 3 || len(instances) != 3 {
		t.Errorf("status %+v, %v", status, err)
	}
	network := core.VirtualNetworkClient{BaseClient: management(t, l.Info).BaseClient}
	subnet, err := network.GetSubnet(t.Context(), core.GetSubnetRequest{SubnetId: &l.Info.SubnetID})
	if err != nil {
		t.Fatal(err)
	}
	if room := netip.MustParsePrefix(*subnet.CidrBlock); room.Bits() > 19 {
		t.Errorf("the private subnet, %s, has no room for 4,000 instances", room)
	}
	_, err = network.ListDrgs(t.Context(), core.ListDrgsRequest{CompartmentId: &l.Info.CompartmentID})
	if answer, ok := common.IsServiceError(err); !ok || answer.GetHTTPStatusCode() != http.StatusNotImplemented {
		t.Errorf("what is not simulated gives %v", err)
	}
	if status, err := opened.Status(t.Context()); err != nil || status.Unknown["GET /20160918/drgs"] != 1 {
		t.Errorf("not simulated: %v (%v)", status.Unknown, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file.Name(), info.Mode(), err)
		}
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Open(t.Context(), dir); !errors.Is(err, lab.ErrNotRunning) {
		t.Errorf("open after the end: %v", err)
	}
}

// TestPlainUser runs TestHosts as a user without privileges, who has subordinate IDs. The user exists
// only in a mount namespace of its own.
func TestPlainUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the tests run as a plain user already")
	}
	if _, err := exec.LookPath("newuidmap"); err != nil {
		t.Skip(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	for name, line := range map[string]string{
		"passwd": "labuser:x:54321:54321::/tmp:/bin/sh\n", "group": "labuser:x:54321:\n",
		"subuid": "labuser:600000:65536\n", "subgid": "labuser:600000:65536\n",
	} {
		machine, err := os.ReadFile(filepath.Join("/etc", name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(files, name), append(machine, line...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := `set -e
mount -t tmpfs tmpfs /mnt
touch /mnt/lab.test
mount --bind "$1" /mnt/lab.test
cd "$2"
for file in *; do
	[ -e /etc/$file ] || touch /etc/$file
	mount --bind $file /etc/$file
done
cd /mnt
exec setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps=-all \
	env -i PATH=/usr/bin:/bin HOME=/tmp /mnt/lab.test -test.run='^(TestHosts|TestKilled|TestSecurityGroups|TestGoesOn|TestRemove)$' -test.v`
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", binary, files)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestHosts") {
		t.Fatalf("%v:\n%s", err, out)
	}
	t.Logf("as a plain user:\n%s", out)
}

// BenchmarkBoot measures hosts from the API call to RUNNING and to the end of cloud-init on all of them.
func BenchmarkBoot(b *testing.B) {
	for _, size := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				l := start(b, lab.Config{})
				began := time.Now()
				_, instances := cluster(b, l.Info, size, userData)
				b.ReportMetric(time.Since(began).Seconds(), "s/running")
				for _, instance := range instances {
					mustExec(b, l, *instance.Id, "sh", "-c", "until [ -e /run/cloud-init/result.json ]; do sleep 0.1; done")
				}
				b.ReportMetric(time.Since(began).Seconds(), "s/cloud-init")
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
