// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// refreshes measures what it costs to learn the state and the addresses of a cluster's nodes.
func (o options) refreshes(ctx context.Context, counts []int) error {
	most, err := strconv.Atoi(o.officialMost)
	if err != nil {
		return fmt.Errorf("-official-most: %q is no number of nodes", o.officialMost)
	}
	t := newTable("Refresh: a cluster network and the addresses of all its nodes (medians)",
		"nodes", "API calls", "API s", "terraform s", "provider MiB", "official: API calls", "terraform s", "provider MiB")
	for _, nodes := range counts {
		cells, err := o.refresh(ctx, nodes, o.official != "" && nodes <= most)
		if err != nil {
			return fmt.Errorf("refresh %d nodes: %w", nodes, err)
		}
		t.row(cells...)
	}
	return t.Flush()
}

func (o options) refresh(ctx context.Context, nodes int, beside bool) ([]string, error) {
	region, clusters, c, err := startCluster(ctx, nodes)
	if region != nil {
		defer func() { _ = region.Close() }() //nolint:contextcheck // it is closed whatever became of the context
	}
	if err != nil {
		return nil, err
	}
	ours, err := newProject(oursSource, o.ours, region.ProviderHCL()+clusterHCL(nodes))
	if err != nil {
		return nil, err
	}
	defer ours.remove()
	if _, err := ours.terraform(ctx, "import", "-no-color", "ocihpc_gpu_cluster.this", c.ID); err != nil {
		return nil, err
	}
	var api, refresh, official []sample
	var theirs *project
	if beside {
		theirs, err = newProject(officialSource, o.official, officialProviderHCL(region)+officialNodesHCL(c.ID), officialEnvironment(region))
		if err != nil {
			return nil, err
		}
		defer theirs.remove()
	}
	for range o.runs {
		s, err := readCluster(ctx, region, clusters, c.ID)
		if err != nil {
			return nil, err
		}
		api = append(api, s)
		if s, err = counted(ctx, region, ours, "plan", "-refresh-only", "-no-color"); err != nil {
			return nil, err
		}
		refresh = append(refresh, s)
		if beside {
			if s, err = counted(ctx, region, theirs, "plan", "-no-color"); err != nil {
				return nil, err
			}
			official = append(official, s)
		}
	}
	a, r := median(api), median(refresh)
	cells := []string{strconv.Itoa(nodes), strconv.Itoa(r.calls), seconds(a), seconds(r), mebibytes(r)}
	if !beside {
		return append(cells, "-", "-", "-"), nil
	}
	f := median(official)
	return append(cells, strconv.Itoa(f.calls), seconds(f), mebibytes(f)), nil
}

// readCluster measures the API calls of a refresh alone, without Terraform.
func readCluster(ctx context.Context, region *acctest.Region, clusters *oci.Clusters, id string) (sample, error) {
	before, begun := region.Stats().Requests, time.Now()
	c, err := clusters.Get(ctx, id)
	if err != nil {
		return sample{}, err
	}
	if _, err := clusters.Nodes(ctx, c); err != nil {
		return sample{}, err
	}
	return sample{seconds: time.Since(begun).Seconds(), calls: region.Stats().Requests - before}, nil
}

// counted runs Terraform and counts the requests that reach the region meanwhile.
func counted(ctx context.Context, region *acctest.Region, p *project, arguments ...string) (sample, error) {
	before := region.Stats().Requests
	s, err := p.terraform(ctx, arguments...)
	s.calls = region.Stats().Requests - before
	return s, err
}

// commands measures validate and plan of one new cluster.
func (o options) commands(ctx context.Context) error {
	region, err := acctest.NewRegion(nil)
	if err != nil {
		return err
	}
	defer func() { _ = region.Close() }() //nolint:contextcheck // it is closed whatever became of the context
	ours, err := newProject(oursSource, o.ours, region.ProviderHCL()+clusterHCL(2))
	if err != nil {
		return err
	}
	defer ours.remove()
	projects := []*project{ours}
	if o.official != "" {
		theirs, err := newProject(officialSource, o.official, officialProviderHCL(region)+officialClusterHCL(2), officialEnvironment(region))
		if err != nil {
			return err
		}
		defer theirs.remove()
		projects = append(projects, theirs)
	}
	t := newTable("One new cluster (medians)", "command", "s", "provider MiB", "official: s", "provider MiB", "s ratio", "MiB ratio")
	for _, command := range []string{"validate", "plan"} {
		samples := make([][]sample, len(projects))
		for range o.runs {
			for i, p := range projects {
				s, err := p.terraform(ctx, command, "-no-color")
				if err != nil {
					return err
				}
				samples[i] = append(samples[i], s)
			}
		}
		our := median(samples[0])
		cells := []string{command, seconds(our), mebibytes(our), "-", "-", "-", "-"}
		if len(samples) > 1 {
			their := median(samples[1])
			cells = []string{
				command, seconds(our), mebibytes(our), seconds(their), mebibytes(their),
				fmt.Sprintf("%.1f", their.seconds/our.seconds), fmt.Sprintf("%.1f", their.memory/our.memory),
			}
		}
		t.row(cells...)
	}
	return t.Flush()
}

func seconds(s sample) string { return fmt.Sprintf("%.2f", s.seconds) }

func mebibytes(s sample) string { return fmt.Sprintf("%.0f", s.memory) }
