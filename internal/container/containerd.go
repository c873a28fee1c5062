// SPDX-License-Identifier: MPL-2.0

package container

import (
	"fmt"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// containerd plans containerd with its programs, for root and, where one is named, for a user.
func (p *plan) containerd() error {
	components := []string{compContainerd, compRunc, compCNI}
	if !p.without(compNerdctl) {
		components = append(components, compNerdctl)
	}
	if p.user != nil {
		if p.without(compNerdctl) {
			return setup.Advise(fmt.Errorf("rootless containerd without nerdctl: %w", ErrUnsupported), "nerdctl's archive brings the programs that start it: leave nerdctl in versions out")
		}
		components = append(components, compRootlessKit)
		if !p.without(compBypass4netns) {
			components = append(components, compBypass4netns)
		}
	}
	p.add(p.packages("install-packages", "iptables")) // the CNI plugins call it
	for _, name := range components {
		a, err := p.source.of(name, p.version(name))
		if err != nil {
			return err
		}
		var step setup.Step = component{a, p.record, releases[name].layout, downloadDir}
		if name == compNerdctl {
			step = p.makes(nil, step, nerdctlNetwork("/etc/cni/net.d/")...)
		}
		p.add(step)
	}
	unit, config := unitDir+"/containerd.service", containerdDir+"/config.toml"
	p.add(p.file("containerd-config", "", config, containerdConfig(p.storage(nil))),
		p.file("containerd-unit", "", unit, containerdUnit(p.storage(nil))),
		p.service("containerd.service", nil, unit, config, binDir+"/containerd"),
		securePath{p.record})
	for _, registry := range p.want.InsecureRegistries { // containerd reads them at each pull
		p.add(p.file("registry-"+notPlain.ReplaceAllString(registry, "-"), "", registriesDir+"/"+registry+"/hosts.toml", insecureHosts(registry)))
	}
	if p.want.DataRoot != "" && !p.without(compNerdctl) {
		p.add(p.file("nerdctl-config", "", "/etc/nerdctl/nerdctl.toml", "# Written by ocihpc-runner.\n"+nerdctlKey("data_root", p.want.DataRoot+"/nerdctl")))
	}
	if p.user != nil {
		p.rootlessContainerd()
	}
	return nil
}

// nerdctlNetwork are the files of the network that nerdctl makes when it is first run.
func nerdctlNetwork(dir string) []string {
	return []string{dir + "nerdctl-bridge.conflist", dir + ".nerdctl.lock", dir + ".cni-concurrency.lock"}
}

// version that is asked for; bypass4netns comes with nerdctl's.
func (p *plan) version(component string) string {
	if component == compBypass4netns {
		component = compNerdctl
	}
	return p.want.Versions[component]
}

// containerdConfig keeps to the defaults but for the storage. CDI is on by default since containerd 2.0; it is said
// so that a file of conf.d cannot turn it off unseen.
func containerdConfig(root string) string {
	return fmt.Sprintf(`# Written by ocihpc-runner. Own settings belong into files of /etc/containerd/conf.d.
version = 3
root = %q
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins."io.containerd.cri.v1.runtime"]
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]

[plugins."io.containerd.cri.v1.images".registry]
  config_path = %q
`, root, registriesDir)
}

// registriesDir says how registries are reached, for containerd, ctr and nerdctl; userRegistriesDir does so for a user's
// containerd, which has another folder in the place of /etc/containerd.
const (
	registriesDir     = containerdDir + "/certs.d"
	userRegistriesDir = "/etc/nerdctl/certs.d"
)

// insecureHosts tries HTTPS with any certificate, then plain HTTP.
func insecureHosts(registry string) string {
	return fmt.Sprintf(`# Written by ocihpc-runner.
server = "http://%s"

[host."https://%[1]s"]
  capabilities = ["pull", "resolve"]
  skip_verify = true
`, registry)
}

// containerdUnit leaves containers running when containerd is restarted (KillMode), and lets them lock memory as RDMA
// needs it.
func containerdUnit(root string) string {
	return `# Written by ocihpc-runner.
[Unit]
Description=containerd container runtime
Documentation=https://containerd.io
After=network.target local-fs.target dbus.service
RequiresMountsFor=` + root + `

[Service]
ExecStartPre=-/sbin/modprobe overlay
ExecStart=` + binDir + `/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
LimitNOFILE=1048576
LimitMEMLOCK=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
`
}

// nerdctlKey is a line of nerdctl.toml.
func nerdctlKey(name string, values ...string) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = fmt.Sprintf("%q", value)
	}
	if len(quoted) == 1 {
		return name + " = " + quoted[0] + "\n"
	}
	return name + " = [" + strings.Join(quoted, ", ") + "]\n"
}
