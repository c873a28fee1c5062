// SPDX-License-Identifier: MPL-2.0

package node

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// driver is what the kernel shows of NVIDIA's driver.
type driver struct {
	onBus    int    // GPUs on the PCI bus, with and without a driver
	version  string // of the loaded module; empty when it is not loaded
	open     bool   // the open kernel modules, which have DMA-BUF
	modules  []string
	switches int  // NVSwitches of this machine
	manager  bool // fabric manager runs
}

const (
	nvidia = "0x10de"
	// fabricManager's name as the kernel cuts it.
	fabricManager = "nv-fabricmanage"
)

// moduleVersion is in a line such as
//
//	NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (...)
var moduleVersion = regexp.MustCompile(`NVRM version:.*?\s(\d+\.\d+\S*)\s`)

func readDriver(root fs.FS) driver {
	var d driver
	for _, device := range names(root, "sys/bus/pci/devices") {
		dir := path.Join("sys/bus/pci/devices", device)
		// Display controllers: 0x0300 VGA, 0x0302 3D.
		if line(root, dir, "vendor") == nvidia && strings.HasPrefix(line(root, dir, "class"), "0x03") {
			d.onBus++
		}
	}
	text := line(root, "proc/driver/nvidia/version")
	if match := moduleVersion.FindStringSubmatch(text + "\n"); match != nil {
		d.version, d.open = match[1], strings.Contains(text, "Open Kernel Module")
	}
	for l := range strings.Lines(line(root, "proc/modules")) {
		module, _, _ := strings.Cut(l, " ")
		d.modules = append(d.modules, module)
	}
	d.switches = len(names(root, "proc/driver/nvidia-nvswitch/devices"))
	if d.switches > 0 {
		d.manager = runs(root, fabricManager)
	}
	return d
}

// runs says whether there is a process of the name.
func runs(root fs.FS, name string) bool {
	return slices.ContainsFunc(names(root, "proc"), func(pid string) bool {
		return pid[0] >= '1' && pid[0] <= '9' && line(root, "proc", pid, "comm") == name
	})
}

func checkDriver(f findings) job.Check {
	const name = "gpu_driver"
	d := f.nvidia
	switch {
	case d.onBus == 0:
		return job.Check{} // gpu_count tells
	case d.version == "":
		return check(name, job.Fail, fmt.Sprintf("%d NVIDIA GPUs on the PCI bus, but no driver is loaded into kernel %s", d.onBus, f.Kernel), "")
	case f.gpus.err != nil && strings.Contains(f.gpus.err.Error(), "version mismatch"):
		return check(name, job.Fail, "the loaded driver "+d.version+" is not the installed one: it was updated without a reboot", job.AdviceReboot)
	case f.gpus.driver != "" && f.gpus.driver != d.version:
		return check(name, job.Fail, fmt.Sprintf("the loaded driver is %s, its programs are %s", d.version, f.gpus.driver), job.AdviceReboot)
	}
	return check(name, job.Pass, fmt.Sprintf("driver %s is loaded into kernel %s", d.version, f.Kernel), "")
}

// checkFabric needs GPUs that are joined by NVSwitch: from Hopper on they tell themselves whether they
// registered with fabric manager; before, the switches are on the PCI bus.
func checkFabric(f findings) job.Check {
	const name = "fabric_manager"
	parts := []part{}
	for i, g := range f.gpus.details {
		parts = append(parts, part{fmt.Sprintf("GPU %d", i), judgeFabric(g)})
	}
	c := combine(name, "the GPUs are registered with fabric manager", parts)
	if c.Name != "" || f.nvidia.switches == 0 {
		return c
	}
	if !f.nvidia.manager {
		return check(name, job.Fail, fmt.Sprintf("fabric manager does not run; %d NVSwitches need it", f.nvidia.switches), "")
	}
	return check(name, job.Pass, "fabric manager runs", "")
}

func judgeFabric(g smiGPU) verdict {
	switch {
	case g.FabricState == "" || g.FabricState == "N/A":
		return verdict{}
	case g.FabricState != "Completed":
		return verdict{job.Fail, "not registered with fabric manager: " + g.FabricState, ""}
	case g.FabricStatus != "Success" && g.FabricStatus != "N/A":
		return verdict{job.Fail, "registration with fabric manager failed: " + g.FabricStatus, ""}
	}
	for _, v := range g.FabricHealth.Values {
		if strings.TrimSpace(v.Text) == "True" && v.XMLName.Local != "partition_assigned" {
			return verdict{job.Warn, "NVLink fabric: " + strings.ReplaceAll(v.XMLName.Local, "_", " "), ""}
		}
	}
	return pass
}

// checkPeerMemory is for nodes with GPUs and RDMA ports.
func checkPeerMemory(f findings) job.Check {
	const name = "peer_memory"
	d := f.nvidia
	switch {
	case len(f.rdma.hcas) == 0 || d.version == "":
		return job.Check{}
	case slices.Contains(d.modules, "nvidia_peermem"), slices.Contains(d.modules, "nv_peer_mem"):
		return check(name, job.Pass, "nvidia_peermem is loaded", "")
	case d.open:
		return check(name, job.Pass, "the open driver offers DMA-BUF", "")
	}
	return check(name, job.Warn, "neither nvidia_peermem nor DMA-BUF: RDMA goes through the host's memory", "")
}
