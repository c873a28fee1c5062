// SPDX-License-Identifier: MPL-2.0

package setup

import (
	"fmt"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// Steps gives the steps that a job names, in their order.
func Steps(asked []job.Step) ([]Step, error) {
	var steps []Step
	for _, s := range asked {
		step, err := stepOf(s)
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", s.Name, err)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func stepOf(s job.Step) (Step, error) {
	id := Ident{ID: s.Name}
	switch {
	case s.File != nil:
		place, err := placeOf(s.File.Path, s.File.Mode, s.File.Owner)
		return File{id, place, []byte(s.File.Content)}, err
	case s.Directory != nil:
		place, err := placeOf(s.Directory.Path, s.Directory.Mode, s.Directory.Owner)
		return Directory{id, place}, err
	case s.Link != nil:
		return Link{id, s.Link.Path, s.Link.Target}, nil
	case s.Command != nil:
		return Command{Ident: id, Program: Program{Argv: s.Command.Argv}, Unless: s.Command.Unless, Creates: s.Command.Creates}, nil
	case s.Packages != nil:
		return Packages{id, s.Packages.Names}, nil
	case s.Service != nil:
		return Service{Ident: id, Unit: s.Service.Unit, Off: s.Service.Off}, nil
	case s.Download != nil:
		place, err := placeOf(s.Download.Path, s.Download.Mode, s.Download.Owner)
		return Download{Ident: id, Place: place, Source: s.Download.URL, SHA256: s.Download.SHA256}, err
	}
	return nil, fmt.Errorf("it says nothing to do")
}

func placeOf(path, octal, owner string) (Place, error) {
	mode, err := ParseMode(octal)
	return Place{Path: path, Mode: mode, Owner: owner}, err
}
