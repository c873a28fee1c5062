// SPDX-License-Identifier: MPL-2.0

package container

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// docker plans Docker: from Docker's own repository, or, with a mirror, from the repositories that the node has.
func (p *plan) docker() {
	p.repository(dockerRepository(p.platform))
	packages := dockerPackages{platform: p.platform, version: p.want.Versions[compDocker], rootless: p.user != nil, gpus: p.gpus}
	p.add(p.makes(nil, p.packageStep(packages), dockerKey))
	wanted := p.dockerSettings()
	if p.want.DataRoot != "" {
		wanted["data-root"] = p.storage(nil)
	}
	const daemon = "/etc/docker/daemon.json"
	p.add(p.fileStep(jsonFile{id: "docker-config", path: daemon, set: wanted, unlessSet: map[string]any{"live-restore": true}}, daemon),
		p.file("docker-limits", "Let Docker's containers lock memory, as RDMA needs it", unitDir+"/docker.service.d/90-ocihpc.conf", "# Written by ocihpc-runner.\n[Service]\nLimitMEMLOCK=infinity\n"),
		p.service("containerd.service", nil), // so that a removal stops it, too
		p.service("docker.service", nil, slices.Concat(dockerPrograms, []string{daemon})...))
	if p.user != nil {
		p.rootlessDocker()
	}
}

// dockerKey is what daemons before version 23 make when they first start, and no package takes away.
const dockerKey = "/etc/docker/key.json"

// dockerPrograms are the daemon, as the distributions have it: an update of their packages need not restart it.
var dockerPrograms = []string{"/usr/bin/dockerd", "/usr/sbin/dockerd"}

// dockerSettings are those of every daemon.
func (p *plan) dockerSettings() map[string]any {
	settings := map[string]any{"features": map[string]any{"cdi": true}}
	if len(p.want.InsecureRegistries) > 0 {
		settings["insecure-registries"] = anyOf(p.want.InsecureRegistries)
	}
	return settings
}

// anyOf gives words as encoding/json decodes them.
func anyOf(words []string) []any {
	list := make([]any, len(words))
	for i, word := range words {
		list[i] = word
	}
	return list
}

// firstDockerWithCDI is the major version that has the setting features.cdi.
const firstDockerWithCDI = 25

func cdiInDocker(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if number, err := strconv.Atoi(major); err == nil && number < firstDockerWithCDI {
		return trapped("name a newer one in versions, where the repositories of the nodes have it; or take Docker's own packages: without a mirror they are the default, with one put docker-ce into these repositories; or take engine = podman, which needs no newer version",
			"Docker %s does not know CDI, %d is the first that does", version, firstDockerWithCDI)
	}
	return nil
}

// rootlessDocker plans Docker of a user.
func (p *plan) rootlessDocker() {
	p.rootlessUser()
	if here.restrictsUserNamespaces() {
		p.appArmor("rootlesskit", "/usr/bin/rootlesskit")
	}
	wanted := p.dockerSettings()
	p.userCDI()
	wanted["cdi-spec-dirs"] = anyOf(userCDIDirs)
	if p.want.DataRoot != "" {
		wanted["data-root"] = p.storage(p.user)
	}
	const daemon, unit, program = "/etc/docker/daemon-rootless.json", "/etc/systemd/user/docker.service", binDir + "/dockerd-rootless.sh"
	p.add(p.fileStep(jsonFile{id: "rootless-docker-config", path: daemon, set: wanted}, daemon),
		p.fileStep(setup.Link{Ident: setup.Ident{ID: "rootless-docker-program"}, Path: program, Target: p.rootlessProgram()}, program),
		p.file("rootless-docker-unit", "", unit, rootlessUnit("Docker of a user", "", "", program+" --config-file="+daemon)),
		p.service("docker.service", p.user, slices.Concat(dockerPrograms, copiedDirs, []string{unit, daemon})...))
}

// rootlessProgram is where the packages have the program that starts rootless Docker.
func (p *plan) rootlessProgram() string {
	const debian = "/usr/share/docker.io/contrib/dockerd-rootless.sh"
	if p.want.Mirror != "" && p.platform.Packages == "deb" {
		return debian
	}
	return "/usr/bin/dockerd-rootless.sh"
}

// repository adds a vendor's repository of packages, unless a mirror stands for all that is outside.
func (p *plan) repository(r repository) {
	if p.want.Mirror != "" {
		return
	}
	if p.platform.Packages == "rpm" {
		p.add(p.file(r.name+"-repository", "", "/etc/yum.repos.d/"+r.name+".repo", r.text))
		return
	}
	key := "/etc/apt/keyrings/" + r.name + ".asc"
	p.add(p.fileStep(vendorKey{name: r.name, address: r.key, sha256: r.keySHA256, path: key}, key),
		p.file(r.name+"-repository", "", "/etc/apt/sources.list.d/"+r.name+".list", fmt.Sprintf(r.text, key)))
}
