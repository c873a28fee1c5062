// SPDX-License-Identifier: MPL-2.0

package node

import (
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// recording is what the programs and files of a node say: text that the real parsers read. A test makes a sick
// node of the healthy one by changing what a program said, or a file.
type recording struct {
	request Request
	smi     string // nvidia-smi -q -x; empty: only its table is known
	nvlink  string // nvidia-smi nvlink -s
	log     string // of the kernel
	wpa     func(port string) (string, error)
	files   fstest.MapFS // below /
	address map[string]string
	facts   job.Facts
	meta    metadata
	metaErr error
	logErr  error
	clock   clock
	space   []space
	memlock uint64
	mlxreg  func(port string) (string, error)
}

func recorded(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (r *recording) set(path, text string) {
	r.files[path] = &fstest.MapFile{Data: []byte(text + "\n")}
}

// remove takes away a file, or a folder with all in it.
func (r *recording) remove(path string) {
	for name := range r.files {
		if name == path || strings.HasPrefix(name, path+"/") {
			delete(r.files, name)
		}
	}
}

// say replaces what nvidia-smi said of one GPU, or of all when gpu is -1.
func (r *recording) say(gpu int, old, replacement string) {
	parts := strings.Split(r.smi, "\t<gpu id=")
	for i := range parts {
		if i > 0 && (gpu < 0 || i == gpu+1) {
			if !strings.Contains(parts[i], old) {
				panic("nvidia-smi did not say " + old)
			}
			parts[i] = strings.Replace(parts[i], old, replacement, 1)
		}
	}
	r.smi = strings.Join(parts, "\t<gpu id=")
}

// h100HCAs are those of the catalog, and two that serve the VCN.
var h100HCAs = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}

// healthyNode is a BM.GPU.H100.8 without a fault: what nvidia-smi says of a H200, eight times, with the fabric and
// NVLinks that GPUs in such machines have, and RDMA ports as mlx5_core shows them.
func healthyNode(t *testing.T) *recording {
	t.Helper()
	r := &recording{
		request: Request{Shape: "BM.GPU.H100.8", Health: true, Collective: "all_reduce", MPI: true},
		files:   fstest.MapFS{}, address: map[string]string{}, memlock: unix.RLIM_INFINITY,
		clock: clock{synchronised: true, source: "169.254.169.254", off: 12 * time.Microsecond, machine: true},
		space: []space{{path: "/", free: 1 << 40, inodes: 1000, freeInodes: 900}},
		facts: job.Facts{Kernel: "5.15.0", CloudInit: "done", OpenMPIVersion: "4.1.7", NCCLTests: "/opt/all_reduce_perf", Timezone: "UTC", Mounts: []string{"/"}},
		wpa: func(string) (string, error) {
			return "bssid=01:80:c2:00:00:03\nSupplicant PAE state=AUTHENTICATED\nsuppPortStatus=Authorized\n", nil
		},
	}
	one := recorded(t, "nvidia-smi_580_h200.xml")
	start, end := strings.Index(one, "\t<gpu id="), strings.Index(one, "</gpu>")+len("</gpu>\n")
	r.smi = one[:start] + strings.Repeat(one[start:end], 8) + one[end:]
	r.say(-1, "<product_name>NVIDIA H200<", "<product_name>NVIDIA H100 80GB HBM3<")
	r.say(-1, "<state>N/A<", "<state>Completed<")
	r.say(-1, "<status>N/A<", "<status>Success<")
	for gpu := range 8 {
		r.nvlink += fmt.Sprintf("GPU %d: NVIDIA H100 80GB HBM3 (UUID: GPU-%d)\n", gpu, gpu)
		for link := range 18 {
			r.nvlink += fmt.Sprintf("\t Link %d: 26.562 GB/s\n", link)
		}
		r.set(fmt.Sprintf("sys/bus/pci/devices/0000:%02x:00.0/vendor", 0x0f+gpu), "0x10de")
		r.set(fmt.Sprintf("sys/bus/pci/devices/0000:%02x:00.0/class", 0x0f+gpu), "0x030200")
	}
	r.set("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder)")
	r.set("proc/modules", "nvidia_peermem 16384 0 - Live 0x0000000000000000\nnvidia 14299136 3 nvidia_uvm,nvidia_peermem, Live 0x0 (O)")
	r.set("run/oci-hpc/oci-hpc-rdma-configure.json", `{"state": "COMPLETED"}`)
	r.set("proc/uptime", "9000.25 17804.31")
	r.set("run/oci-hpc/oci-rdma-authentication.json", `{"state": "COMPLETED"}`)
	r.log = "<6>[    0.471482] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
	r.meta.Instance.Shape = "BM.GPU.H100.8"
	r.meta.Host.RackID, r.meta.Host.RDMA.HPCIsland, r.meta.Host.RDMA.NetworkBlock = "rack", "ocid1.hpcisland.oc1.nrt.aaaaaaaabcdefghi", "ocid1.networkblock.oc1.nrt.aaaaaaaabcdefghj"
	for cpu, governor := range []string{"performance", "performance"} {
		r.set(fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu), governor)
	}
	r.mlxreg = func(string) (string, error) {
		return "Field Name     | Data\n===========================\nlocal_port     | 0x00000001\ncmd_type       | 0x00000000\nvalue          | 0x00000000\n", nil
	}
	for _, n := range h100HCAs {
		r.putHCA(n)
	}
	return r
}

func (r *recording) putHCA(n int) {
	name := fmt.Sprintf("mlx5_%d", n)
	netdev := fmt.Sprintf("rdma%d", n)
	address := fmt.Sprintf("10.224.%d.5", n)
	dir, port, net := "sys/class/infiniband/"+name, "sys/class/infiniband/"+name+"/ports/1", "sys/class/net/"+netdev
	for path, text := range map[string]string{
		dir + "/fw_ver": "28.39.3004", dir + "/device/current_link_width": "16", dir + "/device/max_link_width": "16",
		dir + "/device/current_link_speed": "32.0 GT/s PCIe", dir + "/device/max_link_speed": "32.0 GT/s PCIe", dir + "/device/net/" + netdev + "/mtu": "4220",
		port + "/state": "4: ACTIVE", port + "/phys_state": "5: LinkUp", port + "/rate": "200 Gb/sec (4X HDR)", port + "/link_layer": "Ethernet",
		port + "/counters/link_downed": "1", net + "/mtu": "4220", net + "/carrier_down_count": "2",
		port + "/gids/0": "fe80:0000:0000:0000:0a00:0aff:fe0a:0a0a", port + "/gid_attrs/types/0": "IB/RoCE v1",
		port + "/gids/1": "fe80:0000:0000:0000:0a00:0aff:fe0a:0a0a", port + "/gid_attrs/types/1": "RoCE v2",
		port + "/gids/2": fmt.Sprintf("0000:0000:0000:0000:0000:ffff:0ae0:%02x05", n), port + "/gid_attrs/types/2": "IB/RoCE v1",
		port + "/gids/3": fmt.Sprintf("0000:0000:0000:0000:0000:ffff:0ae0:%02x05", n), port + "/gid_attrs/types/3": "RoCE v2",
		port + "/gids/4": "0000:0000:0000:0000:0000:0000:0000:0000", // an empty entry has no type
		fmt.Sprintf("sys/bus/pci/devices/0000:a%02x:00.0/vendor", n): mellanox,
	} {
		r.set(path, text)
	}
	r.address[netdev] = address
}

// findings reads the recording as [gather] reads the node.
func (r *recording) findings() findings {
	f := findings{Facts: r.facts, shape: r.request.Shape, clock: find(r.clock, nil), space: r.space, memlock: find(r.memlock, nil)}
	log, err := parseSMI(r.smi)
	f.gpus = gpuFindings{list: log.list(), driver: log.Driver, details: log.GPUs}
	if err != nil {
		f.gpus = gpuFindings{list: []job.GPU{{Name: "lab NVIDIA H200"}}, driver: "580.00-lab", detailsErr: err}
	}
	f.GPUs, f.DriverVersion = f.gpus.list, f.gpus.driver
	f.nvlinks = find(parseNVLinks(r.nvlink), nil)
	f.xids = find(parseXIDs(r.log), r.logErr)
	f.metadata = find(r.meta, r.metaErr)
	f.Topology = r.meta.topology()
	var root fs.FS = r.files
	f.agent, f.nvidia, f.upTime, f.governors = readAgent(root), readDriver(root), upTime(root), readGovernors(root)
	f.rdma = readRDMA(root, func(name string) []netip.Prefix {
		if r.address[name] == "" {
			return nil
		}
		return []netip.Prefix{netip.MustParsePrefix(r.address[name] + "/12")}
	})
	for _, h := range f.rdma.hcas {
		f.HCAs = append(f.HCAs, h.HCA)
	}
	for _, h := range portsOf(f.shape, f.rdma) {
		status, err := r.wpa(h.Interface)
		f.authentication = append(f.authentication, portAuthentication{h.Name, authenticationState(status), err})
		table, err := r.mlxreg(h.Name)
		f.congestion = append(f.congestion, congestionControl{h.Name, byRoundTrip(table), err})
	}
	return f
}
