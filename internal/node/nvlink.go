// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// links are the NVLinks of one GPU.
type links struct {
	active, inactive int
}

// askNVLinks gives the links of each GPU, by nvidia-smi's order; none where GPUs have no NVLink.
func askNVLinks(ctx context.Context) ([]links, error) {
	text, err := answer(ctx, "nvidia-smi", "nvlink", "-s")
	if err != nil {
		return nil, err
	}
	return parseNVLinks(text), nil
}

// parseNVLinks reads a line for each GPU and, indented, one for each link: its speed, or that it is inactive.
func parseNVLinks(text string) []links {
	var all []links
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "GPU ") {
			all = append(all, links{})
			continue
		}
		_, state, isLink := strings.Cut(strings.TrimPrefix(line, "Link "), ": ")
		if !strings.HasPrefix(line, "Link ") || !isLink || len(all) == 0 {
			continue
		}
		if strings.HasSuffix(state, "B/s") {
			all[len(all)-1].active++
		} else {
			all[len(all)-1].inactive++
		}
	}
	return all
}

// linksOf is how many NVLinks a GPU has, by the words of its name. PCIe cards of the same names have fewer: they
// are not here. Source: NVIDIA's data sheets.
var linksOf = []struct {
	name  string
	links int
}{
	{"V100-SXM2", 6}, {"A100-SXM4", 12}, {"H100 80GB HBM3", 18}, {"H200", 18}, {"B200", 18}, {"B300", 18}, {"GB200", 18}, {"GB300", 18},
}

// checkNVLink looks at nodes with several GPUs.
func checkNVLink(f findings) job.Check {
	const name = "nvlink"
	gpus := f.gpus.list
	if len(gpus) < 2 || f.gpus.detailsErr != nil {
		return job.Check{}
	}
	expected := 0
	for _, model := range linksOf {
		if strings.Contains(gpus[0].Name, model.name) && !strings.Contains(gpus[0].Name, "NVL") {
			expected = model.links
		}
	}
	if f.nvlinks.err != nil {
		return check(name, job.CannotTell, fmt.Sprintf("the NVLinks could not be read: %v", f.nvlinks.err), "")
	}
	found := f.nvlinks.value
	if !slices.ContainsFunc(found, func(l links) bool { return l.active+l.inactive > 0 }) {
		if expected == 0 {
			return job.Check{}
		}
		return check(name, job.Fail, fmt.Sprintf("nvidia-smi shows no NVLink; each %s has %d", gpus[0].Name, expected), "")
	}
	parts := []part{}
	for i, l := range found {
		v := verdict{outcome: job.Pass}
		switch {
		case l.inactive > 0:
			v = verdict{job.Fail, fmt.Sprintf("%d of %d NVLinks are inactive", l.inactive, l.active+l.inactive), ""}
		case l.active < expected:
			v = verdict{job.Fail, fmt.Sprintf("%d NVLinks, the model has %d", l.active, expected), ""}
		case l.active != found[0].active:
			v = verdict{job.Warn, fmt.Sprintf("%d NVLinks, GPU 0 has %d", l.active, found[0].active), ""}
		}
		parts = append(parts, part{fmt.Sprintf("GPU %d", i), v})
	}
	return combine(name, fmt.Sprintf("%d active NVLinks on each GPU", found[0].active), parts)
}
