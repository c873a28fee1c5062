// SPDX-License-Identifier: MPL-2.0

package lab_test

import (
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// adaptersScript gives a host of BM.GPU4.8 what the kernel and programs of such a machine show of RDMA adapters and of
// NVIDIA's driver: real interfaces with addresses, and files over those of /sys and /proc.
const adaptersScript = `set -eu
ib=/run/class/infiniband bus=/run/bus/pci/devices
mkdir -p $ib /run/class/net $bus /run/driver/nvidia /run/oci-hpc /run/wpa
port=0
for n in 0 1 2 3 6 7 8 9 10 11 12 13 14 15 16 17; do
	ip link add rdma$port type veth peer name switch$port
	ip link set switch$port up mtu 4220
	ip link set rdma$port up mtu 4220
	ip address add 10.224.$port.5/12 dev rdma$port
	d=$ib/mlx5_$n
	mkdir -p $d/device/net/rdma$port $d/ports/1/counters $d/ports/1/gids $d/ports/1/gid_attrs/types
	echo 16.35.2000 > $d/fw_ver
	echo 16 | tee $d/device/current_link_width > $d/device/max_link_width
	echo 16.0 GT/s PCIe | tee $d/device/current_link_speed > $d/device/max_link_speed
	echo 4: ACTIVE > $d/ports/1/state
	echo 5: LinkUp > $d/ports/1/phys_state
	echo '100 Gb/sec (4X EDR)' > $d/ports/1/rate
	echo Ethernet > $d/ports/1/link_layer
	echo 0 > $d/ports/1/counters/link_downed
	for i in 2 3; do printf '0000:0000:0000:0000:0000:ffff:0ae0:%02x05\n' $port > $d/ports/1/gids/$i; done
	echo IB/RoCE v1 > $d/ports/1/gid_attrs/types/2
	echo RoCE v2 > $d/ports/1/gid_attrs/types/3
	mkdir $bus/0000:a$n:00.0
	echo 0x15b3 > $bus/0000:a$n:00.0/vendor
	echo AUTHENTICATED > /run/wpa/rdma$port
	port=$((port + 1))
done
for n in 0 1 2 3 4 5 6 7; do
	mkdir $bus/0000:0$n:00.0
	echo 0x10de > $bus/0000:0$n:00.0/vendor
	echo 0x030200 > $bus/0000:0$n:00.0/class
done
mount --bind /sys/class/net /run/class/net
mount --rbind /run/class /sys/class
mount --bind /run/bus /sys/bus
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0)
echo "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  $driver  Release Build" > /run/driver/nvidia/version
mount --bind /run/driver /proc/driver
echo '{"state": "COMPLETED"}' > /run/oci-hpc/oci-hpc-rdma-configure.json
cat > /usr/local/bin/wpa_cli << 'END'
#!/bin/sh
[ -e /run/wpa/$2 ] || { echo "Failed to connect to non-global ctrl_ifname: $2" >&2; exit 255; }
echo "Supplicant PAE state=$(cat /run/wpa/$2)"
END
ulimit -H -l > /run/memlock
mv ` + runnerOnHost + ` /usr/local/bin/runner
cat > ` + runnerOnHost + ` << 'END'
#!/bin/sh
ulimit -l $(cat /run/memlock)
exec /usr/local/bin/runner "$@"
END
chmod 755 /usr/local/bin/wpa_cli ` + runnerOnHost + `
`

// file writes a file of a host, and has what was there back.
func file(check, path, text string, outcome job.Outcome, says string) fault {
	return fault{check, "cp " + path + " /run/keep-" + check + "; echo '" + text + "' > " + path, "cp /run/keep-" + check + " " + path, nil, outcome, says}
}

const hcas = "/sys/class/infiniband/"

var adapterFaults = [][]fault{
	{
		file("memlock", "/run/memlock", "64", job.Fail, "a login may lock only 64 KiB of memory"),
		file("gpu_driver", "/proc/driver/nvidia/version", "", job.Fail, "8 NVIDIA GPUs on the PCI bus, but no driver is loaded"),
		{"fabric_manager", "mkdir -p /run/driver/nvidia-nvswitch/devices/0000:06:00.0", "rm -r /run/driver/nvidia-nvswitch", nil, job.Fail, "fabric manager does not run; 1 NVSwitches need it"},
		file("rdma_links", hcas+"mlx5_9/ports/1/state", "1: DOWN", job.Fail, "mlx5_9 (rdma7): the port is DOWN, its link LinkUp"),
		file("rdma_rate", hcas+"mlx5_8/ports/1/rate", "25 Gb/sec (1X EDR)", job.Fail, "mlx5_8 (rdma6): 25 Gb/s, expected 100"),
		{"rdma_flaps", "for n in 1 2 3 4; do ip link set switch5 down; ip link set switch5 up; done", "", nil, job.Warn, "mlx5_7 (rdma5): the link went down "},
		file("rdma_pcie", hcas+"mlx5_6/device/current_link_width", "8", job.Fail, "mlx5_6 (rdma4): the PCIe link has 8 lanes, others 16"),
		file("rdma_authentication", "/run/wpa/rdma3", "CONNECTING", job.Fail, "mlx5_3 (rdma3): 802.1X is CONNECTING"),
		{"rdma_addresses", "ip address flush dev rdma2", "ip address add 10.224.2.5/12 dev rdma2", nil, job.Fail, "mlx5_2 (rdma2): no IPv4 address"},
		{"rdma_mtu", "ip link set rdma1 mtu 1500", "ip link set rdma1 mtu 4220", nil, job.Warn, "mlx5_1 (rdma1): MTU 1500, expected 4220"},
		{"rdma_gid", "mv " + hcas + "mlx5_0/ports/1/gid_attrs/types/3 /run/keep", "mv /run/keep " + hcas + "mlx5_0/ports/1/gid_attrs/types/3", nil, job.Fail, "mlx5_0 (rdma0): no GID is RoCE v2 over IPv4"},
		file("rdma_agent", "/run/oci-hpc/oci-hpc-rdma-configure.json", `{"state": "FAILED"}`, job.Fail, "oci-hpc-rdma-configure: the plugin's state is FAILED"),
	},
	{
		{"peer_memory", "sed -i.keep 's/ Open//' /run/driver/nvidia/version", "mv /run/driver/nvidia/version.keep /run/driver/nvidia/version", nil, job.Warn, "neither nvidia_peermem nor DMA-BUF"},
		{"rdma_links", "mv /run/class/infiniband/mlx5_9 /run", "mv /run/mlx5_9 /run/class/infiniband", nil, job.Fail, "15 RDMA ports, BM.GPU4.8 has 16: no mlx5_9"},
		{"rdma_authentication", "mv /run/wpa /run/no-wpa", "mv /run/no-wpa /run/wpa", nil, job.Warn, "wpa_supplicant serves none of the RDMA ports"},
	},
}

// adapters makes the host one with RDMA adapters, and breaks each thing of them.
func (c checked) adapters(t *testing.T) {
	mustExec(t, c.l, c.host, "sh", "-c", adaptersScript)
	c.healthy(t, "--skip", "memlock") // it is the machine's
	c.faults(t, adapterFaults)
}
