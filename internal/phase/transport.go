// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"fmt"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// userLogs says whether the user decides what NCCL logs, and where to.
func (w *work) userLogs() bool {
	env := w.Job.Benchmark.Environment
	return env["NCCL_DEBUG"] != "" || env["NCCL_DEBUG_FILE"] != ""
}

// needsRDMA says whether the nodes of a run must have talked by RDMA; if that is not judged though the shape
// has RDMA, the remark says why.
func (w *work) needsRDMA(r run, log *job.NCCLLog) (needs bool, remark string) {
	if len(r.nodes) < 2 {
		return false, ""
	}
	switch w.Job.Benchmark.Transport {
	case job.TransportRDMA:
		return true, ""
	case job.TransportAny:
		return false, ""
	case job.TransportAuto:
	}
	s, ok := shape.Lookup(w.Job.Shape)
	if !ok || !s.IsRDMA() {
		return false, ""
	}
	const notJudged = "the transport was not judged: "
	for _, n := range r.nodes {
		if !hasRDMA(s, n.found.Facts) {
			return false, fmt.Sprintf("%s%s shows no active RDMA adapter of %s", notJudged, n.Name, s.Name)
		}
	}
	if _, known := nccl.UsesRDMA(log); !known {
		return false, notJudged + "NCCL's log does not tell (NCCL_DEBUG=INFO does)"
	}
	return true, ""
}

// hasRDMA says whether a node has an active adapter for data.
func hasRDMA(s shape.Shape, facts *job.Facts) bool {
	return facts != nil && slices.ContainsFunc(facts.HCAs, func(h job.HCA) bool {
		return h.State == "ACTIVE" && (!s.HCAs.Usable() || slices.Contains(s.HCAs.V, h.Name))
	})
}
