// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
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
	return writeAs(ctx, output, u.user.name, u.path(), u.merge(text))
}

// writeAs writes a file as a user.
func writeAs(ctx context.Context, output io.Writer, user, path, text string) error {
	_, err := setup.Program{
		Argv:  []string{"sh", "-c", `mkdir -p "${1%/*}" && cat >"$1.new" && mv "$1.new" "$1"`, "sh", path},
		User:  user,
		Stdin: strings.NewReader(text),
	}.Run(ctx, output)
	return err //nolint:wrapcheck // it names the program
}

// userFile notes the file of a user's settings, and keeps what was there before the set-up.
func (p *plan) userFile(u userSettings) setup.Step {
	return tracked{Step: u, note: func(ctx context.Context) error {
		if p.record.find(KindUserFile, u.path(), u.user.name) != nil {
			return nil
		}
		placed := Placed{Kind: KindUserFile, Name: u.path(), User: u.user.name}
		before, err := u.read(ctx)
		if err != nil {
			return err
		}
		if before != "" {
			placed.Before = backupPath(u.path())
			err = errors.Join(os.MkdirAll(backupDir, 0o700), os.WriteFile(placed.Before, []byte(before), 0o600))
		}
		if err != nil {
			return fmt.Errorf("keep what is at %s: %w", u.path(), err)
		}
		return p.record.put(placed)
	}}
}

// putBackUserFile removes a user's file, or writes what was there before.
func putBackUserFile(ctx context.Context, output io.Writer, placed Placed) error {
	if placed.Before == "" {
		_, err := setup.Program{Argv: []string{"rm", "-f", placed.Name}, User: placed.User}.Run(ctx, output)
		return err //nolint:wrapcheck // it names the program
	}
	before, err := os.ReadFile(placed.Before)
	if err != nil {
		return fmt.Errorf("read what was there before: %w", err)
	}
	return writeAs(ctx, output, placed.User, placed.Name, string(before))
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
