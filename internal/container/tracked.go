// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

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
		_, err := os.Stat(path)
		if err == nil {
			placed.Before = backupPath(path)
			err = errors.Join(os.MkdirAll(backupDir, 0o700), copyFile(path, placed.Before))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep what is at %s: %w", path, err)
		}
		return p.record.put(placed)
	}}
}

// makes notes files that what a step puts in place makes by itself, for root or for a user, unless they were there before.
func (p *plan) makes(who *account, step setup.Step, paths ...string) setup.Step {
	kind := KindFile
	if who != nil {
		kind = KindUserFile
	}
	return tracked{Step: step, note: func(ctx context.Context) error {
		for _, path := range paths {
			there, err := exists(ctx, who, path)
			if err != nil {
				return err
			}
			if !there {
				p.record.set(Placed{Kind: kind, Name: path, User: who.as()})
			}
		}
		return p.record.save()
	}}
}

// exists asks as the one whose file it is: root may not see into a home on NFS.
func exists(ctx context.Context, who *account, path string) (bool, error) {
	answer, err := setup.Program{Argv: []string{"sh", "-c", `[ ! -e "$1" ] || echo there`, "sh", path}, User: who.as()}.Run(ctx, nil)
	return answer != "", err //nolint:wrapcheck // it names the program
}

// backupPath is where what was at a path is kept.
func backupPath(path string) string {
	return filepath.Join(backupDir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "_"))
}

// copyFile makes a copy with the same mode and owner.
func copyFile(from, to string) error {
	source, err := os.Open(from) // #nosec G304 -- fixed paths, and copies of them
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	err = setup.Place{Path: to, Mode: info.Mode()}.Replace(func(w io.Writer) error {
		_, err := io.Copy(w, source)
		return err //nolint:wrapcheck // it names the file
	})
	if owner, known := info.Sys().(*syscall.Stat_t); err == nil && known {
		err = os.Chown(to, int(owner.Uid), int(owner.Gid))
	}
	return err //nolint:wrapcheck // it names the file
}

// packages are packages of the distribution's kind. What comes with them is noted, too.
func (p *plan) packages(id string, names ...string) setup.Step {
	return p.packageStep(setup.Packages{Ident: setup.Ident{ID: id}, Names: names})
}

// packageStep notes all packages that a step installs. Which ones were there before is kept in the record until then:
// a set-up may be killed in between.
func (p *plan) packageStep(step setup.Step) setup.Step {
	return tracked{
		Step: step,
		note: func(ctx context.Context) error {
			if p.record.PackagesBefore != nil {
				return nil
			}
			before, err := presentPackages(ctx, p.platform.Packages)
			if err != nil {
				return err
			}
			p.record.PackagesBefore = before
			return p.record.save()
		},
		after: p.notePackages,
	}
}

// notePackages notes the packages that were installed since the record kept those that were there.
func (p *plan) notePackages(ctx context.Context) error {
	before := p.record.PackagesBefore
	if before == nil {
		return nil
	}
	now, err := presentPackages(ctx, p.platform.Packages)
	if err != nil {
		return err
	}
	p.record.PackagesBefore = nil
	for _, name := range now {
		if _, had := slices.BinarySearch(before, name); !had {
			p.record.set(Placed{Kind: KindPackage, Name: name})
		}
	}
	return p.record.save()
}

// service is a unit that runs, and is restarted when one of these files was changed. One that ran before the first
// set-up is not noted: it stays.
func (p *plan) service(unit string, who *account, reads ...string) setup.Step {
	id := "service-" + strings.TrimSuffix(unit, ".service")
	label := ""
	if who != nil {
		id, label = id+"-rootless", fmt.Sprintf("Enable and start %s of %s", unit, who.name)
	}
	placed := Placed{Kind: KindService, Name: unit, User: who.as()}
	return tracked{
		Step: setup.Service{Ident: setup.Ident{ID: id, Label: label}, Unit: unit, User: who.as(), Reads: reads},
		note: func(context.Context) error {
			if who == nil && slices.Contains(p.record.Ran, unit) {
				return nil
			}
			return p.record.put(placed)
		},
	}
}
