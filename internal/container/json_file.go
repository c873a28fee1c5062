// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// jsonFile is a step: settings in a JSON file that others write, too. What it does not speak of stays.
type jsonFile struct {
	id, path  string
	set       map[string]any
	unlessSet map[string]any // what somebody else has decided stays
}

// Name tells the step.
func (j jsonFile) Name() string { return j.id }

// Title says what the step does.
func (j jsonFile) Title() string { return "Set up " + j.path }

// merged gives what is there, and what is to be there.
func (j jsonFile) merged() (present, wanted map[string]any, err error) {
	text, err := os.ReadFile(j.path)
	present, wanted = map[string]any{}, map[string]any{}
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("{}"), nil
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(text, &present), json.Unmarshal(text, &wanted))
	}
	if err != nil {
		return nil, nil, setup.Advise(fmt.Errorf("read %s: %w", j.path, err), "it is not JSON: put it right, or move it away")
	}
	overlay(wanted, j.set)
	for key, value := range j.unlessSet {
		if _, decided := wanted[key]; !decided {
			wanted[key] = value
		}
	}
	return present, wanted, nil
}

// overlay sets what above says, and keeps what only below says.
func overlay(below, above map[string]any) {
	for key, value := range above {
		inner, isMap := value.(map[string]any)
		if there, both := below[key].(map[string]any); isMap && both {
			overlay(there, inner)
			continue
		}
		below[key] = value
	}
}

// Check compares the settings.
func (j jsonFile) Check(context.Context) (setup.State, error) {
	present, wanted, err := j.merged()
	if err != nil {
		return setup.State{}, err
	}
	if !reflect.DeepEqual(present, wanted) {
		return setup.State{Detail: "settings are missing, or differ"}, nil
	}
	return setup.State{Done: true}, nil
}

// Apply writes the merged settings.
func (j jsonFile) Apply(ctx context.Context, output io.Writer) error {
	_, wanted, err := j.merged()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(wanted, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", j.path, err)
	}
	return setup.File{Place: setup.Place{Path: j.path, Mode: 0o644}, Content: append(text, '\n')}.Apply(ctx, output) //nolint:wrapcheck // it names the file
}
