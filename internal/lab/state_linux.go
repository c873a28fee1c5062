// SPDX-License-Identifier: MPL-2.0

package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/labhost"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/ocisim"
)

// readState gives the configuration of the lab that a state directory was left by; nil where there is none.
func readState(dir string) (*daemonConfig, error) {
	text, err := os.ReadFile(filepath.Join(dir, labFile)) // #nosec G304 -- the caller's directory
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, fmt.Errorf("read the lab's state: %w", err)
	}
	var old daemonConfig
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, fmt.Errorf("read the lab's state in %s (`ocihpc-lab up --fresh` discards it): %w", dir, err)
	}
	return &old, nil
}

func (d *daemonConfig) writeState() error {
	text, err := json.Marshal(d) // #nosec G117 -- into a file for the owner alone, in a directory for the owner alone
	if err != nil {
		return fmt.Errorf("encode the lab's state: %w", err)
	}
	return writeFile(filepath.Join(d.Dir, labFile), text)
}

// over completes a configuration by that of the lab that goes on.
func (c Config) over(old Config) (Config, error) {
	if c.Hosts != "" && c.Hosts != old.Hosts {
		return c, fmt.Errorf("the lab in %s has --hosts=%s and cannot go on with %s; start it without, or discard it with `ocihpc-lab up --fresh`",
			c.Dir, old.Hosts, c.Hosts)
	}
	if c.Init != "" && c.Init != old.Init {
		return c, fmt.Errorf("the lab in %s has --init=%s and cannot go on with %s; start it without, or discard it with `ocihpc-lab up --fresh`",
			c.Dir, old.Init, c.Init)
	}
	c.Hosts, c.Init, c.TimeScale = old.Hosts, old.Init, cmp.Or(c.TimeScale, old.TimeScale)
	c.HTTPPort, c.HTTPSPort, c.BastionPort = cmp.Or(c.HTTPPort, old.HTTPPort), cmp.Or(c.HTTPSPort, old.HTTPSPort), cmp.Or(c.BastionPort, old.BastionPort)
	if c.Without == nil {
		c.Without = old.Without
	}
	c.GPUsPerHost = cmp.Or(c.GPUsPerHost, old.GPUsPerHost)
	scarcity := c.scarcity().Over(old.scarcity())
	c.Capacity, c.Shortage, c.KeepVacancies = scarcity.Capacity, scarcity.Shortage, scarcity.KeepVacancies
	return c, nil
}

// saysScenario says whether a configuration has anything that makes a scenario.
func (c Config) saysScenario() bool {
	return !reflect.ValueOf(c.scarcity()).IsZero() || !reflect.ValueOf(c.Scenario).IsZero()
}

// Remove removes what a lab that has ended has left in its state directory, but for the logs. It fails with
// [ErrRunning] while the lab runs, and with [ErrNotRunning] where nothing is left.
func Remove(ctx context.Context, dir string) error {
	lock, err := lockDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w in %s", ErrNotRunning, dir)
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if !left(dir) {
		return fmt.Errorf("%w in %s", ErrNotRunning, dir)
	}
	return removeState(ctx, dir)
}

// left says whether a state directory has a lab, be it one that has ended.
func left(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, labFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// removeState removes all that a lab has in its state directory, but for the logs: the disks first, so
// that a removal that fails can be tried again.
func removeState(ctx context.Context, dir string) error {
	if err := labhost.RemoveStaleCgroups(labhost.Patience); err != nil {
		return err
	}
	if err := removeDisks(ctx, filepath.Join(dir, disksDir)); err != nil {
		return err
	}
	return removeFiles(dir)
}

// removeDisks removes the hosts' disks. Those of a plain user's lab have files of subordinate users, which
// only the root of a user namespace can remove.
func removeDisks(ctx context.Context, disks string) error {
	err := os.RemoveAll(disks)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return removeAsRoot(ctx, disks)
}

// scenario is what the region starts with: the zero one where it goes on and nobody wants another.
func (d *daemonConfig) scenario() ocisim.Scenario {
	if d.OwnScenario {
		return ocisim.Scenario{}
	}
	return d.Scenario.Over(d.scarcity())
}

// portOf an endpoint such as http://127.0.0.1:8080.
func portOf(endpoint string) int {
	var port int
	_, _ = fmt.Sscanf(endpoint[strings.LastIndexByte(endpoint, ':')+1:], "%d", &port) // 0 is a free one
	return port
}
