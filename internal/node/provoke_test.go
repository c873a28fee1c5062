// SPDX-License-Identifier: MPL-2.0

package node

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// provocation makes one check of a healthy node not pass.
type provocation struct {
	check   string
	makes   func(*recording)
	outcome job.Outcome
	says    string // part of the message
	advises string // part of the advice
}

const gpu3 = 3

var provocations = []provocation{
	{"cloud_init", func(r *recording) { r.facts.CloudInit = "error" }, job.Fail, "ended with an error", "cloud-init status"},
	{"cloud_init", func(r *recording) { r.facts.CloudInit = "running" }, job.Warn, "cloud-init is running", "--wait"},
	{"clock", func(r *recording) { r.clock.synchronised = false }, job.Warn, "no time service", "chronyc"},
	{"clock", func(r *recording) { r.clock.off = 3 * time.Second }, job.Warn, "3s off from 169.254.169.254", "chronyc"},
	{"clock", func(r *recording) { r.clock = clock{} }, job.CannotTell, "container", "host"},
	{"timezone", func(r *recording) { r.request.Checks.Timezone = "Asia/Tokyo" }, job.Fail, "is UTC, expected Asia/Tokyo", "set-timezone Asia/Tokyo"},
	{"mounts", func(r *recording) { r.request.Checks.Mounts = []string{"/mnt/localdisk"} }, job.Fail, "nothing is mounted on /mnt/localdisk", "findmnt"},
	{"free_space", func(r *recording) { r.space[0].free = 100 << 20 }, job.Fail, "/: 0.10 GiB free", "df -h"},
	{"free_space", func(r *recording) { r.space[0].free = 1 << 30 }, job.Warn, "1.00 GiB free", "df -h"},
	{"free_space", func(r *recording) { r.space[0].readOnly = true }, job.Fail, "read-only", "dmesg"},
	{"free_space", func(r *recording) { r.space[0].freeInodes = 0 }, job.Fail, "no inode", "df -i"},
	{"free_space", func(r *recording) { r.space[0].freeInodes = 9 }, job.Warn, "9 of 1000 inodes", "df -i"},
	{"memlock", func(r *recording) { r.memlock = 8 << 20 }, job.Fail, "only 8192 KiB", "limits.d"},
	{"memlock", func(r *recording) { r.memlock = 64 << 30 }, job.Warn, "only 65536 MiB", "limits.d"},
	{"cpu_governor", func(r *recording) { r.set("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave") }, job.Warn, "1 of 2 processors lower their clocks when idle (powersave)", "cpupower"},

	{"gpu_count", func(r *recording) { r.request.GPUsPerNode, r.request.Shape = 16, "" }, job.Fail, "8 GPUs, the job needs 16", "reboot"},
	{"gpu_count", func(r *recording) {
		r.facts.Unknown = map[string]string{"gpus": "nvidia-smi did not answer within 30s"}
	}, job.Fail, "did not answer within 30s", "reboot"},
	{"gpu_driver", func(r *recording) { r.remove("proc/driver/nvidia/version") }, job.Fail, "8 NVIDIA GPUs on the PCI bus, but no driver is loaded into kernel 5.15.0", "dkms"},
	{"gpu_driver", func(r *recording) {
		r.set("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Fri Jan 1 00:00:00 UTC 2026")
	}, job.Fail, "the loaded driver is 570.86.15, its programs are 580.159.04", "reboot"},
	{"gpu_details", func(r *recording) { r.smi = "Invalid combination of input arguments." }, job.CannotTell, "no gpu_ecc, gpu_row_remap", ""},
	{"gpu_ecc", func(r *recording) { r.say(gpu3, "<dram_uncorrectable>0<", "<dram_uncorrectable>2<") }, job.Fail, "GPU 3: 2 uncorrectable memory errors since the last reset", "--gpu-reset"},
	{"gpu_ecc", func(r *recording) {
		r.say(gpu3, "<sram_threshold_exceeded>No<", "<sram_threshold_exceeded>Yes<")
	}, job.Fail, "threshold", "replace_nodes"},
	{"gpu_ecc", func(r *recording) { // the second of two counters
		r.say(gpu3, "<sram_threshold_exceeded>", "<sram_uncorrectable_x>2</sram_uncorrectable_x><sram_threshold_exceeded>")
	}, job.Warn, "GPU 3: 2 uncorrectable memory errors before the last reset", "watch"},
	{"gpu_ecc", func(r *recording) {
		r.say(gpu3, "<aggregate>\n\t\t\t\t<sram_correctable>0<", "<aggregate>\n\t\t\t\t<sram_correctable>1001<")
	}, job.Warn, "GPU 3: 1001 corrected SRAM errors", "watch"},
	{"gpu_ecc", func(r *recording) { r.say(-1, "<current_ecc>Enabled<", "<current_ecc>Disabled<") }, job.Warn, "GPU 0, GPU 1, GPU 2, GPU 3, GPU 4, GPU 5, GPU 6, GPU 7: ECC is disabled", "-e 1"},
	{"gpu_row_remap", func(r *recording) { r.say(gpu3, "<remapped_row_pending>No<", "<remapped_row_pending>Yes<") }, job.Fail, "GPU 3: a memory row waits", "--gpu-reset"},
	{"gpu_row_remap", func(r *recording) { r.say(gpu3, "<remapped_row_failure>No<", "<remapped_row_failure>Yes<") }, job.Fail, "could not be replaced", "replace_nodes"},
	{"gpu_row_remap", func(r *recording) { r.say(gpu3, "<remapped_row_unc>0<", "<remapped_row_unc>513<") }, job.Fail, "513 memory rows", "replace_nodes"},
	{"gpu_row_remap", func(r *recording) {
		r.say(gpu3, "<row_remapper_histogram_none>0 bank", "<row_remapper_histogram_none>1 bank")
	}, job.Warn, "1 memory banks have no spare", "watch"},
	{"gpu_recovery", func(r *recording) {
		r.say(gpu3, "<gpu_recovery_action>None<", "<gpu_recovery_action>Reset<")
	}, job.Fail, "GPU 3: the driver asks for: Reset", "--gpu-reset"},
	{"gpu_recovery", func(r *recording) {
		r.say(gpu3, "<gpu_recovery_action>None<", "<gpu_recovery_action>Reboot<")
	}, job.Fail, "asks for a reboot", "reboot the node"},
	{"gpu_xid", func(r *recording) {
		r.log += "<4>[ 8433.331004] NVRM: Xid (PCI:0000:0f:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
	}, job.Fail, "GPU at 0000:0f:00: Xid 79, the GPU fell off the bus, 1 times, the last 9 minutes ago (pid='<unknown>'", "reboot"},
	{"gpu_xid", func(r *recording) {
		r.log += "[Fri Jan  2 00:00:00 2026] NVRM: Xid (PCI:0000:0f:00): 145, RLW_REMAP nonfatal\n"
	}, job.Warn, "Xid 145, not known as harmless", "docs.nvidia.com"},
	{"gpu_xid", func(r *recording) { r.logErr = errors.New("only root may read the kernel log") }, job.CannotTell, "only root", "dmesg"},
	{"gpu_clocks", func(r *recording) { r.say(gpu3, "<graphics_clock>1980 MHz<", "<graphics_clock>1200 MHz<") }, job.Warn, "application clock is 1200 MHz, the default is 1980 MHz", "--reset-applications-clocks"},
	{"gpu_throttle", func(r *recording) {
		r.say(gpu3, "<clocks_event_reason_hw_power_brake_slowdown>Not Active", "<clocks_event_reason_hw_power_brake_slowdown>Active")
	}, job.Fail, "GPU 3: hardware halves the clocks: the power supply", "replace_nodes"},
	{"gpu_throttle", func(r *recording) {
		r.say(gpu3, "<clocks_event_reason_sw_thermal_slowdown>Not Active", "<clocks_event_reason_sw_thermal_slowdown>Active")
	}, job.Warn, "too hot", "load"},
	{"gpu_persistence", func(r *recording) { r.say(-1, "<persistence_mode>Enabled", "<persistence_mode>Disabled") }, job.Warn, "persistence mode is off", "nvidia-persistenced"},
	{"gpu_pcie", func(r *recording) { r.say(gpu3, "<current_link_width>16x", "<current_link_width>8x") }, job.Fail, "GPU 3: the PCIe link has 8 lanes of 16", "reboot"},
	{"gpu_pcie", func(r *recording) { r.say(gpu3, "<current_link_gen>5", "<current_link_gen>3") }, job.Warn, "generation 3 of 5", "reboot"},
	{"nvlink", func(r *recording) {
		r.nvlink = strings.Replace(r.nvlink, "Link 7: 26.562 GB/s", "Link 7: <inactive>", 1)
	}, job.Fail, "GPU 0: 1 of 18 NVLinks are inactive", "reboot"},
	{"nvlink", func(r *recording) { r.nvlink = strings.Replace(r.nvlink, "\t Link 17: 26.562 GB/s\n", "", 1) }, job.Fail, "GPU 0: 17 NVLinks, the model has 18", "reboot"},
	{"nvlink", func(r *recording) { r.nvlink = "" }, job.Fail, "shows no NVLink", "reboot"},
	{"nvlink", func(r *recording) { // a model that nobody has counted
		r.say(-1, "<product_name>NVIDIA H100 80GB HBM3<", "<product_name>NVIDIA X100<")
		r.nvlink = strings.Replace(r.nvlink, "\t Link 17: 26.562 GB/s\nGPU 2", "GPU 2", 1)
	}, job.Warn, "GPU 1: 17 NVLinks, GPU 0 has 18", "reboot"},
	{"fabric_manager", func(r *recording) { r.say(gpu3, "<state>Completed<", "<state>In Progress<") }, job.Fail, "GPU 3: not registered with fabric manager: In Progress", "restart nvidia-fabricmanager"},
	{"fabric_manager", func(r *recording) { r.say(gpu3, "<status>Success<", "<status>Unknown Error<") }, job.Fail, "GPU 3: registration with fabric manager failed: Unknown Error", "restart nvidia-fabricmanager"},
	{"fabric_manager", func(r *recording) {
		r.say(-1, "<state>Completed<", "<state>N/A<")
		r.set("proc/driver/nvidia-nvswitch/devices/0000:06:00.0", "")
	}, job.Fail, "fabric manager does not run; 1 NVSwitches need it", "enable --now"},
	{"fabric_manager", func(r *recording) { r.say(gpu3, "<route_unhealthy>N/A<", "<route_unhealthy>True<") }, job.Warn, "GPU 3: NVLink fabric: route unhealthy", "restart"},
	{"peer_memory", func(r *recording) {
		r.set("proc/modules", "nvidia 14299136 0 - Live 0x0")
		r.set("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Fri Jan 1 00:00:00 UTC 2026")
	}, job.Warn, "neither nvidia_peermem nor DMA-BUF", "modprobe nvidia_peermem"},

	{"rdma_links", func(r *recording) { r.set("sys/class/infiniband/mlx5_7/ports/1/state", "1: DOWN") }, job.Fail, "mlx5_7 (rdma7): the port is DOWN", "reboot"},
	{"rdma_links", func(r *recording) { // on a node that has just booted
		r.set("proc/uptime", "300.00 500.00")
		r.set("sys/class/infiniband/mlx5_7/ports/1/state", "1: DOWN")
	}, job.Fail, "mlx5_7 (rdma7): the port is DOWN", "wait for Oracle Cloud Agent"},
	{"rdma_links", func(r *recording) { r.remove("sys/class/infiniband/mlx5_7") }, job.Fail, "15 RDMA ports, BM.GPU.H100.8 has 16: no mlx5_7", "reboot"},
	{"rdma_links", func(r *recording) { r.remove("sys/class/infiniband") }, job.Fail, "no RDMA device, though there are 18 functions", "mlx5_ib"},
	{"rdma_links", func(r *recording) {
		r.remove("sys/class/infiniband")
		r.remove("sys/bus/pci")
	}, job.CannotTell, "this machine is not a BM.GPU.H100.8 itself", ""},
	{"rdma_links", func(r *recording) { // the catalog is not sure of its ports
		r.request.Shape = "BM.GPU.B300.HS.8"
		r.set("sys/class/infiniband/mlx5_7/ports/1/state", "1: DOWN")
	}, job.Warn, "mlx5_7 (rdma7): the port is DOWN", "reboot"},
	{"rdma_rate", func(r *recording) { r.request.Shape = "BM.GPU.B300.HS.8" }, job.Warn, "200 Gb/s, expected 400", "replace_nodes"},
	{"rdma_rate", func(r *recording) { r.set("sys/class/infiniband/mlx5_7/ports/1/rate", "100 Gb/sec (4X EDR)") }, job.Fail, "mlx5_7 (rdma7): 100 Gb/s, expected 200", "replace_nodes"},
	{"rdma_flaps", func(r *recording) { r.set("sys/class/net/rdma7/carrier_down_count", "41") }, job.Warn, "mlx5_7 (rdma7): the link went down 41 times since boot, the steadiest one 2 times", "cable"},
	{"rdma_pcie", func(r *recording) { r.set("sys/class/infiniband/mlx5_7/device/current_link_width", "8") }, job.Fail, "8 lanes, others 16", "reboot"},
	{"rdma_pcie", func(r *recording) {
		r.set("sys/class/infiniband/mlx5_7/device/current_link_speed", "16.0 GT/s PCIe")
	}, job.Warn, "16 GT/s of 32", "reboot"},
	{"rdma_pcie", func(r *recording) {
		for _, n := range h100HCAs {
			r.set(fmt.Sprintf("sys/class/infiniband/mlx5_%d/device/current_link_width", n), "8")
		}
	}, job.Warn, "the PCIe link has 8 lanes of 16", "reboot"},
	{"rdma_authentication", func(r *recording) {
		r.wpa = func(port string) (string, error) {
			return "Supplicant PAE state=" + map[bool]string{true: "CONNECTING", false: "AUTHENTICATED"}[port == "rdma7"], nil
		}
	}, job.Fail, "mlx5_7: 802.1X is CONNECTING", "wait for Oracle Cloud Agent"},
	{"rdma_authentication", func(r *recording) {
		r.wpa = func(string) (string, error) {
			return "", errors.New("wpa_cli: exit status 255: Failed to connect to non-global ctrl_ifname: rdma0")
		}
	}, job.Warn, "serves none of the RDMA ports", "wait"},
	{"rdma_authentication", func(r *recording) {
		r.wpa = func(string) (string, error) { return "", errors.New("sudo: a password is required") }
	}, job.CannotTell, "a password is required", "sudo without a password"},
	{"rdma_addresses", func(r *recording) { r.address["rdma7"] = "" }, job.Fail, "mlx5_7 (rdma7): no IPv4 address", "wait"},
	{"rdma_addresses", func(r *recording) { r.address["rdma7"] = r.address["rdma6"] }, job.Fail, "10.224.6.5 is also on mlx5_6", "one address for each"},
	{"rdma_mtu", func(r *recording) { r.set("sys/class/net/rdma7/mtu", "1500") }, job.Warn, "mlx5_7 (rdma7): MTU 1500, expected 4220", "wait"},
	{"rdma_mtu", func(r *recording) { r.set("sys/class/net/rdma7/mtu", "9000") }, job.Warn, "mlx5_7 (rdma7): MTU 9000, but 4220 on mlx5_0", "wait"},
	{"rdma_gid", func(r *recording) {
		gids := "sys/class/infiniband/mlx5_7/ports/1/gid"
		r.set(gids+"s/5", "0000:0000:0000:0000:0000:ffff:0ae0:0705")
		r.set(gids+"_attrs/types/5", "RoCE v2")
		r.remove(gids + "_attrs/types/3")
	}, job.Warn, "mlx5_7 (rdma7): GID 3 is not RoCE v2 over IPv4, but 5 is", "NCCL_IB_GID_INDEX=5"},
	{"rdma_gid", func(r *recording) { r.remove("sys/class/infiniband/mlx5_7/ports/1/gid_attrs/types/3") }, job.Fail, "no GID is RoCE v2 over IPv4", "wait"},
	{"rdma_congestion", func(r *recording) {
		r.mlxreg = func(port string) (string, error) {
			return "value          | 0x0000000" + map[bool]string{true: "1", false: "0"}[port == "mlx5_7"] + "\n", nil
		}
	}, job.Warn, "mlx5_7: congestion control by round-trip times is on", "wait for Oracle Cloud Agent"},
	{"rdma_congestion", func(r *recording) {
		r.mlxreg = func(string) (string, error) { return "", errors.New("mlxreg is not installed") }
	}, job.CannotTell, "mlxreg is not installed", "firmware tools"},
	{"rdma_agent", func(r *recording) { r.set("run/oci-hpc/oci-hpc-rdma-configure.json", `{"state": "RUNNING"}`) }, job.Fail, "oci-hpc-rdma-configure: the plugin's state is RUNNING", "wait"},
	{"rdma_agent", func(r *recording) { r.remove("run/oci-hpc") }, job.Warn, "not enabled on the instance: Compute HPC RDMA Auto-Configuration", "enable the plugins"},
	{"topology", func(r *recording) { r.meta = metadata{} }, job.CannotTell, "where the node is, is not known", ""},
	{"open_mpi", func(r *recording) { r.facts.Unknown = map[string]string{"open_mpi_version": "there is no Open MPI"} }, job.Fail, "there is no Open MPI", "install Open MPI"},
	{"nccl_tests", func(r *recording) { r.facts.Unknown = map[string]string{"nccl_tests": "no program"} }, job.Fail, "no program", "build nccl-tests"},
}

func TestHealthyNode(t *testing.T) {
	t.Parallel()
	r := healthyNode(t)
	checks := judge(r.request, r.findings())
	var made []string
	for _, c := range checks {
		made = append(made, c.Name)
	}
	const all = "cloud_init clock free_space memlock cpu_governor gpu_count gpu_driver gpu_ecc gpu_row_remap gpu_recovery gpu_xid gpu_clocks gpu_throttle gpu_persistence gpu_pcie " +
		"nvlink fabric_manager peer_memory rdma_links rdma_rate rdma_flaps rdma_pcie rdma_authentication rdma_addresses rdma_mtu rdma_gid rdma_congestion rdma_agent topology open_mpi nccl_tests"
	if got := strings.Join(made, " "); got != all {
		t.Errorf("made %s", got)
	}
	for _, c := range checks {
		if c.Outcome != job.Pass || c.Message == "" || c.Advice != "" {
			t.Errorf("%+v", c)
		}
	}
}

// Every fault changes its own check, and no other to worse than a warning.
func TestProvocations(t *testing.T) {
	t.Parallel()
	for i, p := range provocations {
		t.Run(fmt.Sprintf("%d_%s", i, p.check), func(t *testing.T) {
			t.Parallel()
			r := healthyNode(t)
			p.makes(r)
			f := r.findings()
			checks := judge(r.request, f)
			found := false
			for _, c := range checks {
				if c.Name == p.check {
					found = true
					if c.Outcome != p.outcome || !strings.Contains(c.Message, p.says) || !strings.Contains(c.Advice, p.advises) || p.advises == "" && c.Outcome != job.CannotTell {
						t.Errorf("%+v", c)
					}
				}
			}
			if !found {
				t.Errorf("no check %s in %+v", p.check, checks)
			}
			r.request.Checks.Skip = []string{p.check}
			if slices.ContainsFunc(judge(r.request, f), func(c job.Check) bool { return c.Name == p.check }) {
				t.Error("it was skipped, and yet made")
			}
		})
	}
}

// What a node does not have, or does not tell, is not judged; what is good has its reason.
func TestUnjudged(t *testing.T) {
	t.Parallel()
	silent := findings{gpus: gpuFindings{list: make([]job.GPU, 2), details: make([]smiGPU, 2)}}
	silent.nvlinks.err = errors.New("exit status 3")
	adapters := healthyNode(t).findings()
	without := adapters
	without.shape = "BM.GPU.A10.4"
	infiniband := adapters
	infiniband.rdma.hcas = slices.Clone(adapters.rdma.hcas)
	for i := range infiniband.rdma.hcas {
		infiniband.rdma.hcas[i].ethernet = false
	}
	unasked := found[metadata]{err: errors.New("no route")}
	enabled := found[metadata]{}
	for _, name := range rdmaPlugins {
		enabled.value.Instance.AgentConfig.Plugins = append(enabled.value.Instance.AgentConfig.Plugins, plugin{name, "ENABLED"})
	}
	nothing := findings{shape: "BM.GPU.A10.4", gpus: gpuFindings{list: make([]job.GPU, 2)}}
	for _, c := range []struct {
		name   string
		checks []job.Check
		says   string
	}{
		{"GPUs that tell nothing", checkGPUHealth(silent), ""},
		{"NVLinks that cannot be asked", []job.Check{checkNVLink(silent)}, "nvlink cannot_tell the NVLinks could not be read: exit status 3"},
		{"no NVLink", []job.Check{checkNVLink(nothing)}, ""},
		{"adapters on a shape without RDMA", checkRDMA(without), ""},
		{"no adapters on a shape without RDMA", checkRDMA(nothing), ""},
		{"InfiniBand", checkRDMA(infiniband), "rdma_links pass 16 RDMA ports are up; rdma_rate pass 200 Gb/s on every RDMA port; rdma_flaps pass no link goes down oftener than the others; rdma_pcie pass 16 lanes at 32 GT/s for every RDMA adapter"},
		{"replaced rows", []job.Check{gpuJudgements[1].all([]smiGPU{{RowsUncorrectable: "3"}})}, "gpu_row_remap pass GPU 0: 3 memory rows were replaced, as GPUs can"},
		{"peer memory by a module", []job.Check{checkPeerMemory(findings{rdma: adapters.rdma, nvidia: driver{version: "1", modules: []string{"nv_peer_mem"}}})}, "peer_memory pass nvidia_peermem is loaded"},
		{"peer memory by the driver", []job.Check{checkPeerMemory(findings{rdma: adapters.rdma, nvidia: driver{version: "1", open: true}})}, "peer_memory pass the open driver offers DMA-BUF"},
		{"a driver that was updated", []job.Check{checkDriver(findings{nvidia: driver{onBus: 8, version: "570.1"}, gpus: gpuFindings{err: errors.New("nvidia-smi: Failed to initialize NVML: Driver/library version mismatch")}})},
			"gpu_driver fail the loaded driver 570.1 is not the installed one: it was updated without a reboot"},
		{"an agent that cannot be asked for", []job.Check{checkAgent(findings{rdma: adapters.rdma, metadata: unasked})}, "rdma_agent cannot_tell Oracle Cloud Agent left no state of its RDMA plugins, and no route"},
		{"an agent that is at work", []job.Check{checkAgent(findings{rdma: adapters.rdma, metadata: enabled})}, "rdma_agent cannot_tell the RDMA plugins are enabled, but left no state yet"},
		{"a place that nobody tells", []job.Check{checkTopology(findings{rdma: adapters.rdma, metadata: unasked})}, "topology cannot_tell where the node is, is not known: no route"},
		{"a cloud-init that does not answer", []job.Check{checkCloudInit(job.Facts{Unknown: map[string]string{"cloud_init": "exit status 1"}}, 0)}, "cloud_init cannot_tell cloud-init's status could not be read: exit status 1"},
		{"a clock that cannot be asked", []job.Check{checkClock(findings{clock: found[clock]{err: errors.New("EPERM")}})}, "clock cannot_tell EPERM"},
		{"a clock without chrony", []job.Check{checkClock(findings{clock: found[clock]{value: clock{synchronised: true}}})}, "clock pass the clock is synchronised"},
		{"limits that cannot be asked", []job.Check{checkMemlock(findings{rdma: adapters.rdma, memlock: found[uint64]{err: errors.New("EPERM")}})}, "memlock cannot_tell EPERM"},
		{"mounts that cannot be read", []job.Check{checkMounts([]string{"/mnt"}, job.Facts{Unknown: map[string]string{"mounts": "EPERM"}})}, "mounts cannot_tell the mounts could not be read: EPERM"},
		{"a time zone that cannot be read", []job.Check{checkTimezone("UTC", job.Facts{Unknown: map[string]string{"timezone": "EPERM"}}, "/")}, "timezone cannot_tell the time zone could not be read: EPERM"},
		{"a file system that cannot be asked", []job.Check{checkSpace(findings{space: []space{{path: "/", err: errors.New("EIO")}}})}, "free_space cannot_tell /: EIO"},
		{"an error just now", []job.Check{checkXIDs(findings{upTime: 100, xids: find([]xid{{"0000:0f:00", 13, "", 40}}, nil)})}, "gpu_xid pass GPU at 0000:0f:00: Xid 13, a program's kernel failed, 1 times, the last 60 seconds ago"},
		{"an error at a time that is not known", []job.Check{checkXIDs(findings{upTime: 100, xids: find([]xid{{"0000:0f:00", 13, "", 0}}, nil)})}, "gpu_xid pass GPU at 0000:0f:00: Xid 13, a program's kernel failed, 1 times"},
	} {
		var said []string
		for _, made := range c.checks {
			if made.Name != "" {
				said = append(said, fmt.Sprintf("%s %s %s", made.Name, made.Outcome, made.Message))
			}
		}
		if got := strings.Join(said, "; "); got != c.says {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// provokedElsewhere are the checks that other tests provoke: of files, of running programs, or of several nodes.
var provokedElsewhere = map[string]string{
	"boot_steps": "TestBoot", "firewall": "TestFirewallRules, lab", "mpi_ports": "TestCheckPorts, lab", "uniform_clock": "TestUniformHealth",
	"uniform_os": "TestUniformHealth", "uniform_kernel": "TestUniformHealth", "uniform_driver": "TestCheckUniform",
	"uniform_gpu_count": "TestUniformHealth", "uniform_gpu_model": "TestUniformHealth", "uniform_vbios": "TestUniformHealth",
	"uniform_hca_firmware": "TestUniformHealth", "uniform_open_mpi": "TestUniformHealth", "uniform_hpc_island": "TestUniformHealth",
}

func TestEveryCheckIsProvoked(t *testing.T) {
	t.Parallel()
	for _, kind := range job.CheckKinds {
		outcomes := map[job.Outcome]bool{}
		for _, p := range provocations {
			if p.check == kind.Name {
				outcomes[p.outcome] = true
			}
		}
		if len(outcomes) == 0 && provokedElsewhere[kind.Name] == "" {
			t.Errorf("nothing provokes %s", kind.Name)
		}
		if len(outcomes) > 0 && (outcomes[job.Warn] && kind.Warns == "" || outcomes[job.Fail] && kind.Fails == "") {
			t.Errorf("%s does what its description does not say: %v", kind.Name, outcomes)
		}
		if len(outcomes) > 0 && (!outcomes[job.Warn] && kind.Warns != "" || !outcomes[job.Fail] && kind.Fails != "") {
			t.Errorf("%s is not seen to do all that its description says: %v", kind.Name, outcomes)
		}
	}
}

func TestUniformHealth(t *testing.T) {
	t.Parallel()
	for check, change := range map[string]func(*job.Facts){
		"uniform_os": func(f *job.Facts) { f.OS = "Ubuntu 22.04" }, "uniform_kernel": func(f *job.Facts) { f.Kernel = "6.8.0" },
		"uniform_gpu_count": func(f *job.Facts) { f.GPUs = f.GPUs[:7] }, "uniform_gpu_model": func(f *job.Facts) { f.GPUs[4].Name = "NVIDIA H200" },
		"uniform_vbios": func(f *job.Facts) { f.GPUs[4].VBIOS = "96.00.01" }, "uniform_hca_firmware": func(f *job.Facts) { f.HCAs[4].Firmware = "20.1" },
		"uniform_open_mpi": func(f *job.Facts) { f.OpenMPIVersion = "5.0" }, "uniform_hpc_island": func(f *job.Facts) { f.Topology.HPCIsland = "ocid1.hpcisland.oc1..other" },
	} {
		nodes := make([]job.NodeResult, 3)
		for i := range nodes {
			f := healthyNode(t).findings().Facts
			f.OS = "Oracle Linux 9"
			nodes[i].Facts = &f
		}
		change(nodes[1].Facts)
		CheckUniform(nodes, true, nil)
		for i, n := range nodes {
			for _, c := range n.Checks {
				if odd := c.Name == check && i == 1; odd != (c.Outcome == job.Warn && c.Advice != "") || !odd && c.Outcome != job.Pass {
					t.Errorf("%s on node %d: %+v", check, i, c)
				}
			}
			if len(n.Checks) != len(uniformities) {
				t.Errorf("%d checks: %+v", len(n.Checks), n.Checks)
			}
		}
		nodes[1].Checks = nil
		if CheckUniform(nodes, true, []string{check}); slices.ContainsFunc(nodes[1].Checks, func(c job.Check) bool { return c.Name == check }) {
			t.Errorf("%s was skipped, and yet made", check)
		}
	}
	now := time.Now()
	if c := CheckClock(Report{At: now.Add(-time.Minute)}, now); c.Outcome != job.Warn || c.Message != "the clock is 1m0s from the head node's" || c.Advice == "" {
		t.Errorf("%+v", c)
	}
	if c := CheckClock(Report{At: now.Add(-time.Second)}, now); c.Outcome != job.Pass {
		t.Errorf("%+v", c)
	}
}

// Nodes without GPUs or RDMA are not asked for them.
func TestPlainNode(t *testing.T) {
	t.Parallel()
	r := healthyNode(t)
	r.files, r.smi, r.request, r.meta = nil, "", Request{Health: true}, metadata{}
	f := r.findings()
	f.gpus, f.GPUs, f.xids.err = gpuFindings{err: fmt.Errorf("nvidia-smi: %w", exec.ErrNotFound)}, nil, unix.EPERM
	var made []string
	for _, c := range judge(r.request, f) {
		made = append(made, c.Name)
	}
	if got := strings.Join(made, " "); got != "cloud_init clock free_space" {
		t.Error(got)
	}
}
