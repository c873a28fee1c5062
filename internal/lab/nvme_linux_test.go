// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/cloudinit"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// nvmeNode is a host of a shape with local NVMe devices, through its lives.
type nvmeNode struct {
	t       *testing.T
	lab     *lab.Lab
	compute core.ComputeClient
	id      string
}

// newNVMeNode launches an instance with the user data of a config and waits for the end of its set-up.
func newNVMeNode(t *testing.T, l *lab.Lab, config cloudinit.Config) *nvmeNode {
	t.Helper()
	config.Shape, config.Timezone = "BM.GPU4.8", "Asia/Tokyo"
	out := cloudinit.Render(config)
	n := &nvmeNode{t: t, lab: l, compute: computeClient(t, l.Info)}
	launched, err := n.compute.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: core.LaunchInstanceDetails{
		CompartmentId: &l.Info.CompartmentID, AvailabilityDomain: &l.Info.AvailabilityDomain, Shape: &config.Shape,
		Metadata:          map[string]string{"ssh_authorized_keys": l.Info.SSHAuthorizedKeys, "user_data": out.GzipBase64()},
		SourceDetails:     core.InstanceSourceViaImageDetails{ImageId: &l.Info.ImageID},
		CreateVnicDetails: &core.CreateVnicDetails{SubnetId: &l.Info.SubnetID},
	}})
	if err != nil {
		t.Fatal(err)
	}
	n.id = *launched.Id
	n.rests(core.InstanceLifecycleStateRunning)
	return n
}

// rests waits for a state of the instance; for the end of cloud-init, too, where it runs.
func (n *nvmeNode) rests(state core.InstanceLifecycleStateEnum) {
	n.t.Helper()
	waitFor(n.t, "the instance to be "+string(state), func() bool {
		got, err := n.compute.GetInstance(n.t.Context(), core.GetInstanceRequest{InstanceId: &n.id})
		return err == nil && got.LifecycleState == state
	})
	if state == core.InstanceLifecycleStateRunning {
		waitCloudInit(n.t, n.lab, n.id)
	}
}

func (n *nvmeNode) run(line string) string {
	n.t.Helper()
	return mustExec(n.t, n.lab, n.id, "sh", "-c", line)
}

// reboot stops and starts the host.
func (n *nvmeNode) reboot() {
	n.t.Helper()
	for _, step := range []struct {
		action core.InstanceActionActionEnum
		state  core.InstanceLifecycleStateEnum
	}{
		{core.InstanceActionActionSoftstop, core.InstanceLifecycleStateStopped},
		{core.InstanceActionActionStart, core.InstanceLifecycleStateRunning},
	} {
		if _, err := n.compute.InstanceAction(n.t.Context(), core.InstanceActionRequest{InstanceId: &n.id, Action: step.action}); err != nil {
			n.t.Fatal(err)
		}
		n.rests(step.state)
	}
}

// reimage gives the instance a boot volume of another image.
func (n *nvmeNode) reimage() {
	n.t.Helper()
	images, err := n.compute.ListImages(n.t.Context(), core.ListImagesRequest{CompartmentId: &n.lab.Info.CompartmentID,
		Shape: common.String("BM.GPU4.8"), OperatingSystem: common.String("Oracle Linux"), Limit: common.Int(1)})
	if err != nil || len(images.Items) == 0 {
		n.t.Fatalf("no other image: %v", err)
	}
	before := n.run("cat /etc/machine-id")
	_, err = n.compute.UpdateInstance(n.t.Context(), core.UpdateInstanceRequest{InstanceId: &n.id, UpdateInstanceDetails: core.UpdateInstanceDetails{
		SourceDetails: core.UpdateInstanceSourceViaImageDetails{ImageId: images.Items[0].Id}}})
	if err != nil {
		n.t.Fatal(err)
	}
	n.rests(core.InstanceLifecycleStateRunning)
	if n.run("cat /etc/machine-id") == before {
		n.t.Error("the host has its old disk")
	}
}

// status is what the steps of the last boot wrote.
func (n *nvmeNode) status() []job.BootStep {
	n.t.Helper()
	var steps []job.BootStep
	for line := range strings.Lines(n.run("cat " + job.BootStatusPath)) {
		var s job.BootStep
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			n.t.Fatalf("status %q: %v", line, err)
		}
		steps = append(steps, s)
	}
	return steps
}

// isSetUp checks what a complete boot leaves.
func (n *nvmeNode) isSetUp(steps, mounts []string) {
	n.t.Helper()
	var done []string
	for _, s := range n.status() {
		if s.Exit == 0 {
			done = append(done, s.Step)
		}
	}
	if !slices.Equal(done, steps) {
		n.t.Errorf("steps %q, want %q; log:\n%s", done, steps, n.run("cat "+job.BootLogPath))
	}
	for _, mount := range mounts {
		if got := n.run("findmnt -n -o FSTYPE " + mount + " || true"); got != "xfs" {
			n.t.Errorf("%s has the file system %q; log:\n%s", mount, got, n.run("cat "+job.BootLogPath))
		}
	}
	if zone := n.run("date +%Z"); zone != "JST" {
		n.t.Errorf("time zone %s", zone)
	}
	if got := n.run("cloud-init status"); got != "status: done" {
		n.t.Errorf("cloud-init: %s", got)
	}
}

func needLoopDevices(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/dev/loop-control"); err != nil || os.Geteuid() != 0 {
		t.Skipf("loop devices need root and a kernel that has them: %v", err)
	}
}

// TestNVMe boots hosts by the real cloud-init with each way of joining NVMe devices, reboots them, and gives
// them a new boot volume: the file system and what is on it stay.
func TestNVMe(t *testing.T) {
	t.Parallel()
	needLoopDevices(t)
	cfg := lab.Config{Dir: filepath.Join(t.TempDir(), "lab"), Detached: true}
	l := start(t, cfg)
	var last *nvmeNode
	t.Run("layouts", func(t *testing.T) {
		for name, c := range map[string]struct {
			nvme    cloudinit.NVMe
			steps   []string
			mounts  []string
			standIn string // the command that says that it is one
		}{
			"lvm":      {cloudinit.NVMe{Layout: cloudinit.LVM}, []string{"nvme", "ready"}, []string{"/mnt/localdisk"}, "vgchange"},
			"raid0":    {cloudinit.NVMe{Layout: cloudinit.RAID0, ContainerStorage: true}, []string{"nvme", "container_storage", "ready"}, []string{"/mnt/localdisk", "/var/lib/docker"}, "mdadm"},
			"per_disk": {cloudinit.NVMe{Layout: cloudinit.PerDisk}, []string{"nvme", "ready"}, []string{"/mnt/localdisk/disk0", "/mnt/localdisk/disk3"}, ""},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n := newNVMeNode(t, l, cloudinit.Config{NVMe: &c.nvme})
				check := func() {
					t.Helper()
					n.isSetUp(c.steps, c.mounts)
					if c.standIn != "" && !strings.Contains(n.run("cat "+job.BootLogPath), c.standIn+" (lab stand-in)") {
						t.Errorf("the log does not say that %s is a stand-in", c.standIn)
					}
				}
				check()
				marker := c.mounts[len(c.mounts)-1] + "/marker"
				n.run("echo kept > " + marker)
				table := n.run("cat /etc/fstab")
				for _, begin := range []func(){n.reboot, n.reimage} {
					begin()
					check()
					if got := n.run("cat " + marker + " /etc/fstab"); got != "kept\n"+table {
						t.Errorf("%q, want %q after the marker", got, table)
					}
				}
				if name == "lvm" {
					last = n
				}
			})
		}
	})
	if last == nil {
		return
	}
	t.Run("killed", func(t *testing.T) { testNVMeFreed(t, cfg, last.id) })
}

// testNVMeFreed kills a lab: the kernel frees its loop devices, and the lab goes on with what was on them.
func testNVMeFreed(t *testing.T, cfg lab.Config, host string) {
	opened, err := lab.Open(t.Context(), cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(cfg.Dir, "disks", "*.nvme", "*"))
	if err != nil || len(files) != 12 {
		t.Fatalf("files behind devices: %q, %v", files, err)
	}
	if !locked(t, files[0]) {
		t.Error("the device of a running host has not locked its file")
	}
	if err := syscall.Kill(opened.Info.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the devices to be free", func() bool {
		return !slices.ContainsFunc(files, func(file string) bool { return locked(t, file) })
	})
	l := start(t, cfg)
	n := &nvmeNode{t: t, lab: l, compute: computeClient(t, l.Info), id: host}
	n.rests(core.InstanceLifecycleStateRunning)
	n.isSetUp([]string{"nvme", "ready"}, []string{"/mnt/localdisk"})
	if got := n.run("cat /mnt/localdisk/marker"); got != "kept" {
		t.Errorf("marker %q", got)
	}
	status, err := l.Status(t.Context())
	if want := (lab.NVMeStatus{Expected: 12, Attached: 12}); err != nil || status.NVMe != want {
		t.Errorf("%+v, %v", status.NVMe, err)
	}
}

// locked says whether a loop device has a file.
func locked(t *testing.T, path string) bool {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Fatal(err)
	}
	return err != nil
}

// TestFailedStep shows a failed step in the runner's check, with what it printed and what to do.
func TestFailedStep(t *testing.T) {
	t.Parallel()
	needLoopDevices(t)
	runner := filepath.Join(t.TempDir(), "ocihpc-runner")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", runner, "../../runner")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the runner: %v: %s", err, out)
	}
	l := start(t, lab.Config{})
	n := newNVMeNode(t, l, cloudinit.Config{NVMe: &cloudinit.NVMe{}, Bootcmd: []string{"[ -e /etc/once ] || mkfs.ext4 -q /dev/nvme2n1; touch /etc/once"}})
	install(t, l, n.id, runner)
	const check = "ocihpc-runner check --cloud-init-wait 60 --mount /mnt/localdisk"
	const why = "/dev/nvme2n1 holds ext4: if nothing on it is needed, run wipefs --all /dev/nvme2n1 and reboot"
	found := n.run(check + " && exit 1; [ $? = 1 ] || exit 2")
	for _, want := range []string{"step nvme failed with exit status 1", why, "sudo less " + job.BootLogPath} {
		if !strings.Contains(found, want) {
			t.Errorf("the check does not say %q:\n%s", want, found)
		}
	}
	if got := n.run("cloud-init status || true"); got != "status: error" {
		t.Errorf("cloud-init: %s", got)
	}

	// What the message says to do is enough.
	n.run("wipefs --all /dev/nvme2n1")
	n.reboot()
	n.isSetUp([]string{"bootcmd_1", "nvme", "ready"}, []string{"/mnt/localdisk"})
	if found := n.run(check); !strings.Contains(found, "steps in") {
		t.Errorf("the check of a node that is set up:\n%s", found)
	}
}

// install puts a program on a host.
func install(t *testing.T, l *lab.Lab, host, program string) {
	t.Helper()
	file, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	to := "/usr/local/bin/" + filepath.Base(program)
	status, err := l.ExecFiles(t.Context(), host, []string{"sh", "-c", "cat >" + to + " && chmod 755 " + to}, file, os.Stderr, os.Stderr)
	if err != nil || status != 0 {
		t.Fatalf("install %s: status %d, %v", program, status, err)
	}
}
