// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// removal plans to take away what the record says, the last first. Images and containers stay where they are.
func (p *plan) removal() []setup.Step {
	var steps []setup.Step
	var packages []Placed
	if len(p.record.Placed) > 0 {
		steps = append(steps, trap{"check-containers", "Look whether containers run", p.noContainers})
	}
	for _, placed := range slices.Backward(p.record.Placed) {
		if placed.Kind == KindPackage {
			packages = append(packages, placed)
			continue
		}
		steps = append(steps, removeOne{placed, p.record})
	}
	if len(packages) > 0 {
		steps = append(steps, removePackages{packages, p.platform.Packages, p.record})
	}
	for _, unit := range p.record.Ran {
		steps = append(steps, setup.Service{Ident: setup.Ident{ID: "restart-" + unit, Label: "Have " + unit + " run as it did before"}, Unit: unit, Reads: p.foldersOfFiles()})
	}
	return append(steps, forget{p.record})
}

// foldersOfFiles are the folders of the files that are removed or put back: they change with that.
func (p *plan) foldersOfFiles() []string {
	var folders []string
	for _, placed := range p.record.Placed {
		if placed.Kind == KindFile {
			folders = append(folders, filepath.Dir(placed.Name))
		}
	}
	return folders
}

// noContainers looks whether somebody works with the engine that is to go.
func (p *plan) noContainers(ctx context.Context) error {
	c := p.client()
	if p.record.User != "" {
		var err error
		if c.who, err = lookupAccount(p.record.User); err != nil {
			return err
		}
	}
	if c.program == compNerdctl && !installed(compNerdctl) {
		c.program = "ctr"
	}
	if !installed(c.program) {
		return nil
	}
	n, err := c.running(ctx)
	if err != nil {
		return nil //nolint:nilerr // an engine that does not answer runs nothing that could be asked for
	}
	if n > 0 {
		return trapped("stop them first", "%d containers run with %s", n, c)
	}
	return nil
}

// removeOne is a step: a thing of the record is gone.
type removeOne struct {
	placed Placed
	record *Record
}

// Name tells the step.
func (r removeOne) Name() string {
	name := fmt.Sprintf("remove-%s-%s", r.placed.Kind, strings.Trim(notPlain.ReplaceAllString(r.placed.Name, "-"), "-"))
	if r.placed.User != "" {
		name += "-" + r.placed.User
	}
	return name
}

// Title says what the step does.
func (r removeOne) Title() string {
	switch {
	case r.placed.Before != "":
		return "Put back " + r.placed.Name + " as it was"
	case r.placed.Kind == KindService:
		return "Stop and disable " + r.placed.Name
	case r.placed.Kind == KindLinger:
		return "End the services of " + r.placed.Name + " with its last session"
	}
	return "Remove " + r.placed.Name
}

// Check looks into the record: what is taken away is not noted there any more.
func (r removeOne) Check(context.Context) (setup.State, error) {
	return setup.State{Done: r.record.find(r.placed.Kind, r.placed.Name, r.placed.User) == nil}, nil
}

// Apply takes it away.
func (r removeOne) Apply(ctx context.Context, output io.Writer) error {
	var err error
	switch r.placed.Kind {
	case KindService:
		err = setup.Service{Unit: r.placed.Name, User: r.placed.User, Off: true}.Apply(ctx, output)
		if state, looked := (setup.Service{Unit: r.placed.Name, User: r.placed.User, Off: true}).Check(ctx); looked == nil && state.Done {
			err = nil // it was off, or there is none any more
		}
	case KindComponent:
		for _, file := range slices.Sorted(maps.Keys(r.placed.Files)) {
			err = errors.Join(err, removeFile(file))
		}
	case KindFile:
		err = r.putBack()
	case KindUserFile:
		err = putBackUserFile(ctx, output, r.placed)
	case KindPackage: // removePackages has them
	case KindLinger:
		err = run(ctx, output, "loginctl", "disable-linger", r.placed.Name)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", r.placed.Name, err)
	}
	return r.record.drop(r.placed)
}

// putBack removes a file, or puts what was there before in its place.
func (r removeOne) putBack() error {
	if r.placed.Before == "" {
		return removeFile(r.placed.Name)
	}
	if err := copyFile(r.placed.Before, r.placed.Name); err != nil {
		return err
	}
	return removeFile(r.placed.Before)
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err //nolint:wrapcheck // it names the file
	}
	return nil
}

// removePackages is a step: packages of the record are gone, but for those that others need by now.
type removePackages struct {
	packages []Placed
	kind     string
	record   *Record
}

// Name tells the step.
func (removePackages) Name() string { return "remove-packages" }

// Title says what the step does.
func (r removePackages) Title() string {
	names := make([]string, len(r.packages))
	for i, p := range r.packages {
		names[i] = p.Name
	}
	return "Remove the packages " + strings.Join(names, ", ")
}

// Check looks into the record.
func (r removePackages) Check(context.Context) (setup.State, error) {
	left := slices.ContainsFunc(r.packages, func(p Placed) bool { return r.record.find(KindPackage, p.Name, "") != nil })
	return setup.State{Done: !left}, nil
}

// Apply removes them together; where another package needs one of them, one after the other, as long as there are any
// that no other needs.
func (r removePackages) Apply(ctx context.Context, output io.Writer) error {
	if err := setup.WaitForPackages(ctx, output); err != nil {
		return err //nolint:wrapcheck // it names who keeps it waiting
	}
	remove := []string{"rpm", "--erase"}
	if r.kind == "deb" {
		remove = []string{"dpkg", "--purge"}
	}
	left := slices.DeleteFunc(slices.Clone(r.packages), func(p Placed) bool { return packageVersion(ctx, r.kind, p.Name) == "" })
	together := slices.Clone(remove)
	for _, p := range left {
		together = append(together, p.Name)
	}
	if len(left) > 0 && run(ctx, output, together...) == nil {
		left = nil
	}
	for again := len(left) > 0; again; {
		again = false
		left = slices.DeleteFunc(left, func(p Placed) bool {
			gone := run(ctx, io.Discard, append(remove, p.Name)...) == nil
			again = again || gone
			return gone
		})
	}
	for _, p := range left {
		_, _ = fmt.Fprintf(output, "%s stays: other packages need it by now\n", p.Name) // only a log
	}
	for _, p := range r.packages {
		if err := r.record.drop(p); err != nil {
			return err
		}
	}
	return ctx.Err() //nolint:wrapcheck // the caller knows
}

// forget is a step: there is no record any more.
type forget struct{ record *Record }

// Name tells the step.
func (forget) Name() string { return "forget" }

// Title says what the step does.
func (f forget) Title() string { return "Remove " + f.record.path }

// Check looks for the record.
func (f forget) Check(context.Context) (setup.State, error) {
	_, err := os.Stat(f.record.path)
	return setup.State{Done: errors.Is(err, fs.ErrNotExist)}, nil
}

// Apply removes it, and what was kept beside it.
func (f forget) Apply(ctx context.Context, output io.Writer) error {
	if err := run(ctx, output, "systemctl", "daemon-reload"); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(backupDir), os.RemoveAll(downloadDir), removeFile(f.record.path))
}
