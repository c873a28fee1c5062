// SPDX-License-Identifier: MPL-2.0

package container

import (
	"fmt"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// podman plans the distribution's own Podman, which reads CDI specifications by itself and has no daemon.
func (p *plan) podman() {
	name := "podman"
	if version := p.want.Versions[compPodman]; version != "" {
		name = map[string]string{"deb": "podman=", "rpm": "podman-"}[p.platform.Packages] + version
	}
	p.add(p.packageStep(setup.Packages{Ident: setup.Ident{ID: "install-podman", Label: "Install Podman"}, Names: p.podmanPackages(name)}))
	if len(p.want.InsecureRegistries) > 0 {
		p.add(p.file("podman-registries", "", "/etc/containers/registries.conf.d/90-ocihpc.conf", podmanRegistries(p.want.InsecureRegistries)))
	}
	if p.want.DataRoot != "" {
		p.add(p.file("podman-storage", "", "/etc/containers/storage.conf", podmanStorage(p.storage(nil), p.want.DataRoot)))
	}
	if p.user != nil {
		p.rootlessUser()
	}
}

// podmanPackages adds what Debian's Podman needs and only recommends.
func (p *plan) podmanPackages(name string) []string {
	if p.platform.Packages == "rpm" {
		return []string{name}
	}
	return []string{name, "fuse-overlayfs"}
}

// podmanStorage has both root's and the users' images on the same disk. storage.conf(5) expands $USER.
func podmanStorage(root, dataRoot string) string {
	return fmt.Sprintf(`# Written by ocihpc-runner.
[storage]
driver = "overlay"
runroot = "/run/containers/storage"
graphroot = %q
rootless_storage_path = "%s/$USER/containers/storage"
`, root, dataRoot)
}

// podmanRegistries is in the form of containers-registries.conf(5).
func podmanRegistries(insecure []string) string {
	var text strings.Builder
	text.WriteString("# Written by ocihpc-runner.\n")
	for _, registry := range insecure {
		fmt.Fprintf(&text, "[[registry]]\nlocation = %q\ninsecure = true\n", registry)
	}
	return text.String()
}
