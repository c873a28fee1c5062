// SPDX-License-Identifier: MPL-2.0

package job

import "slices"

// CheckKind describes one check of a node, for people. What it says of outcomes is what they mean; a check
// that lacks what it would need is always [CannotTell].
type CheckKind struct {
	// Name is the stable word of [Check].
	Name string `json:"name"`
	// Looks says what is looked at.
	Looks string `json:"looks_at"`
	// Warns and Fails say when; empty means never.
	Warns string `json:"warns_when,omitempty"`
	Fails string `json:"fails_when,omitempty"`
	// Advice is what to do about it, unless the check itself knows better.
	Advice string `json:"advice"`
}

// What is done about hardware, from the least to the last resort.
const (
	AdviceResetGPU = "stop what uses the GPUs, then on the node: sudo nvidia-smi --gpu-reset -i INDEX; or reboot the node"
	AdviceReboot   = "reboot the node; if it comes back, replace the node"
	AdviceReplace  = "replace the node: name it in replace_nodes of its ocihpc_gpu_cluster (report_unhealthy tells Oracle), or terminate the instance"
	AdviceWait     = "wait for Oracle Cloud Agent, which sets RDMA up for about 10 minutes after the first boot, then check again; if it stays, on the node: sudo systemctl restart oracle-cloud-agent"
)

const (
	adviceImage    = "use one image for all nodes, or update where they differ"
	adviceTopology = "nothing is broken; order the nodes by network block, or let the cluster's placement be nearer, if the measured bandwidth is too low"
)

// CheckKinds are all checks, in the order in which they are shown.
var CheckKinds = []CheckKind{
	{"cloud_init", "whether cloud-init ended, and how", "it recovered from errors, or still runs and nobody asked to wait", "it ended with an error, or not in the time asked for",
		"on the node: cloud-init status --long; sudo cat /var/log/cloud-init-output.log"},
	{"boot_steps", "the steps that ocihpc_cloud_init_config runs at each boot", "they still run", "a step failed, or the steps did not finish", "on the node: sudo less " + BootLogPath + "; a reboot runs the steps again"},
	{"clock", "whether a time service keeps the clock, and how far it is off", "it is not synchronised, or off by more than 0.1 s", "",
		"on the node: chronyc sources; sudo systemctl enable --now chronyd (Ubuntu: chrony); OCI serves the time at 169.254.169.254"},
	{"timezone", "the time zone, where one is expected", "", "it is another one", "on the node: sudo timedatectl set-timezone ZONE"},
	{"mounts", "the mount points that are expected", "", "nothing is mounted there", "on the node: findmnt; lsblk; sudo mount --all; and look for errors of cloud-init"},
	{"free_space", "space and inodes of the root, /tmp, the home directory and the expected mounts", "less than 2 GiB or 1 % of the inodes is free", "less than 256 MiB or no inode is free, or the file system is read-only",
		"on the node: df -h; df -i; sudo du -xh / --max-depth=2 | sort -h | tail; grow the boot volume with sudo /usr/libexec/oci-growfs -y"},
	{"firewall", "whether a host firewall filters between the nodes, where none is expected", "", "firewalld, ufw, nftables or iptables turns packets away",
		"let all traffic between the nodes through, or turn the host firewall off and leave filtering to the subnet's security lists"},
	{"memlock", "how much memory a login may lock, where there is RDMA", "it is limited", "it is less than 1 GiB: RDMA cannot register its buffers",
		"on the node: printf '* soft memlock unlimited\\n* hard memlock unlimited\\n' | sudo tee /etc/security/limits.d/rdma.conf; then log in again"},
	{"cpu_governor", "whether the processors keep their speed while they wait", "a processor's frequency governor is another than performance: messages start later", "",
		"on the node: sudo cpupower frequency-set -g performance; or sudo tuned-adm profile throughput-performance"},

	{"gpu_count", "the number of GPUs that nvidia-smi shows", "", "it is not the shape's, less than the job needs, or nvidia-smi does not answer",
		"on the node: nvidia-smi, and dmesg for Xid errors; a reboot brings back a GPU that fell off the bus, else replace the node"},
	{"gpu_driver", "whether the NVIDIA driver is loaded, and of the same version as its programs", "", "it is not loaded though there are GPUs, or the versions differ",
		"reboot the node; if the driver is still not loaded it was not built for this kernel: sudo dkms autoinstall, or use an image that has it"},
	{"gpu_details", "whether nvidia-smi tells the state of the GPUs: without it none of the checks below can", "", "", "install NVIDIA's own nvidia-smi, of the driver's version"},
	{"gpu_ecc", "ECC mode and memory errors of the GPUs", "ECC is off, uncorrectable errors were counted before this boot, or more than 1000 SRAM errors were corrected", "uncorrectable errors since the last reset, or the error threshold is exceeded", AdviceResetGPU},
	{"gpu_row_remap", "memory rows that the GPUs replaced (Volta: retired pages)", "a bank has no spare row left", "a row waits for a reset, could not be replaced, or more than 512 were", AdviceReplace},
	{"gpu_recovery", "what the driver itself asks for to recover a GPU", "", "it asks for a reset, a reboot or a drain", AdviceResetGPU},
	{"gpu_xid", "NVIDIA's Xid errors in the kernel log since boot", "one that is not known as harmless", "one that means broken hardware or a GPU that needs a reset", AdviceReboot},
	{"gpu_clocks", "clocks that somebody set lower than the GPU's own", "application clocks are below the default", "", "on the node: sudo nvidia-smi --reset-applications-clocks; sudo nvidia-smi --reset-gpu-clocks"},
	{"gpu_throttle", "why the GPUs slow down now", "the driver slows a GPU for its temperature", "hardware slows a GPU: heat or power brake", "stop the load and check again; if an idle node does it, its cooling or power is broken: " + AdviceReplace},
	{"gpu_persistence", "whether the driver stays loaded without users", "persistence mode is off: each start takes seconds longer", "", "on the node: sudo systemctl enable --now nvidia-persistenced; or sudo nvidia-smi -pm 1"},
	{"gpu_pcie", "PCIe width and speed of the GPUs", "a busy link is slower than both ends can", "a link is narrower than the GPU and its slot can", AdviceReboot},
	{"nvlink", "NVLinks of the GPUs", "GPUs have different numbers of links", "a link is inactive, or the GPU's model has more", AdviceReboot},
	{"fabric_manager", "NVIDIA's fabric manager, where GPUs are joined by NVSwitch", "the fabric's health is not good", "it does not run, or the GPUs did not register with it",
		"on the node: sudo systemctl enable --now nvidia-fabricmanager; sudo systemctl restart nvidia-fabricmanager; its version must be the driver's"},
	{"peer_memory", "whether RDMA adapters can reach GPU memory (nvidia_peermem or DMA-BUF)", "they cannot: data goes through the host's memory", "", "on the node: sudo modprobe nvidia_peermem; echo nvidia_peermem | sudo tee /etc/modules-load.d/nvidia_peermem.conf"},

	{"rdma_links", "the RDMA ports of the shape", "a port that the catalog does not name is down", "a port is missing or down", AdviceReboot},
	{"rdma_rate", "speed of the RDMA ports", "it is below the shape's, but the catalog is not sure", "it is below the shape's", AdviceReplace},
	{"rdma_flaps", "how often RDMA links went down since boot", "a port did so 3 times more than the steadiest", "", "check again under load; if the count grows, the cable or port is bad: " + AdviceReplace},
	{"rdma_pcie", "PCIe width and speed of the RDMA adapters", "a link is slower than it can", "a link is narrower than it can", AdviceReboot},
	{"rdma_authentication", "802.1X of the RDMA ports (wpa_supplicant)", "wpa_supplicant serves none of them", "a port is not authenticated: the network drops its packets", AdviceWait},
	{"rdma_addresses", "IPv4 addresses of the RDMA ports", "", "a port has none, or two ports have the same", AdviceWait},
	{"rdma_mtu", "MTU of the RDMA ports", "it differs between ports, or is below 4220", "", AdviceWait},
	{"rdma_gid", "GID table of the RDMA ports: NCCL needs RoCE v2 over IPv4 at its index", "NCCL's index for the shape holds another kind", "no entry is RoCE v2 over IPv4", AdviceWait},
	{"rdma_congestion", "whether the RDMA adapters regulate themselves by round-trip times (RTTCC), from ConnectX-6 Dx on", "they do: Oracle's network wants it off", "", AdviceWait},
	{"rdma_agent", "what Oracle Cloud Agent's RDMA plugins say", "the plugins are not enabled on the instance", "the plugins have not completed, or failed", AdviceWait},
	{"topology", "where the node is: HPC island, network block, rack, from the instance metadata", "", "", "on the node: curl -H 'Authorization: Bearer Oracle' http://169.254.169.254/opc/v2/host/"},

	{"open_mpi", "Open MPI, where several nodes are measured", "", "it is not installed", "install Open MPI 4.1 on every node (Oracle Linux: openmpi, Ubuntu: openmpi-bin), or use one of Oracle's HPC images"},
	{"nccl_tests", "nccl-tests, where they are measured with", "", "they are not found", "build nccl-tests with MPI=1 on every node and name its folder as nccl_tests_dir, or use one of Oracle's HPC images"},
	{"mpi_ports", "TCP connections from other nodes to a port such as MPI's", "", "a node cannot be connected to",
		"let all TCP between the nodes through: security list or network security group of the subnet, and the host firewall"},

	{"uniform_clock", "whether the nodes' clocks agree", "a clock is more than 2 s from the head node's", "", "on the node: chronyc tracking; OCI serves the time at 169.254.169.254"},
	{"uniform_os", "whether all nodes have the same system", "a node differs from most", "", adviceImage},
	{"uniform_kernel", "whether all nodes run the same kernel", "a node differs from most", "", adviceImage},
	{"uniform_driver", "whether all nodes have the same NVIDIA driver", "a node differs from most", "", "use one image for all nodes, or update the driver where it differs"},
	{"uniform_gpu_count", "whether all nodes have as many GPUs", "a node differs from most", "", "find out why GPUs are missing, or name the number of GPUs a node in the job"},
	{"uniform_gpu_model", "whether all nodes have the same GPUs", "a node differs from most", "", "collectives run at the pace of the slowest GPU: keep unlike nodes in clusters of their own"},
	{"uniform_vbios", "whether all GPUs have the same firmware", "a node differs from most", "", "nothing to do by yourself: ask Oracle when such a node is slower"},
	{"uniform_hca_firmware", "whether all RDMA adapters have the same firmware", "a node differs from most", "", "nothing to do by yourself: ask Oracle when such a node is slower"},
	{"uniform_open_mpi", "whether all nodes have the same Open MPI", "a node differs from most", "", "Open MPI of different versions cannot work together: install the same on all nodes"},
	{"uniform_hpc_island", "whether all nodes are in one HPC island", "a node is in another one", "", adviceTopology},
}

// CheckKindOf finds what a check's name stands for.
func CheckKindOf(name string) (CheckKind, bool) {
	i := slices.IndexFunc(CheckKinds, func(k CheckKind) bool { return k.Name == name })
	if i < 0 {
		return CheckKind{}, false
	}
	return CheckKinds[i], true
}
