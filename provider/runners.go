// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"fmt"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/remote"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/runnerbin"
)

// runners gives the runner for the nodes: the one in the provider, or the file that stands in for it.
func (d *providerData) runners() (remote.Runners, error) {
	if d.RunnerPath == "" {
		return runnerbin.Open, nil
	}
	runners, err := runnerbin.FromFile(d.RunnerPath)
	if err != nil {
		return nil, fmt.Errorf("runner_path: %w", err)
	}
	return runners, nil
}
