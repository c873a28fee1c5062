// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// ErrOtherImage says that another node gave another image than it said.
var ErrOtherImage = errors.New("it is another image")

// shareable says whether an image can go from node to node. Docker and Podman save images by their tags alone: one that is
// asked for by its digest would come without a name.
func shareable(want job.ContainerRuntime, reference string) bool {
	return want.ShareImages && (want.Engine == job.Containerd || !strings.Contains(reference, "@"))
}

// Content names the image for other nodes.
func (i image) Content() string {
	if !i.shared {
		return ""
	}
	return i.reference
}

// Identity is the image's ID and digest.
func (i image) Identity(ctx context.Context) (string, error) {
	id, err := i.client.id(ctx, i.reference)
	if err != nil {
		return "", err
	}
	digest, err := i.client.digest(ctx, i.reference)
	return id + " " + digest, err
}

// Receive gets the image from another node. The ID is a digest of all that is in it: of its configuration, which has the
// digests of its layers, or of its manifest.
func (i image) Receive(ctx context.Context, from setup.Gift, output io.Writer) error {
	id, digest, _ := strings.Cut(from.Identity, " ")
	err := handover.Take(ctx, from.Offer, func(content io.Reader) error { return i.client.load(ctx, content, output) })
	if err != nil {
		return err //nolint:wrapcheck // it names the other side
	}
	got, err := i.client.id(ctx, i.reference)
	if err != nil {
		return err
	}
	if got != id {
		return errors.Join(fmt.Errorf("%w: %s was expected, and %q came", ErrOtherImage, id, got), i.client.remove(ctx, i.reference, output))
	}
	return i.client.record.received(i.reference, ReceivedImage{ID: id, Digest: digest})
}

// Give writes an image that this node has, for another node.
func Give(ctx context.Context, want job.ContainerRuntime, reference string, to io.Writer) error {
	p := &plan{want: want}
	if want.RootlessUser != "" {
		var err error
		if p.user, err = lookupAccount(want.RootlessUser); err != nil {
			return err
		}
	}
	return p.client().save(ctx, reference, to)
}

func (r *Record) received(reference string, i ReceivedImage) error {
	if r.Images == nil {
		r.Images = map[string]ReceivedImage{}
	}
	r.Images[reference] = i
	return r.save()
}

// save writes an image as an archive. Podman's own form for Docker has layers by the digests that the configuration names.
func (c client) save(ctx context.Context, image string, to io.Writer) error {
	argv := []string{c.program, "save", image}
	switch c.program {
	case "ctr", compNerdctl:
		argv = c.export(image)
	case "podman":
		argv = []string{"podman", "save", "--quiet", "--format", "docker-archive", image}
	}
	_, err := setup.Program{Argv: argv, User: c.who.as(), Env: c.environment(), Stdout: to}.Run(ctx, nil)
	return err //nolint:wrapcheck // it names the program
}

// export is ctr's command line. Without --local, ctr and nerdctl may end before they have written all that containerd sent them.
func (c client) export(image string) []string {
	argv := []string{"ctr", "images", "export", "--local", "--platform", "linux/" + runtime.GOARCH, "-", longReference(image)}
	if c.who == nil {
		return argv
	}
	return append([]string{"containerd-rootless-setuptool.sh", "nsenter", "--"}, argv...) // where ctr finds the user's containerd
}

// load takes what save has written.
func (c client) load(ctx context.Context, archive io.Reader, output io.Writer) error {
	argv := []string{c.program, "load", "--quiet"}
	if c.program == "ctr" {
		argv = []string{"ctr", "images", "import", "--local", "-"}
	}
	_, err := setup.Program{Argv: argv, User: c.who.as(), Env: c.environment(), Stdin: archive}.Run(ctx, output)
	return err //nolint:wrapcheck // it names the program
}

func (c client) remove(ctx context.Context, image string, output io.Writer) error {
	argv := []string{c.program, "rmi", "--force", image}
	if c.program == "ctr" {
		argv = []string{"ctr", "images", "remove", longReference(image)}
	}
	return runAs(ctx, output, c.who, c.environment(), argv...)
}
