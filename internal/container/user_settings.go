// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// userSettings is a step: keys of a TOML file in a user's home. It reads and writes as that user: root cannot on NFS.
type userSettings struct {
	user *account
	file string // relative to the home
	keys map[string][]string
}

// Name tells the step.
func (u userSettings) Name() string {
	return "rootless-" + strings.TrimSuffix(path.Base(u.file), ".toml") + "-config"
}

// Title says what the step does.
func (u userSettings) Title() string {
	return fmt.Sprintf("Set %s in %s", strings.Join(slices.Sorted(maps.Keys(u.keys)), " and "), u.path())
}

func (u userSettings) path() string { return path.Join(u.user.home, u.file) }

func (u userSettings) read(ctx context.Context) (string, error) {
	return setup.Program{Argv: []string{"sh", "-c", `[ ! -e "$1" ] || cat "$1"`, "sh", u.path()}, User: u.user.name}.Run(ctx, nil) //nolint:wrapcheck // it names the program
}

// Check reads the file.
func (u userSettings) Check(ctx context.Context) (setup.State, error) {
	text, err := u.read(ctx)
	if err != nil {
		return setup.State{}, err
	}
	if u.merge(text) != text {
		return setup.State{Detail: "it does not say so"}, nil
	}
	return setup.State{Done: true}, nil
}

// Apply sets the keys, and leaves all others.
func (u userSettings) Apply(ctx context.Context, output io.Writer) error {
	text, err := u.read(ctx)
	if err != nil {
		return err
	}
	_, err = setup.Program{
		Argv:  []string{"sh", "-c", `mkdir -p "${1%/*}" && cat >"$1.new" && mv "$1.new" "$1"`, "sh", u.path()},
		User:  u.user.name,
		Stdin: strings.NewReader(u.merge(text)),
	}.Run(ctx, output)
	return err //nolint:wrapcheck // it names the program
}

// merge puts the keys before all others: keys of the file itself come before its tables.
func (u userSettings) merge(text string) string {
	var set, rest strings.Builder
	for _, key := range slices.Sorted(maps.Keys(u.keys)) {
		set.WriteString(nerdctlKey(key, u.keys[key]...))
	}
	table := false
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, "=")
		table = table || strings.HasPrefix(strings.TrimSpace(line), "[") && !strings.Contains(line, "=")
		if _, ours := u.keys[strings.TrimSpace(name)]; !ours || table {
			rest.WriteString(line)
		}
	}
	return set.String() + rest.String()
}
