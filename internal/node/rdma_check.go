// SPDX-License-Identifier: MPL-2.0

package node

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

const (
	// rdmaMTU is what Oracle's agent and oci-cn-auth set.
	rdmaMTU = 4220
	// flapsAllowed is how much oftener than the steadiest port a link may have gone down: all do at boot.
	flapsAllowed = 3
)

// checkRDMA judges the data ports: those that the catalog names for the shape, else those that are not of the VCN.
func checkRDMA(f findings) []job.Check {
	s, known := shape.Lookup(f.shape)
	if known && !s.IsRDMA() {
		return nil
	}
	wanted := 0
	if known && s.HCAs.Usable() {
		wanted = len(s.HCAs.V)
	}
	ports := portsOf(f.shape, f.rdma)
	if len(ports) == 0 {
		return noRDMA(f, known)
	}
	checks := []job.Check{checkLinks(f, s, ports, wanted), checkRate(ports, s), checkFlaps(ports), checkRDMAPCIe(ports)}
	if !ports[0].ethernet { // InfiniBand has neither addresses of its own nor 802.1X
		return checks
	}
	return append(checks, checkAuthentication(f), checkAddresses(ports), checkMTU(ports), checkGIDs(ports, s), checkCongestion(f))
}

// portsOf gives the ports for data.
func portsOf(shapeName string, rdma rdmaFindings) []hca {
	s, known := shape.Lookup(shapeName)
	if known && !s.IsRDMA() {
		return nil
	}
	var ports []hca
	if s.HCAs.Usable() {
		for _, h := range rdma.hcas {
			if slices.Contains(s.HCAs.V, h.Name) {
				ports = append(ports, h)
			}
		}
	}
	if len(ports) > 0 {
		return ports
	}
	for _, h := range rdma.hcas { // images may rename devices
		if strings.HasPrefix(h.Interface, "rdma") || !h.ethernet || slices.Contains(s.Topology.Interfaces.V, h.Interface) {
			ports = append(ports, h)
		}
	}
	return ports
}

func noRDMA(f findings, known bool) []job.Check {
	const name = "rdma_links"
	switch {
	case !known:
		return nil
	case f.rdma.onBus == 0:
		return []job.Check{check(name, job.CannotTell,
			fmt.Sprintf("%s has RDMA, but there is no such adapter on the PCI bus: this machine is not a %s itself (a lab host, or a virtual machine)", f.shape, f.shape), "check on the node itself")}
	}
	return []job.Check{check(name, job.Fail,
		fmt.Sprintf("no RDMA device, though there are %d functions of network adapters on the PCI bus", f.rdma.onBus),
		"load the driver: sudo modprobe mlx5_ib; or use an image with NVIDIA's OFED or DOCA, such as Oracle's HPC images")}
}

// each judges every port by itself.
func each(name, good string, ports []hca, judge func(hca) verdict) job.Check {
	parts := make([]part, 0, len(ports))
	for _, h := range ports {
		label := h.Name
		if h.Interface != "" {
			label += " (" + h.Interface + ")"
		}
		parts = append(parts, part{label, judge(h)})
	}
	return combine(name, good, parts)
}

func checkLinks(f findings, s shape.Shape, ports []hca, wanted int) job.Check {
	const name = "rdma_links"
	if len(ports) < wanted {
		var absent []string
		for _, h := range s.HCAs.V {
			if !slices.ContainsFunc(f.rdma.hcas, func(found hca) bool { return found.Name == h }) {
				absent = append(absent, h)
			}
		}
		return check(name, job.Fail, fmt.Sprintf("%d RDMA ports, %s has %d: no %s", len(ports), f.shape, wanted, strings.Join(absent, ", ")), "")
	}
	down := job.Fail
	if wanted == 0 {
		down = job.Warn
	}
	advice := ""
	if f.young() { // Oracle Cloud Agent brings the interfaces up, and with them the ports
		advice = job.AdviceWait
	}
	return each(name, fmt.Sprintf("%d RDMA ports are up", len(ports)), ports, func(h hca) verdict {
		if h.State == "ACTIVE" && (h.physState == "LinkUp" || h.physState == "") {
			return pass
		}
		return verdict{down, fmt.Sprintf("the port is %s, its link %s", cmp.Or(h.State, "unknown"), cmp.Or(h.physState, "unknown")), advice}
	})
}

func checkRate(ports []hca, s shape.Shape) job.Check {
	expected, outcome := s.RDMAGbpsPort.V, job.Fail
	if !s.RDMAGbpsPort.Usable() || s.HCAsPerPort.V > 1 { // how functions share a port's speed is not documented
		outcome = job.Warn
		expected /= max(1, s.HCAsPerPort.V)
	}
	fastest := 0
	for _, h := range ports {
		fastest = max(fastest, h.RateGbps)
	}
	if expected == 0 {
		expected, outcome = fastest, job.Warn
	}
	return each("rdma_rate", fmt.Sprintf("%d Gb/s on every RDMA port", fastest), ports, func(h hca) verdict {
		switch {
		case h.State != "ACTIVE":
			return verdict{} // rdma_links tells
		case h.RateGbps < expected:
			return verdict{outcome, fmt.Sprintf("%d Gb/s, expected %d", h.RateGbps, expected), ""}
		}
		return pass
	})
}

func checkFlaps(ports []hca) job.Check {
	steadiest := ports[0].downs
	for _, h := range ports {
		steadiest = min(steadiest, h.downs)
	}
	return each("rdma_flaps", "no link goes down oftener than the others", ports, func(h hca) verdict {
		if h.downs-steadiest >= flapsAllowed {
			return verdict{job.Warn, fmt.Sprintf("the link went down %d times since boot, the steadiest one %d times", h.downs, steadiest), ""}
		}
		return pass
	})
}

// checkRDMAPCIe takes the widest link as what the machine is built for: a slot may be narrower than its adapter.
func checkRDMAPCIe(ports []hca) job.Check {
	widest, fastest := 0, 0.0
	for _, h := range ports {
		widest, fastest = max(widest, h.width), max(fastest, h.speed)
	}
	return each("rdma_pcie", fmt.Sprintf("%d lanes at %g GT/s for every RDMA adapter", widest, fastest), ports, func(h hca) verdict {
		switch {
		case h.width == 0:
			return verdict{}
		case h.width < widest:
			return verdict{job.Fail, fmt.Sprintf("the PCIe link has %d lanes, others %d", h.width, widest), ""}
		case h.width < h.maxWidth:
			return verdict{job.Warn, fmt.Sprintf("the PCIe link has %d lanes of %d", h.width, h.maxWidth), ""}
		case h.speed < h.maxSpeed:
			return verdict{job.Warn, fmt.Sprintf("the PCIe link runs at %g GT/s of %g", h.speed, h.maxSpeed), ""}
		}
		return pass
	})
}

func checkAddresses(ports []hca) job.Check {
	owner := map[string]string{}
	return each("rdma_addresses", "every RDMA port has an IPv4 address of its own", ports, func(h hca) verdict {
		if len(h.addresses) == 0 {
			return verdict{job.Fail, "no IPv4 address", ""}
		}
		address := h.addresses[0].Addr().String()
		if other := owner[address]; other != "" {
			return verdict{job.Fail, fmt.Sprintf("%s is also on %s", address, other), "on the node: ip -4 address; configure one address for each port"}
		}
		owner[address] = h.Name
		return pass
	})
}

func checkMTU(ports []hca) job.Check {
	return each("rdma_mtu", fmt.Sprintf("MTU %d on every RDMA port", ports[0].mtu), ports, func(h hca) verdict {
		switch {
		case h.mtu == 0:
			return verdict{}
		case h.mtu < rdmaMTU:
			return verdict{job.Warn, fmt.Sprintf("MTU %d, expected %d", h.mtu, rdmaMTU), ""}
		case h.mtu != ports[0].mtu:
			return verdict{job.Warn, fmt.Sprintf("MTU %d, but %d on %s", h.mtu, ports[0].mtu, ports[0].Name), ""}
		}
		return pass
	})
}

// checkGIDs looks for what NCCL uses: the entry of its index, where the shape has one set.
func checkGIDs(ports []hca, s shape.Shape) job.Check {
	index, err := strconv.Atoi(s.Environment()["NCCL_IB_GID_INDEX"])
	fixed := err == nil
	return each("rdma_gid", "RoCE v2 over IPv4 where NCCL looks for it", ports, func(h hca) verdict {
		if h.State != "ACTIVE" {
			return verdict{} // rdma_links tells
		}
		var fitting []string
		for _, g := range h.gids {
			if g.kind != "RoCE v2" || !g.address.Is4In6() {
				continue
			}
			if !fixed || g.index == index {
				return pass
			}
			fitting = append(fitting, strconv.Itoa(g.index))
		}
		if len(fitting) == 0 {
			return verdict{job.Fail, "no GID is RoCE v2 over IPv4", ""}
		}
		return verdict{job.Warn, fmt.Sprintf("GID %d is not RoCE v2 over IPv4, but %s is", index, strings.Join(fitting, ", ")),
			"set NCCL_IB_GID_INDEX=" + fitting[0] + " in the benchmark's environment"}
	})
}
