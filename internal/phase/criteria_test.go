// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// aRun is a run over nodes of a shape, whose report names the GPUs.
func aRun(shape, collective string, nodes, gpus int, model string) (*work, run, job.Measurement) {
	w := &work{Config: Config{Job: job.Job{Shape: shape, Benchmark: &job.Benchmark{Collective: collective}}}}
	r := run{ranks: nodes * gpus}
	report := &job.Report{Collective: collective}
	for n := range nodes {
		facts := &job.Facts{HCAs: []job.HCA{{Name: "mlx5_0", State: "ACTIVE"}}}
		r.nodes = append(r.nodes, &nodeWork{Node: job.Node{Name: fmt.Sprint("gpu-", n)}, found: job.NodeResult{Facts: facts}})
		for g := range gpus {
			report.Ranks = append(report.Ranks, job.Rank{Rank: n*gpus + g, Host: fmt.Sprint("gpu-", n), Name: model})
		}
	}
	return w, r, job.Measurement{Report: report}
}

// The catalog's limits judge what they are for, and nothing else.
func TestCatalogLimits(t *testing.T) {
	t.Parallel()
	const model = "NVIDIA H100 80GB HBM3"
	for name, test := range map[string]struct {
		shape, collective string
		nodes, gpus       int
		model             string
		why               string // there is no limit
	}{
		"two nodes":         {"BM.GPU.H100.8", "all_reduce", 2, 8, model, ""},
		"three nodes":       {"BM.GPU.H100.8", "all_reduce", 3, 8, model, "no limit for 3 nodes of BM.GPU.H100.8"},
		"another operation": {"BM.GPU.H100.8", "alltoall", 2, 8, model, "for all_reduce alone"},
		"half of the GPUs":  {"BM.GPU.H100.8", "all_reduce", 2, 4, model, "8 GPUs a node, and 4 took part"},
		"other GPUs":        {"BM.GPU.H100.8", "all_reduce", 2, 8, "lab " + model, "gpu-0 is lab NVIDIA H100"},
		"low confidence":    {"BM.GPU.H100T.8", "all_reduce", 2, 8, model, "no limit for 2 nodes"},
	} {
		w, r, m := aRun(test.shape, test.collective, test.nodes, test.gpus, test.model)
		c := w.criteria(r, m)
		if test.why != "" {
			if len(c.Catalog) != 0 || !strings.Contains(c.NoCatalog, test.why) {
				t.Errorf("%s: %d limits, %q", name, len(c.Catalog), c.NoCatalog)
			}
			continue
		}
		if len(c.Catalog) == 0 || *c.Catalog[0].MinBusbwGBPerS != 440 || c.Catalog[0].FromBytes != 1<<30 ||
			c.Catalog[0].Origin != "catalog: BM.GPU.H100.8 on 2 nodes, oci-hpc 3.1 health checks" {
			t.Errorf("%s: %+v, %q", name, c.Catalog, c.NoCatalog)
		}
	}
	w, r, m := aRun("", "all_reduce", 2, 8, model)
	if c := w.criteria(r, m); len(c.Catalog) != 0 || c.NoCatalog != "" {
		t.Errorf("without a shape: %+v", c)
	}
}

func TestNeedsRDMA(t *testing.T) {
	t.Parallel()
	sockets, rdma := &job.NCCLLog{Network: "Socket"}, &job.NCCLLog{Network: "IB"}
	for name, test := range map[string]struct {
		shape     string
		transport job.Transport
		nodes     int
		state     string // of the adapters
		log       *job.NCCLLog
		needs     bool
		remark    string
	}{
		"RDMA shape":            {"BM.GPU.H100.8", job.TransportAuto, 2, "ACTIVE", sockets, true, ""},
		"RDMA shape, all good":  {"BM.GPU.H100.8", job.TransportAuto, 2, "ACTIVE", rdma, true, ""},
		"one node":              {"BM.GPU.H100.8", job.TransportRDMA, 1, "ACTIVE", sockets, false, ""},
		"adapters down":         {"BM.GPU.H100.8", job.TransportAuto, 2, "DOWN", sockets, false, "gpu-0 shows no active RDMA adapter of BM.GPU.H100.8"},
		"log does not tell":     {"BM.GPU.H100.8", job.TransportAuto, 2, "ACTIVE", nil, false, "NCCL_DEBUG=INFO"},
		"shape without RDMA":    {"BM.GPU.A10.4", job.TransportAuto, 2, "ACTIVE", sockets, false, ""},
		"no shape":              {"", job.TransportAuto, 2, "ACTIVE", sockets, false, ""},
		"asked for, no adapter": {"", job.TransportRDMA, 2, "DOWN", nil, true, ""},
		"any":                   {"BM.GPU.H100.8", job.TransportAny, 2, "ACTIVE", sockets, false, ""},
	} {
		w, r, _ := aRun(test.shape, "all_reduce", test.nodes, 8, "")
		w.Job.Benchmark.Transport = test.transport
		for _, n := range r.nodes {
			n.found.Facts.HCAs[0].State = test.state
		}
		needs, remark := w.needsRDMA(r, test.log)
		if needs != test.needs || !strings.Contains(remark, test.remark) || test.remark == "" && remark != "" {
			t.Errorf("%s: %t %q", name, needs, remark)
		}
	}
}

// A repeat that could not run keeps the others from passing, and the verdict says which it was.
func TestSummariseSaysWhichRepeatFailed(t *testing.T) {
	t.Parallel()
	w, r, _ := aRun("", "all_reduce", 2, 8, "")
	busbw := 100.0
	good := job.Measurement{Outcome: job.Pass, Repeat: 1, Report: &job.Report{Rows: []job.Row{{SizeBytes: 8, OutOfPlace: &job.Placement{BusbwGBPerS: &busbw}}}}}
	for outcome, kind := range map[job.Outcome]string{job.CouldNotRun: "timeout", job.Fail: "wrong_results"} {
		bad := job.Measurement{Outcome: outcome, Repeat: 2, Failure: &job.Failure{Kind: kind, Message: "it failed"}}
		s := w.summarise(r, []job.Measurement{good, bad}, 3)
		if s.Outcome != outcome || s.Failure.Message != "repeat 2 of 3: it failed" || s.Runs != 1 || bad.Failure.Message != "it failed" {
			t.Errorf("%s: %+v %+v", outcome, s, s.Failure)
		}
	}
	if s := w.summarise(r, []job.Measurement{good, good, good}, 3); s.Outcome != job.Pass || s.Runs != 3 {
		t.Errorf("%+v", s)
	}
}
