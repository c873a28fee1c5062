// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// dockerPackages is a step: Docker's packages, or, where the node's repositories have only those, the distribution's.
type dockerPackages struct {
	platform Platform
	version  string // empty is any
	rootless bool
	gpus     bool // containers are to have GPUs, by CDI
}

// Name tells the step.
func (dockerPackages) Name() string { return "install-docker" }

// Title says what the step does.
func (d dockerPackages) Title() string { return strings.TrimSpace("Install Docker " + d.version) }

// Downloads says that it does.
func (dockerPackages) Downloads() bool { return true }

// rootlessPackage is what a package of Docker needs beside it to run as a user.
var rootlessPackage = map[string]string{"docker-ce": "docker-ce-rootless-extras", "docker.io": "rootlesskit"}

// Check asks the package manager for either.
func (d dockerPackages) Check(ctx context.Context) (setup.State, error) {
	for _, name := range []string{"docker-ce", "docker.io"} {
		have := packageVersion(ctx, d.platform.Packages, name)
		if have == "" {
			continue
		}
		done := d.version == "" || upstream(have) == d.version
		if err := d.knowsCDI(have); done && err != nil {
			return setup.State{}, err
		}
		if extra := rootlessPackage[name]; done && d.rootless && packageVersion(ctx, d.platform.Packages, extra) == "" {
			return setup.State{Detail: extra + " is not installed"}, nil
		}
		return setup.State{Done: done, Detail: name + " " + have + " is installed"}, nil
	}
	return setup.State{Detail: "it is not installed"}, nil
}

// Apply installs Docker's packages, or else the distribution's.
func (d dockerPackages) Apply(ctx context.Context, output io.Writer) error {
	names := []string{"docker-ce", "docker-ce-cli", "containerd.io"}
	if packageVersion(ctx, d.platform.Packages, "docker.io") != "" || !d.offered(ctx, "docker-ce") {
		names = []string{"docker.io"}
	}
	if d.rootless {
		names = append(names, rootlessPackage[names[0]])
	}
	if err := d.knowsCDI(d.candidate(ctx, names[0])); err != nil {
		return err
	}
	for i, name := range names {
		if d.version != "" && name != "containerd.io" && name != "rootlesskit" {
			names[i] = d.pinned(ctx, name)
		}
	}
	return setup.Packages{Names: names}.Apply(ctx, output) //nolint:wrapcheck // it names the packages
}

// knowsCDI refuses a Docker whose containers cannot have GPUs. Nothing is known of an empty version.
func (d dockerPackages) knowsCDI(version string) error {
	if !d.gpus {
		return nil
	}
	return cdiInDocker(upstream(version))
}

// candidate is the version that would be installed; empty where only the package manager will tell.
func (d dockerPackages) candidate(ctx context.Context, name string) string {
	if d.version != "" || d.platform.Packages == "rpm" {
		return d.version
	}
	table, err := answer(ctx, "apt-cache", "madison", name) // package | version | source, the newest first
	if fields := strings.Split(table, "|"); err == nil && len(fields) > 1 {
		return strings.TrimSpace(fields[1])
	}
	return ""
}

// offered says whether a repository of the node has the package.
func (d dockerPackages) offered(ctx context.Context, name string) bool {
	if d.platform.Packages == "rpm" {
		return true // Oracle Linux has none of its own
	}
	if err := run(ctx, io.Discard, "apt-get", "-o", "DPkg::Lock::Timeout=120", "update"); err != nil {
		return false
	}
	text, err := answer(ctx, "apt-cache", "madison", name)
	return err == nil && text != ""
}

// pinned is a package's name with the version, as the package manager takes both.
func (d dockerPackages) pinned(ctx context.Context, name string) string {
	if d.platform.Packages == "rpm" {
		return name + "-" + d.version
	}
	table, err := answer(ctx, "apt-cache", "madison", name) // package | version | source
	if err == nil {
		for line := range strings.Lines(table) {
			if fields := strings.Split(line, "|"); len(fields) > 1 && upstream(strings.TrimSpace(fields[1])) == d.version {
				return name + "=" + strings.TrimSpace(fields[1])
			}
		}
	}
	return fmt.Sprintf("%s=%s", name, d.version) // which apt says it does not know
}
