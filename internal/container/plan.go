// SPDX-License-Identifier: MPL-2.0

package container

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// Options of a [Plan].
type Options struct {
	// Shape is the node's OCI shape; empty is unknown.
	Shape string
	// RegistryAuth is a file in the form of ~/.docker/config.json, which only root can read, with the credentials of
	// registries; empty is none.
	RegistryAuth string
	// Platform is the node's; the zero value is that of the node that the program runs on.
	Platform Platform
}

// plan is what the steps are made from.
type plan struct {
	want     job.ContainerRuntime
	platform Platform
	source   *source
	record   *Record
	before   job.Engine // that an earlier set-up put here
	user     *account   // of the rootless engine; nil is none
	auth     string
	gpus     bool // the node has NVIDIA GPUs
	rdma     bool // and RDMA adapters
	count    int  // of its GPUs, where it is certain
	steps    []setup.Step
}

// Plan gives the steps that put the container runtime on this node, or that take it away. It reads the manifest of the
// mirror and the record of earlier set-ups, and changes nothing.
func Plan(ctx context.Context, want job.ContainerRuntime, o Options) ([]setup.Step, error) {
	p, err := newPlan(ctx, want, o)
	if err != nil {
		return nil, err
	}
	if want.Remove {
		return p.removal(), nil
	}
	p.prechecks()
	if want.DataRoot != "" {
		p.add(setup.Directory{Ident: setup.Ident{ID: "data-root"}, Place: setup.Place{Path: want.DataRoot, Mode: 0o755}})
	}
	if p.gpus {
		if err := p.toolkit(); err != nil {
			return nil, err
		}
	}
	switch want.Engine {
	case job.Containerd:
		err = p.containerd()
	case job.Docker:
		p.docker()
	case job.Podman:
		p.podman()
	default:
		err = fmt.Errorf("engine %q: %w", want.Engine, ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	p.images()
	return p.steps, nil
}

func newPlan(ctx context.Context, want job.ContainerRuntime, o Options) (*plan, error) {
	p := &plan{want: want, platform: o.Platform, auth: o.RegistryAuth}
	var err error
	if p.platform == (Platform{}) {
		if p.platform, err = ThisPlatform(); err != nil {
			return nil, err
		}
	}
	if p.record, err = readRecord(recordPath); err != nil {
		return nil, err
	}
	if err := p.notePackages(ctx); err != nil {
		return nil, err
	}
	if want.Remove {
		return p, nil
	}
	if p.record.Engine == "" {
		p.record.Ran = running(ctx, "docker.service", "containerd.service")
	}
	p.before, p.record.Engine, p.record.User = p.record.Engine, want.Engine, want.RootlessUser
	if p.source, err = newSource(ctx, want.Mirror, p.platform); err != nil {
		return nil, err
	}
	if want.RootlessUser != "" {
		if p.user, err = lookupAccount(want.RootlessUser); err != nil {
			return nil, err
		}
	}
	return p, p.lookAtShape(o.Shape)
}

// running gives those of the units that run.
func running(ctx context.Context, units ...string) []string {
	return slices.DeleteFunc(units, func(unit string) bool {
		_, err := answer(ctx, "systemctl", "is-active", "--quiet", unit)
		return err != nil
	})
}

// lookAtShape finds out what GPUs there should be. Without a known shape the node's driver decides.
func (p *plan) lookAtShape(name string) error {
	known, found := shape.Lookup(name)
	switch {
	case found && known.GPUVendor == shape.AMD:
		return setup.Advise(fmt.Errorf("containers with the AMD GPUs of %s: %w", name, ErrUnsupported), "NVIDIA shapes are; leave container_runtime out, and set up ROCm's own")
	case found:
		p.rdma = known.IsRDMA()
		p.gpus = known.GPUVendor == shape.NVIDIA
		if known.GPUs.Usable() {
			p.count = known.GPUs.V
		}
	default:
		p.gpus = installed("nvidia-smi")
		adapters, err := os.ReadDir("/sys/class/infiniband")
		p.rdma = err == nil && len(adapters) > 0
	}
	return nil
}

func (p *plan) add(steps ...setup.Step) { p.steps = append(p.steps, steps...) }

// prechecks finds what would hurt later, before anything is changed.
func (p *plan) prechecks() {
	p.add(trap{"check-systemd", "Look whether systemd runs", here.systemd},
		trap{"check-other-engines", "Look for engines that would be in the way", p.otherEngine})
	if p.gpus {
		p.add(trap{"check-nvidia-driver", "Look whether the NVIDIA driver answers", here.driver})
	}
	if p.user == nil {
		p.add(trap{"check-storage", "Look whether images can be kept in " + p.storage(nil), here.storage(p.storage(nil), "the engine's storage")})
		return
	}
	p.add(trap{"check-user-namespaces", "Look whether users may have user namespaces", here.userNamespaces},
		trap{"check-storage", "Look whether images can be kept in " + p.storage(p.user), here.storage(p.storage(p.user), "the storage of "+p.user.name+"'s engine")})
}

// storage is where the engine keeps its images.
func (p *plan) storage(who *account) string {
	root := map[job.Engine]string{job.Containerd: "/var/lib/containerd", job.Docker: "/var/lib/docker", job.Podman: "/var/lib/containers/storage"}
	own := map[job.Engine]string{job.Containerd: "containerd", job.Docker: "docker", job.Podman: "containers/storage"}
	switch {
	case who == nil && p.want.DataRoot == "":
		return root[p.want.Engine]
	case who == nil:
		return p.want.DataRoot + "/" + own[p.want.Engine]
	case p.want.DataRoot == "":
		return who.home + "/.local/share/" + own[p.want.Engine]
	}
	return p.want.DataRoot + "/" + who.name + "/" + own[p.want.Engine]
}

// client is the command line that the user of the containers has.
func (p *plan) client() client {
	program := string(p.want.Engine)
	if p.want.Engine == job.Containerd {
		program = compNerdctl
		if p.without(compNerdctl) {
			program = "ctr"
		}
	}
	return client{program: program, who: p.user, auth: p.auth, record: p.record}
}

// without says that a component is not wanted: versions name "none" for it.
func (p *plan) without(component string) bool { return p.want.Versions[component] == job.NoComponent }

// images pulls images, and proves that a container sees the GPUs.
func (p *plan) images() {
	images := slices.Clone(p.want.Images)
	prove := cmp.Or(p.want.ProofImage, first(p.want.Images))
	if prove != "" && !slices.Contains(images, prove) {
		images = append(images, prove)
	}
	for _, reference := range images {
		p.add(image{p.client(), reference, shareable(p.want, reference)})
	}
	if p.gpus && prove != "" {
		p.add(proof{p.client(), prove, p.count})
	}
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}
