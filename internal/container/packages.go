// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"slices"
	"strings"
)

// packageVersion asks the package manager for an installed package; empty when it is not installed.
func packageVersion(ctx context.Context, kind, name string) string {
	if kind == "rpm" {
		version, err := answer(ctx, "rpm", "--query", "--queryformat=%{VERSION}-%{RELEASE}", name)
		if err != nil {
			return ""
		}
		return version
	}
	text, err := answer(ctx, "dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", name)
	version, found := strings.CutPrefix(text, "installed ")
	if err != nil || !found {
		return ""
	}
	return version
}

// presentPackages gives the names of all packages whose files are there, sorted: also of those that wait for a trigger,
// or that somebody who was killed has not configured.
func presentPackages(ctx context.Context, kind string) ([]string, error) {
	argv := []string{"rpm", "--query", "--all", "--queryformat=installed %{NAME}\n"}
	if kind == "deb" {
		argv = []string{"dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package}\n"}
	}
	text, err := answer(ctx, argv...)
	if err != nil {
		return nil, err
	}
	return presentIn(text), nil
}

// presentIn reads lines of a status and a name.
func presentIn(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		status, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" && status != "not-installed" && status != "config-files" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// upstream is a package's version without what the distribution adds: 28.5.1 of 5:28.5.1-1~ubuntu.22.04~jammy.
func upstream(version string) string {
	if _, rest, epoch := strings.Cut(version, ":"); epoch {
		version = rest
	}
	if end := strings.IndexAny(version, "-+~"); end >= 0 {
		version = version[:end]
	}
	return version
}
