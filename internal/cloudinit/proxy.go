// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"cmp"
	"fmt"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

type variable struct{ name, value string }

// variables are those that programs read, most in lower case, some in upper case. OCI's metadata service is
// never reached through a proxy.
func (p *Proxy) variables() []variable {
	direct := strings.Join(append([]string{"localhost", "127.0.0.1", "169.254.169.254"}, p.NoProxy...), ",")
	var all []variable
	for _, v := range []variable{{"http_proxy", p.HTTP}, {"https_proxy", cmp.Or(p.HTTPS, p.HTTP)}, {"no_proxy", direct}} {
		if v.value != "" {
			all = append(all, v, variable{strings.ToUpper(v.name), v.value})
		}
	}
	return all
}

// files tell login shells, apt and the container engines of the proxy.
func (p *Proxy) files(system OS) map[string]File {
	files := map[string]File{}
	var shell, unit strings.Builder
	unit.WriteString("[Service]\n")
	for _, v := range p.variables() {
		fmt.Fprintf(&shell, "export %s=%s\n", v.name, shellescape.Quote(v.value))
		fmt.Fprintf(&unit, "Environment=\"%s=%s\"\n", v.name, strings.ReplaceAll(v.value, "%", "%%"))
	}
	files["/etc/profile.d/ocihpc-proxy.sh"] = File{Content: shell.String()}
	for _, engine := range Engines() {
		files["/etc/systemd/system/"+string(engine)+".service.d/50-ocihpc-proxy.conf"] = File{Content: unit.String()}
	}
	if system == "" || system.usesApt() {
		content := ""
		for _, scheme := range []variable{{"http", p.HTTP}, {"https", cmp.Or(p.HTTPS, p.HTTP)}} {
			if scheme.value != "" {
				content += fmt.Sprintf("Acquire::%s::Proxy \"%s\";\n", scheme.name, scheme.value)
			}
		}
		files["/etc/apt/apt.conf.d/90ocihpc-proxy"] = File{Content: content}
	}
	return files
}

// yumCommand sets the proxy of dnf and yum, whose settings have no folder for parts; at each boot, before
// packages are installed.
func (p *Proxy) yumCommand() string {
	line := shellescape.Quote("proxy=" + cmp.Or(p.HTTPS, p.HTTP))
	return "for file in /etc/dnf/dnf.conf /etc/yum.conf; do\n" +
		"    [ -f \"$file\" ] || continue\n" +
		"    grep -qxF " + line + " \"$file\" && continue\n" +
		"    sed -i '/^proxy *=/d' \"$file\"\n" +
		"    printf '%s\\n' " + line + " | sed -i '/^\\[main\\]/r /dev/stdin' \"$file\"\n" +
		"done\n"
}
