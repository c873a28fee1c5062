// SPDX-License-Identifier: MPL-2.0

package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// tracked is a step whose doing is noted in the record: before it is done, so that a set-up that was killed leaves
// nothing that nobody knows of.
type tracked struct {
	setup.Step
	note func(ctx context.Context) error
	// after, where set, notes what can only be known then.
	after func(ctx context.Context) error
}

// Apply notes the step and does it.
func (t tracked) Apply(ctx context.Context, output io.Writer) error {
	if err := t.note(ctx); err != nil {
		return err
	}
	err := t.Step.Apply(ctx, output)
	if t.after != nil {
		err = errors.Join(err, t.after(ctx))
	}
	return err //nolint:wrapcheck // the step's own
}

// Downloads says whether the step does.
func (t tracked) Downloads() bool {
	d, is := t.Step.(setup.Downloader)
	return is && d.Downloads()
}

// file is a file with this content, for all to read.
func (p *plan) file(id, title, path, content string) setup.Step {
	return p.fileStep(setup.File{Ident: setup.Ident{ID: id, Label: title}, Place: setup.Place{Path: path, Mode: 0o644}, Content: []byte(content)}, path)
}

// fileStep notes the file that a step writes, makes its folder, and keeps what was there before the set-up.
func (p *plan) fileStep(step setup.Step, path string) setup.Step {
	return tracked{Step: step, note: func(context.Context) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- folders of settings
			return fmt.Errorf("make a folder: %w", err)
		}
		if p.record.find(KindFile, path, "") != nil {
			return nil
		}
		placed := Placed{Kind: KindFile, Name: path}
		before, err := os.ReadFile(path) // #nosec G304 -- fixed paths
		if err == nil {
			placed.Before = filepath.Join(backupDir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "_"))
			err = keep(placed.Before, before)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep what is at %s: %w", path, err)
		}
		return p.record.put(placed)
	}}
}

// keep writes a copy that only root can read: who could read what it was taken from is not known later.
func keep(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err //nolint:wrapcheck // wrapped by the caller
	}
	return setup.Place{Path: path, Mode: 0o600}.Replace(func(w io.Writer) error { //nolint:wrapcheck // wrapped by the caller
		_, err := io.Copy(w, bytes.NewReader(content))
		return err //nolint:wrapcheck // wrapped by the caller
	})
}

// packages are packages of the distribution's kind. What comes with them is noted, too.
func (p *plan) packages(id string, names ...string) setup.Step {
	return p.packageStep(setup.Packages{Ident: setup.Ident{ID: id}, Names: names})
}

// packageStep notes all packages that a step installs.
func (p *plan) packageStep(step setup.Step) setup.Step {
	var before []string
	return tracked{
		Step: step,
		note: func(ctx context.Context) (err error) {
			before, err = installedPackages(ctx, p.platform.Packages)
			return err
		},
		after: func(ctx context.Context) error {
			now, err := installedPackages(ctx, p.platform.Packages)
			if err != nil {
				return err
			}
			for _, name := range now {
				if _, had := slices.BinarySearch(before, name); !had {
					err = errors.Join(err, p.record.put(Placed{Kind: KindPackage, Name: name}))
				}
			}
			return err
		},
	}
}

// service is a unit that runs, and is restarted when one of these files was changed.
func (p *plan) service(unit string, who *account, reads ...string) setup.Step {
	id := "service-" + strings.TrimSuffix(unit, ".service")
	label := ""
	if who != nil {
		id, label = id+"-rootless", fmt.Sprintf("Enable and start %s of %s", unit, who.name)
	}
	placed := Placed{Kind: KindService, Name: unit, User: who.as()}
	return tracked{
		Step: setup.Service{Ident: setup.Ident{ID: id, Label: label}, Unit: unit, User: who.as(), Reads: reads},
		note: func(context.Context) error { return p.record.put(placed) },
	}
}
