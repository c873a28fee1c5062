// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"slices"
	"strings"
	"testing"
)

// TestEngineOfEachSystem installs each engine with NVIDIA's toolkit by each package manager, once.
func TestEngineOfEachSystem(t *testing.T) {
	t.Parallel()
	yes := true
	for name, c := range map[string]struct {
		engine  Engine
		manager string
		update  []string // before an installation
		engines string   // the engine's package
		files   map[string]string
	}{
		"apt": {engine: Containerd, manager: "apt-get", update: []string{"apt-get update"}, engines: "containerd", files: map[string]string{
			"/etc/apt/sources.list.d/nvidia-container-toolkit.list": "deb [signed-by=/etc/apt/keyrings/nvidia-container-toolkit.asc] https://nvidia.github.io/libnvidia-container/stable/deb/",
		}},
		"dnf": {engine: Docker, manager: "dnf", engines: "docker-ce", files: map[string]string{
			"/etc/yum.repos.d/docker-ce.repo":                "baseurl=https://download.docker.com/linux/centos/$releasever/$basearch/stable\n",
			"/etc/yum.repos.d/nvidia-container-toolkit.repo": "gpgkey=https://nvidia.github.io/libnvidia-container/gpgkey\n",
		}},
		"yum": {engine: Containerd, manager: "yum", engines: "containerd.io", files: map[string]string{
			"/etc/yum.repos.d/nvidia-container-toolkit.repo": "baseurl=https://nvidia.github.io/libnvidia-container/stable/rpm/$basearch\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.offerEngines(c.manager)
			config := Config{ContainerEngine: &ContainerEngine{Name: c.engine, NVIDIAToolkit: &yes, Images: []string{"nginx"}}}
			first, second := m.boot(config), m.boot(config)
			for path := range c.files {
				m.run("mkdir -p /srv/files" + path + "; cp " + path + " /srv/files" + path + "/content")
			}
			m.start()

			install := func(pkg string) []string { return append(slices.Clone(c.update), c.manager+" -y install "+pkg) }
			pull := "docker pull nginx"
			if c.engine == Containerd {
				pull = "ctr images pull docker.io/library/nginx:latest"
			}
			want := install(c.engines)
			if c.manager == "apt-get" {
				want = append(want, "curl -fsSL --retry 3 -o /etc/apt/keyrings/nvidia-container-toolkit.asc https://nvidia.github.io/libnvidia-container/gpgkey")
			}
			configure := "nvidia-ctk runtime configure --runtime=" + string(c.engine)
			want = slices.Concat(want, install("nvidia-container-toolkit"), []string{
				configure, "systemctl restart " + string(c.engine), "systemctl enable --now " + string(c.engine), pull, pull,
			})
			m.expect(first, "commands", m.result(first).recorded, want)
			m.expect(second, "commands", m.result(second).recorded, []string{configure, "systemctl enable --now " + string(c.engine)})
			if b := m.result(first); b.exit != 0 {
				t.Errorf("%+v", b)
			}
			for path, want := range c.files {
				if got := readFile(t, m.out+"/files"+path+"/content"); !strings.Contains(got, want) {
					t.Errorf("%s is %q, without %q", path, got, want)
				}
			}
		})
	}
}

// TestPullFails ends after three attempts.
func TestPullFails(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.offerEngines("dnf")
	m.write("bin/docker.offered", "#!/bin/sh\n[ \"$1\" = image ] || echo 'no such host'; exit 1\n")
	boot := m.boot(Config{ContainerEngine: &ContainerEngine{Images: []string{"nginx"}}})
	m.start()
	if b := m.result(boot); b.exit == 0 || strings.Count(b.log, "no such host") != 3 || b.status[1].Message != "no such host" {
		t.Errorf("%+v", b)
	}
}

// offerEngines takes the machine's engines away, and its package managers but one, which then has them. The
// first pull of an image fails.
func (m *machine) offerEngines(manager string) {
	m.t.Helper()
	for name, body := range map[string]string{
		manager: `record ` + manager + ` "$@"; [ "$1" = -y ] || exit 0
			case $3 in docker*) take docker ;; containerd*) take containerd; take ctr ;; nvidia-*) take nvidia-ctk ;; *) exit 1 ;; esac`,
		"take":               `cp "/srv/bin/$1.offered" "/srv/bin/$1"; touch "/sim/service.$1"`,
		"curl":               `record curl "$@"; touch "$5"`,
		"docker.offered":     `case $1 in image) [ -e /sim/pulled ] ;; pull) record docker "$@"; [ -e /sim/tried ] && touch /sim/pulled; touch /sim/tried ;; esac`,
		"containerd.offered": ``,
		"ctr.offered":        `case $2 in list) cat /sim/pulled 2>/dev/null ;; pull) record ctr "$@"; [ -e /sim/tried ] && echo "$3" >/sim/pulled; touch /sim/tried ;; esac`,
		"nvidia-ctk.offered": `record nvidia-ctk "$@"; case $3 in *docker) f=/etc/docker/daemon.json ;; *) f=/etc/containerd/config.toml ;; esac
			mkdir -p "${f%/*}"; echo nvidia >"$f"`,
	} {
		m.write("bin/"+name, "#!/bin/sh\n"+body+"\n")
	}
	m.run(`for program in docker dockerd containerd ctr nvidia-ctk apt-get dnf yum; do
			[ "$program" = ` + manager + ` ] || rm -f /srv/bin/$program
			rm -f /usr/bin/$program /usr/local/bin/$program /usr/sbin/$program
		done
		rm -f /etc/docker/daemon.json /etc/containerd/config.toml
		mkdir -p /etc/yum.repos.d /etc/apt/sources.list.d`)
}
