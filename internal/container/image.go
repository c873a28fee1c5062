// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// image is a step: an image that the engine has.
type image struct {
	client    client
	reference string
	shared    bool // among nodes
}

var notPlain = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// Name tells the step.
func (i image) Name() string {
	name := "image-" + notPlain.ReplaceAllString(i.reference, "-")
	if i.client.who != nil {
		name += "-rootless"
	}
	return name
}

// Title says what the step does.
func (i image) Title() string { return fmt.Sprintf("Pull %s with %s", i.reference, i.client) }

// Check asks the engine.
func (i image) Check(ctx context.Context) (setup.State, error) {
	if !installed(i.client.program) {
		return setup.State{Detail: i.client.program + " is not installed yet"}, nil
	}
	found, err := i.client.digest(ctx, i.reference)
	if err != nil {
		return setup.State{Detail: err.Error()}, nil //nolint:nilerr // an engine that does not run yet has no image
	}
	if found == "" {
		return setup.State{Detail: "it is not there"}, nil
	}
	return setup.State{Done: true, Detail: found}, nil
}

// Downloads says that it does.
func (image) Downloads() bool { return true }

// Apply pulls it.
func (i image) Apply(ctx context.Context, output io.Writer) error {
	return i.client.pull(ctx, i.reference, output)
}

// proof is a step: a container that sees the GPUs.
type proof struct {
	client client
	image  string
	gpus   int // that it must see; 0 is at least one
}

// ErrProof says that a container does not see the GPUs that it should.
var ErrProof = errors.New("a container does not see the GPUs")

// Name tells the step.
func (p proof) Name() string {
	if p.client.who != nil {
		return "gpu-proof-rootless"
	}
	return "gpu-proof"
}

// Title says what the step does.
func (p proof) Title() string {
	return fmt.Sprintf("Run nvidia-smi -L in %s with %s, and see %s", p.image, p.client, p.expected())
}

func (p proof) expected() string {
	if p.gpus == 0 {
		return "GPUs"
	}
	return fmt.Sprintf("%d GPUs", p.gpus)
}

// Check runs the container, once the image is there.
func (p proof) Check(ctx context.Context) (setup.State, error) {
	if state, err := (image{client: p.client, reference: p.image}).Check(ctx); err != nil || !state.Done {
		return state, err
	}
	seen, err := p.client.gpus(ctx, p.image)
	if err != nil {
		return setup.State{Detail: err.Error()}, nil //nolint:nilerr // Apply tells it
	}
	if len(seen) == 0 || p.gpus != 0 && len(seen) != p.gpus {
		return setup.State{Detail: fmt.Sprintf("%d GPUs seen", len(seen))}, nil
	}
	return setup.State{Done: true, Detail: fmt.Sprintf("%d GPUs seen", len(seen))}, nil
}

// Apply can put nothing in place: it tells what is wrong.
func (p proof) Apply(ctx context.Context, output io.Writer) error {
	seen, err := p.client.gpus(ctx, p.image)
	if err != nil {
		return setup.Advise(fmt.Errorf("%w: %w", ErrProof, err),
			"look at "+cdiSpec+" and `nvidia-smi -L` on the node itself")
	}
	for _, gpu := range seen {
		_, _ = fmt.Fprintln(output, gpu) // only a log
	}
	if len(seen) == 0 || p.gpus != 0 && len(seen) != p.gpus {
		return setup.Advise(fmt.Errorf("%w: %d are seen, and the node should have %s", ErrProof, len(seen), p.expected()),
			"compare with `nvidia-smi -L` on the node: where it shows the same, a GPU has failed; where it shows more, regenerate "+cdiSpec+" with `systemctl restart "+cdiUnit+"`")
	}
	return nil
}
