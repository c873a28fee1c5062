// SPDX-License-Identifier: MPL-2.0

package node

import (
	"io/fs"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// hca is one function of an RDMA adapter with its port, as sysfs shows it.
type hca struct {
	job.HCA
	physState string // such as LinkUp
	downs     int    // how often the link went down since boot
	mtu       int
	addresses []netip.Prefix // IPv4
	gids      []gid
	width     int // lanes of PCIe
	maxWidth  int
	speed     float64 // GT/s of PCIe
	maxSpeed  float64
	ethernet  bool
}

// gid is an entry of a port's table.
type gid struct {
	index   int
	kind    string // such as RoCE v2
	address netip.Addr
}

// gidsRead is how many entries of a table are read: it has 256, and OCI's are among the first.
const gidsRead = 16

// rdmaFindings is what there is for RDMA.
type rdmaFindings struct {
	hcas []hca // by name
	// onBus counts the PCI functions of NVIDIA's network adapters (Mellanox), with and without a driver.
	onBus int
}

const mellanox = "0x15b3"

// readRDMA reads sysfs below root. addresses gives those of an interface.
func readRDMA(root fs.FS, addresses func(string) []netip.Prefix) rdmaFindings {
	var f rdmaFindings
	for _, device := range names(root, "sys/bus/pci/devices") {
		if line(root, "sys/bus/pci/devices", device, "vendor") == mellanox {
			f.onBus++
		}
	}
	for _, name := range names(root, "sys/class/infiniband") {
		f.hcas = append(f.hcas, readHCA(root, name, addresses))
	}
	slices.SortFunc(f.hcas, func(a, b hca) int { return compareVersions(a.Name, b.Name) })
	return f
}

func readHCA(root fs.FS, name string, addresses func(string) []netip.Prefix) hca {
	dir := path.Join("sys/class/infiniband", name)
	port := path.Join(dir, "ports/1")
	h := hca{HCA: job.HCA{Name: name, Firmware: line(root, dir, "fw_ver")}}
	// Such as "4: ACTIVE", "5: LinkUp" and "200 Gb/sec (4X HDR)".
	_, h.State, _ = strings.Cut(line(root, port, "state"), ": ")
	_, h.physState, _ = strings.Cut(line(root, port, "phys_state"), ": ")
	rate, _ := leadingNumber(line(root, port, "rate"))
	h.RateGbps = int(rate)
	h.ethernet = line(root, port, "link_layer") == "Ethernet"
	h.downs = number(line(root, port, "counters/link_downed"))
	h.width, h.maxWidth = number(line(root, dir, "device/current_link_width")), number(line(root, dir, "device/max_link_width"))
	h.speed, h.maxSpeed = gigatransfers(line(root, dir, "device/current_link_speed")), gigatransfers(line(root, dir, "device/max_link_speed"))
	if interfaces := names(root, path.Join(dir, "device/net")); len(interfaces) > 0 {
		h.Interface = interfaces[0]
		net := path.Join("sys/class/net", h.Interface)
		h.mtu = number(line(root, net, "mtu"))
		h.downs = max(h.downs, number(line(root, net, "carrier_down_count")))
		h.addresses = addresses(h.Interface)
	}
	for index := range gidsRead {
		n := strconv.Itoa(index)
		kind := line(root, port, "gid_attrs/types", n) // an empty entry cannot be read
		address, err := netip.ParseAddr(line(root, port, "gids", n))
		if kind != "" && err == nil && !address.IsUnspecified() {
			h.gids = append(h.gids, gid{index, kind, address})
		}
	}
	return h
}

// names lists a folder; a missing one is empty.
func names(root fs.FS, dir string) []string {
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// line reads a file of one value; what cannot be read is empty.
func line(root fs.FS, elements ...string) string {
	text, err := fs.ReadFile(root, path.Join(elements...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func number(text string) int {
	n, _ := leadingNumber(text)
	return int(n)
}

// gigatransfers reads "32.0 GT/s PCIe".
func gigatransfers(text string) float64 {
	value, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0
	}
	return n
}

// addressesOf gives the IPv4 addresses of an interface of this machine.
func addressesOf(name string) []netip.Prefix {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil
	}
	all, err := i.Addrs()
	if err != nil {
		return nil
	}
	var found []netip.Prefix
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			found = append(found, p)
		}
	}
	return found
}
