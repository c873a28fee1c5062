// SPDX-License-Identifier: MPL-2.0

package nccl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Evidence is what the cause of a low bandwidth can be seen by.
type Evidence struct {
	GPU         string            // as the report names it, such as NVIDIA A100-SXM4-40GB
	Environment map[string]string // as given to the ranks
	NCCL        *job.NCCLLog
}

// circumstances are evidence with its number: the lowest median of the largest messages.
type circumstances struct {
	Evidence
	hosts int
	busbw float64
}

// cause is a known reason for a number. It is named only where number and circumstance agree.
type cause struct {
	fits   func(c circumstances) bool
	says   string
	source string
}

// largeMessage is the least size at which published bandwidths can be compared.
const largeMessage = 256 << 20

var causes = []cause{
	{
		fits: func(c circumstances) bool {
			rdma, known := UsesRDMA(c.NCCL)
			return c.hosts > 1 && known && !rdma && c.busbw < 50
		},
		says:   "the nodes talk by TCP sockets, which carry a fraction of what RDMA does",
		source: "NCCL's log of this run",
	},
	{
		fits: func(c circumstances) bool {
			queuePairs, _ := strconv.Atoi(c.setting("NCCL_IB_QPS_PER_CONNECTION"))
			return c.hosts > 1 && c.isGPU("A100") && c.between(50, 110) && (queuePairs < 4 || !c.usesGID("3"))
		},
		says:   "A100 nodes near 72 GB/s instead of about 220 lack NCCL_IB_GID_INDEX=3 or NCCL_IB_QPS_PER_CONNECTION=4: set both",
		source: "Oracle Japan's tutorials: two BM.GPU4.8, 72 GB/s with NCCL's defaults, 219 to 223 with these",
	},
	{
		fits: func(c circumstances) bool {
			return c.hosts > 1 && c.isGPU("A100") && c.between(150, 201) && strings.EqualFold(c.setting("NCCL_ALGO"), "Ring")
		},
		says:   "NCCL_ALGO=Ring cannot pass the 200 GB/s of an A100 node's RDMA ports; leave the algorithm to NCCL",
		source: "Oracle Japan's tutorials: 219 to 223 GB/s on two BM.GPU4.8 without it; oci-hpc's limit of 185 is for Ring",
	},
	{
		fits: func(c circumstances) bool {
			off := c.NCCL != nil && c.NCCL.NVLSChannels != nil && *c.NCCL.NVLSChannels == 0 || c.setting("NCCL_NVLS_ENABLE") == "0"
			return c.hosts == 1 && c.isGPU("H100", "H200") && c.between(300, 420) && off
		},
		says:   "a node of Hopper GPUs near 370 GB/s instead of about 480 runs without NVLink SHARP: see that NCCL_NVLS_ENABLE is not 0 and that the fabric manager runs",
		source: "NCCL's maintainers in nccl-tests issues 212, 272, 312 and 366",
	},
	{
		fits: func(c circumstances) bool {
			return c.hosts == 1 && c.isGPU("SXM", "HBM3", "H200", "B200", "B300") && c.busbw < 60 && c.NCCL != nil && c.NCCL.Channels["SHM"] > 0
		},
		says:   "the GPUs of the node talk through host memory (SHM) and not by NVLink: see nvidia-smi nvlink --status, the fabric manager, and NCCL_P2P_DISABLE",
		source: "NCCL's log of this run; Azure publishes 25 GB/s for A100s that are joined by PCIe, 228 by NVLink",
	},
	{
		fits: func(c circumstances) bool {
			return c.hosts > 1 && c.NCCL != nil && c.NCCL.GPUDirectRDMA != nil && !*c.NCCL.GPUDirectRDMA && c.isGPU("SXM", "HBM3", "H200", "B200", "B300") && c.busbw < 150
		},
		says:   "RDMA goes through host memory, without GPUDirect: load nvidia_peermem on every node, or use the open driver with DMA-BUF",
		source: "NCCL's log of this run",
	},
}

// explain puts the known cause of a low bandwidth before the advice of its failure.
func (e Evidence) explain(f *job.Failure, s job.Summary) *job.Failure {
	if f == nil || f.Kind != KindTooSlow && f.Kind != KindSlow && f.Kind != KindRegression {
		return f
	}
	c := circumstances{Evidence: e, hosts: s.Hosts}
	for _, h := range halvesOf(s.Sizes) {
		if h.size >= largeMessage && (c.busbw == 0 || h.Median < c.busbw) {
			c.busbw = h.Median
		}
	}
	if c.busbw == 0 {
		return f
	}
	for _, cause := range causes {
		if cause.fits(c) {
			explained := *f
			explained.Advice = "known cause: " + cause.says + " (" + cause.source + "). Else " + f.Advice
			return &explained
		}
	}
	return f
}

// setting is a variable as NCCL found it, which may be from its configuration file, else as it was given.
func (e Evidence) setting(name string) string {
	if e.NCCL != nil && e.NCCL.Settings[name] != "" {
		return e.NCCL.Settings[name]
	}
	return e.Environment[name]
}

// usesGID says whether RoCE uses a GID index: by NCCL's log, else by the setting.
func (e Evidence) usesGID(index string) bool {
	if e.NCCL != nil && len(e.NCCL.GIDIndexes) > 0 {
		n, _ := strconv.Atoi(index)
		return slices.Contains(e.NCCL.GIDIndexes, n)
	}
	return e.setting("NCCL_IB_GID_INDEX") == index
}

func (e Evidence) isGPU(parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(e.GPU, part) })
}

func (c circumstances) between(least, most float64) bool { return c.busbw >= least && c.busbw < most }
