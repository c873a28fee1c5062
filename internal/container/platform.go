// SPDX-License-Identifier: MPL-2.0

package container

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Folders that the set-up uses.
const (
	binDir        = "/usr/local/bin"
	sbinDir       = "/usr/local/sbin"
	cniDir        = "/opt/cni/bin"
	unitDir       = "/etc/systemd/system"
	stateDir      = "/var/lib/ocihpc"
	downloadDir   = stateDir + "/downloads"
	cdiSpec       = "/etc/cdi/nvidia.yaml"
	containerdDir = "/etc/containerd"
)

// Platform is what the plan has to know of the node.
type Platform struct {
	ID       string // of /etc/os-release: ol, ubuntu, debian
	Version  string // VERSION_ID, such as 9.6
	Codename string // VERSION_CODENAME, such as jammy; empty on Oracle Linux
	Arch     string // by Go's name
	Packages string // deb or rpm
}

// ErrUnsupported says that no plan can be made for this node.
var ErrUnsupported = errors.New("not supported")

// ThisPlatform looks at the node that the program runs on.
func ThisPlatform() (Platform, error) {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return Platform{}, fmt.Errorf("find out the operating system: %w", err)
	}
	return platformOf(string(text), runtime.GOARCH)
}

// platformOf reads os-release(5).
func platformOf(release, arch string) (Platform, error) {
	fields := map[string]string{}
	for scanner := bufio.NewScanner(strings.NewReader(release)); scanner.Scan(); {
		name, value, _ := strings.Cut(strings.TrimSpace(scanner.Text()), "=")
		fields[name] = strings.Trim(value, `"'`)
	}
	p := Platform{ID: fields["ID"], Version: fields["VERSION_ID"], Codename: fields["VERSION_CODENAME"], Arch: arch}
	family := append([]string{p.ID}, strings.Fields(fields["ID_LIKE"])...)
	switch {
	case slices.ContainsFunc(family, func(id string) bool { return id == "debian" || id == "ubuntu" }):
		p.Packages = "deb"
	case slices.ContainsFunc(family, func(id string) bool { return id == "ol" || id == "rhel" || id == "fedora" }):
		p.Packages = "rpm"
	default:
		return p, fmt.Errorf("container engines on %q: %w; Oracle Linux 8 and 9, Ubuntu 22.04 and 24.04 and Debian 12 are", p.ID, ErrUnsupported)
	}
	if !slices.Contains(Architectures, arch) {
		return p, fmt.Errorf("container engines on %s: %w; amd64 and arm64 are", arch, ErrUnsupported)
	}
	return p, nil
}

// major is the part of the version before its first dot.
func (p Platform) major() string {
	major, _, _ := strings.Cut(p.Version, ".")
	return major
}
