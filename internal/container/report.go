// SPDX-License-Identifier: MPL-2.0

package container

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// versionPrograms say what a component's version is. They are asked, not the record: what runs counts.
var versionPrograms = map[job.Engine]map[string][]string{
	job.Containerd: {
		compContainerd:   {binDir + "/containerd", "--version"},
		compRunc:         {sbinDir + "/runc", "--version"},
		compNerdctl:      {binDir + "/nerdctl", "--version"},
		compRootlessKit:  {binDir + "/rootlesskit", "--version"},
		compBypass4netns: {binDir + "/bypass4netns", "--version"},
		compToolkit:      {"nvidia-ctk", "--version"},
	},
	job.Docker: {
		compDocker:  {"docker", "version", "--format={{.Server.Version}}"},
		compToolkit: {"nvidia-ctk", "--version"},
	},
	job.Podman: {
		compPodman:  {"podman", "--version"},
		compToolkit: {"nvidia-ctk", "--version"},
	},
}

var anyVersion = regexp.MustCompile(`\bv?([0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+~-]*)`)

// Report fills in what is there after the steps: versions by component, the digests of the images that were asked for,
// and the GPUs that a container sees. What cannot be found out is left out, and told in the error.
func Report(ctx context.Context, want job.ContainerRuntime, o Options, result *job.NodeSetup) error {
	if want.Remove {
		return nil
	}
	p, err := newPlan(ctx, want, o)
	if err != nil {
		return err
	}
	result.Engine = want.Engine
	result.Versions = p.versions(ctx)
	c := p.client()
	prove := cmp.Or(want.ProofImage, first(want.Images))
	references := slices.Clone(want.Images)
	if prove != "" && !slices.Contains(references, prove) {
		references = append(references, prove)
	}
	result.Images = map[string]string{}
	for _, reference := range references {
		found, looked := c.digest(ctx, reference)
		if looked == nil && found != "" {
			result.Images[reference] = found
		}
		err = errors.Join(err, looked)
	}
	if p.gpus && result.Images[prove] != "" {
		seen, failed := c.gpus(ctx, prove)
		result.GPUs, err = seen, errors.Join(err, failed)
	}
	return err
}

func (p *plan) versions(ctx context.Context) map[string]string {
	versions := map[string]string{}
	for component, argv := range versionPrograms[p.want.Engine] {
		if pathOf(argv[0]) == "" {
			continue
		}
		said, err := answer(ctx, argv...)
		if found := anyVersion.FindStringSubmatch(said); err == nil && found != nil {
			versions[component] = found[1]
		}
	}
	if placed := p.record.find(KindComponent, compCNI, ""); placed != nil {
		versions[compCNI] = placed.Version // the plugins tell none
	}
	return versions
}
