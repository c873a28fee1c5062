// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost/standin"
	nodecheck "github.com/ocihpc/terraform-provider-ocihpc/internal/node"
)

// checked is a host on which faults are made and looked for.
type checked struct {
	t    *testing.T
	l    *lab.Lab
	host string
}

const runnerOnHost = "/usr/local/bin/ocihpc-runner"

// check runs the real runner on the host. The exit status says the same as the checks.
func (c checked) check(flags ...string) map[string]job.Check {
	c.t.Helper()
	out, err := c.l.Exec(c.t.Context(), c.host, append([]string{runnerOnHost, "check", "--output", "json"}, flags...)...)
	var report nodecheck.Report
	if decoding := json.Unmarshal(out, &report); decoding != nil {
		c.t.Fatalf("%v: %v: %s", flags, err, out)
	}
	checks, failed := map[string]job.Check{}, false
	for _, check := range report.Checks {
		checks[check.Name] = check
		failed = failed || check.Outcome == job.Fail
	}
	if failed != (err != nil) {
		c.t.Errorf("%v: status %v, checks %+v", flags, err, report.Checks)
	}
	return checks
}

func TestChecks(t *testing.T) {
	t.Parallel()
	runner := filepath.Join(t.TempDir(), "ocihpc-runner")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", runner, "../../runner")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l := start(t, lab.Config{})
	_, instances := cluster(t, l.Info, 2, "#cloud-config\n")
	hosts := make([]checked, len(instances))
	for i, instance := range instances {
		hosts[i] = checked{t, l, *instance.Id}
		program, err := os.Open(runner)
		if err != nil {
			t.Fatal(err)
		}
		if status, err := l.ExecFiles(t.Context(), *instance.Id, []string{"sh", "-c", "cat > " + runnerOnHost + " && chmod 755 " + runnerOnHost}, program, os.Stderr, os.Stderr); err != nil || status != 0 {
			t.Fatalf("status %d, %v", status, err)
		}
		_ = program.Close()
		mustExec(t, l, *instance.Id, "cloud-init", "status", "--wait")
	}
	a, b := hosts[0], hosts[1]
	t.Run("traps", func(t *testing.T) { a.traps(t) })
	t.Run("healthy", func(t *testing.T) { a.healthy(t) })
	t.Run("faults", func(t *testing.T) { a.faults(t, faults) })
	t.Run("adapters", func(t *testing.T) { b.adapters(t) })
	t.Run("ports", func(t *testing.T) { ports(t, a, b) })
}

// healthy is what users of the lab see: no warning, and each thing that the lab cannot show is said once.
func (c checked) healthy(t *testing.T, flags ...string) {
	for name, check := range c.check(flags...) {
		switch {
		case name == "rdma_links", name == "clock", name == "gpu_xid", name == "topology":
			if check.Outcome != job.CannotTell && check.Outcome != job.Pass {
				t.Errorf("%+v", check)
			}
		case check.Outcome != job.Pass:
			t.Errorf("%+v", check)
		}
	}
}

// fault is made by a command, and undone by another; empty ones are of what the flags ask for.
type fault struct {
	check, make, undo string
	flags             []string
	outcome           job.Outcome
	says              string
}

// faults are made in rounds: those of one round at the same time, each of another check.
var faults = [][]fault{
	{
		{"cloud_init", "cp /run/cloud-init/status.json /run/keep; sed -i '0,/\"errors\": \\[\\]/s//\"errors\": [\"no such module\"]/' /run/cloud-init/status.json", "mv /run/keep /run/cloud-init/status.json", nil, job.Fail, "no such module"},
		{"boot_steps", `mkdir -p /var/lib/ocihpc; echo '{"step":"nvme","exit":5,"seconds":1,"message":"no drive"}' > /var/lib/ocihpc/status.ndjson`, "rm /var/lib/ocihpc/status.ndjson", nil, job.Fail, "step nvme failed with exit status 5 after 1 seconds: no drive"},
		{"timezone", "", "", []string{"--timezone", "Asia/Tokyo"}, job.Fail, "expected Asia/Tokyo"},
		{"mounts", "", "", []string{"--mount", "/mnt/nothing"}, job.Fail, "nothing is mounted on /mnt/nothing"},
		{"free_space", "mkdir -p /mnt/full; mount -t tmpfs -o size=1m none /mnt/full", "umount /mnt/full", []string{"--mount", "/mnt/full"}, job.Fail, "/mnt/full: 0.00 GiB free"},
		{"firewall", "", "", []string{"--firewall-off"}, job.Fail, "firewalld is active"},
		{"nccl_tests", "", "", []string{"--collective", "all_gather"}, job.Fail, "no program all_gather_perf"},
		{"rdma_links", "", "", nil, job.CannotTell, "this machine is not a BM.GPU4.8 itself"},
		{"gpu_count", "sed -i.keep 's/^count=.*/count=7/' /etc/ocihpc-lab-gpus", "mv /etc/ocihpc-lab-gpus.keep /etc/ocihpc-lab-gpus", nil, job.Fail, "7 GPUs, expected 8 (BM.GPU4.8)"},
		gpuFault("gpu_ecc", "3.ecc_errors/volatile/dram_uncorrectable=2", job.Fail, "GPU 3: 2 uncorrectable memory errors since the last reset"),
		gpuFault("gpu_row_remap", "3.remapped_rows/remapped_row_pending=Yes", job.Fail, "GPU 3: a memory row waits for a reset"),
		gpuFault("gpu_recovery", "3.gpu_recovery_action=Reset", job.Fail, "GPU 3: the driver asks for: Reset"),
		gpuFault("gpu_clocks", "3.applications_clocks/graphics_clock=700 MHz", job.Warn, "GPU 3: the application clock is 700 MHz, the default is 1000 MHz"),
		gpuFault("gpu_throttle", "3.clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown=Active", job.Fail, "GPU 3: hardware halves the clocks: too hot"),
		gpuFault("gpu_persistence", "*.persistence_mode=Disabled", job.Warn, "GPU 6: persistence mode is off"),
		gpuFault("gpu_pcie", "3.pci/pci_gpu_link_info/link_widths/current_link_width=8x", job.Fail, "GPU 3: the PCIe link has 8 lanes of 16"),
		gpuFault("nvlink", "3.nvlink/7=<inactive>", job.Fail, "GPU 3: 1 of 12 NVLinks are inactive"),
		gpuFault("fabric_manager", "3.fabric/state=In Progress", job.Fail, "GPU 3: not registered with fabric manager: In Progress"),
	},
	{
		{"free_space", "mount -t tmpfs -o ro none /mnt/full", "umount /mnt/full", []string{"--mount", "/mnt/full"}, job.Fail, "/mnt/full: the file system is read-only"},
		gpuFault("gpu_ecc", "3.ecc_errors/aggregate/dram_uncorrectable=2", job.Warn, "GPU 3: 2 uncorrectable memory errors before the last reset"),
		gpuFault("gpu_pcie", "3.pci/pci_gpu_link_info/pcie_gen/current_link_gen=3", job.Warn, "GPU 3: the PCIe link runs as generation 3 of 4"),
	},
	{
		{"firewall", noFirewalld + "mkdir -p /etc/ufw; mv /etc/ufw/ufw.conf /run/keep-ufw 2>/dev/null || true; echo ENABLED=yes > /etc/ufw/ufw.conf", "rm /etc/ufw/ufw.conf; mv /run/keep-ufw /etc/ufw/ufw.conf 2>/dev/null || true; systemctl start firewalld", []string{"--firewall-off"}, job.Fail, "ufw is enabled"},
		{"gpu_details", plainSMI, "umount $(command -v nvidia-smi)", nil, job.CannotTell, "no gpu_ecc"},
	},
	{
		{"firewall", noFirewalld + "iptables -A INPUT -p tcp --dport 9 -j REJECT", "iptables -F INPUT; systemctl start firewalld", []string{"--firewall-off"}, job.Fail, "filters incoming packets ("},
		{"gpu_count", "mv /etc/ocihpc-lab-gpus /etc/keep", "mv /etc/keep /etc/ocihpc-lab-gpus", []string{"--shape", "BM.GPU4.8"}, job.Fail, "couldn't communicate with the NVIDIA driver"},
	},
}

// noFirewalld has the host without the service that OCI's images have.
const noFirewalld = "systemctl stop firewalld\n"

// plainSMI has an nvidia-smi that does not know -q.
const plainSMI = `smi=$(command -v nvidia-smi); cp $smi /run/keep-smi
printf '#!/bin/sh\n[ "$1" != -q ] && exec /run/keep-smi "$@"; echo no such option; exit 2\n' > /run/plain-smi
chmod 755 /run/plain-smi; mount --bind /run/plain-smi $smi`

// gpuFault has the host's nvidia-smi tell it.
func gpuFault(check, line string, outcome job.Outcome, says string) fault {
	return fault{check, "echo '" + line + "' >> " + standin.GPUFilePath, "sed -i '$d' " + standin.GPUFilePath, nil, outcome, says}
}

func (c checked) faults(t *testing.T, rounds [][]fault) {
	for _, round := range rounds {
		var makes, undoes, flags []string
		for _, f := range round {
			makes, undoes, flags = append(makes, f.make), append(undoes, f.undo), append(flags, f.flags...)
		}
		slices.Reverse(undoes)
		mustExec(t, c.l, c.host, "sh", "-c", "set -e\n"+strings.Join(makes, "\n"))
		checks := c.check(flags...)
		mustExec(t, c.l, c.host, "sh", "-c", "set -e\n"+strings.Join(undoes, "\n"))
		for _, f := range round {
			check := checks[f.check]
			if check.Outcome != f.outcome || !strings.Contains(check.Message, f.says) || f.outcome != job.CannotTell && check.Advice == "" {
				t.Errorf("%s: %+v", f.check, check)
			}
		}
	}
}

// ports connects two hosts as the phase that checks nodes does, with a route that drops what goes back.
func ports(t *testing.T, a, b checked) {
	ctx, stop := context.WithCancel(t.Context())
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	silent, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer writer.Close()                                                                                      //nolint:errcheck // nothing is lost
		_, _ = b.l.ExecFiles(ctx, b.host, []string{runnerOnHost, "check", "--listen"}, silent, writer, os.Stderr) // it ends with ctx
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addressOf := func(c checked) string { return mustExec(t, c.l, c.host, "hostname", "-i") }
	target := net.JoinHostPort(addressOf(b), strings.TrimSpace(line))
	connect := func() nodecheck.Trial {
		out := mustExec(t, a.l, a.host, runnerOnHost, "check", "--output", "json", "--connect", target)
		var tried []nodecheck.Connection
		if err := json.Unmarshal([]byte(out), &tried); err != nil || len(tried) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		return nodecheck.Trial{From: "gpu-1", Connection: tried[0]}
	}
	if c := nodecheck.CheckPorts([]nodecheck.Trial{connect()}); c.Outcome != job.Pass {
		t.Errorf("%+v", c)
	}
	mustExec(t, b.l, b.host, "ip", "route", "add", "blackhole", addressOf(a)+"/32")
	if c := nodecheck.CheckPorts([]nodecheck.Trial{connect()}); c.Outcome != job.Fail || !strings.Contains(c.Message, "no connection from gpu-1 (of 1 nodes that tried) to "+target+": no answer within") {
		t.Errorf("%+v", c)
	}
}
