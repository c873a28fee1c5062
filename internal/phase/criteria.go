// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"fmt"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/nccl"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// criteria is what a run's bandwidth is judged by: the job's expectation, else the shape catalog's limits.
func (w *work) criteria(r run, m job.Measurement) nccl.Criteria {
	c := nccl.Criteria{Expect: r.expect, Baseline: r.baseline, Evidence: nccl.Evidence{Environment: m.Environment, NCCL: m.NCCL}}
	report := m.Report
	if report != nil && len(report.Ranks) > 0 {
		c.Evidence.GPU = report.Ranks[0].Name
	}
	s, ok := shape.Lookup(w.Job.Shape)
	if !ok || report == nil { // without a shape nobody expects the catalog to judge
		return c
	}
	if c.NoCatalog = notOfCatalog(s, w.Job.Benchmark.Collective, r, report); c.NoCatalog != "" {
		return c
	}
	for _, b := range s.AllReduce {
		if b.Nodes == r.hosts() && b.Min.Usable() {
			least := b.Min.V
			c.Catalog = append(c.Catalog, job.AppliedLimit{
				Limit:  job.Limit{FromBytes: b.FromBytes, ToBytes: b.ToBytes, MinBusbwGBPerS: &least},
				Origin: fmt.Sprintf("catalog: %s on %s, %s", s.Name, nodes(b.Nodes), b.Min.Source),
			})
		}
	}
	if len(c.Catalog) == 0 {
		c.NoCatalog = fmt.Sprintf("the catalog has no limit for %s of %s", nodes(r.hosts()), s.Name)
	}
	return c
}

// notOfCatalog says why the catalog's limits do not hold for a run; empty where they do. They are those of
// all_reduce over whole nodes with the shape's own GPUs.
func notOfCatalog(s shape.Shape, collective string, r run, report *job.Report) string {
	if collective != "all_reduce" {
		return "the catalog has limits for all_reduce alone"
	}
	if each := r.ranks / r.hosts(); s.GPUs.Known() && each != s.GPUs.V {
		return fmt.Sprintf("the catalog's limits are for %d GPUs a node, and %d took part", s.GPUs.V, each)
	}
	for _, rank := range report.Ranks {
		if s.GPUModel.Known() && rank.Name != "" && rank.Name != s.GPUModel.V {
			return fmt.Sprintf("the catalog's limits are for %s, and %s is %s", s.GPUModel.V, rank.Host, strings.TrimSpace(rank.Name))
		}
	}
	return ""
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
