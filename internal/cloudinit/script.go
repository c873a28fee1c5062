// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"embed"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"al.essio.dev/pkg/shellescape"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// steps holds the parts of the script.
//
//go:embed steps/*.sh
var steps embed.FS

// LVM's and md's names for what holds the file system. LVM's are those of Oracle Japan's tutorials, so that
// what was made by them is found again.
const (
	volumeGroup   = "nvme"
	logicalVolume = "lvol0"
	arrayName     = "localdisk"
)

// rdmaPollSeconds is how often ports that are not ready are looked at.
const rdmaPollSeconds = 10

// script gathers the set-up's parts: functions first, then the calls.
type script struct {
	settings, calls strings.Builder
	functions       []string
}

func (s *script) set(name, value string) {
	fmt.Fprintf(&s.settings, "%s=%s\n", name, shellescape.Quote(value))
}

// stepTexts are the parts by name.
var stepTexts = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	entries, err := steps.ReadDir("steps")
	for _, entry := range entries {
		text, failed := steps.ReadFile("steps/" + entry.Name())
		err = errors.Join(err, failed)
		texts[strings.TrimSuffix(entry.Name(), ".sh")] = "\n" + string(text)
	}
	if err != nil {
		panic(err) // they are embedded
	}
	return texts
})

// include takes over a part of steps/.
func (s *script) include(name string) { s.functions = append(s.functions, stepTexts()[name]) }

func (s *script) call(how, step string, arguments ...string) {
	s.calls.WriteString(shellescape.QuoteCommand(append([]string{how, step}, arguments...)) + "\n")
}

func (s *script) text(about, begin string) string {
	if s.calls.Len() == 0 {
		return ""
	}
	head := "#!/bin/sh\n# " + about + "\nset -eu\n" + s.settings.String()
	functions := append([]string{stepTexts()["setup"], stepTexts()[begin]}, s.functions...)
	return head + strings.Join(functions, "") + "\n" + s.calls.String()
}

// setupScript is the script for a node; empty when the node needs none.
func setupScript(c Config) string {
	c = c.withDefaults()
	var s script
	s.set("ready", c.ReadyFile)
	s.set("boot_status", bootStatusPath)
	s.proxy(c.Proxy)
	if c.GrowRoot {
		s.include("grow_root")
		s.call("run", "grow_root", "grow_root")
	}
	if f := c.Firewall; f != nil {
		s.include("firewall")
		if f.Enabled {
			s.call("run", "firewall", append([]string{"firewall_on"}, f.AllowCIDRs...)...)
		} else {
			s.call("run", "firewall", "firewall_off")
		}
	}
	if len(c.Limits) > 0 { // systemd reads its own when it starts
		s.call("run_once", "limits", "[ ! -d /run/systemd/system ] || systemctl daemon-reexec")
	}
	s.nvme(c)
	s.rdma(c)
	s.engine(c)
	for i, command := range c.Runcmd {
		s.call("run_once", fmt.Sprintf("runcmd_%d", i+1), command)
	}
	if s.calls.Len() > 0 || len(c.Bootcmd) > 0 || c.ReadyFile != DefaultReadyFile {
		s.call("run", job.BootReady, "complete")
	}
	return s.text("Sets this node up. Runs at each boot; what is done already is left as it is.", "begin")
}

// bootScript runs the commands of bootcmd; empty when there are none.
func bootScript(c Config) string {
	c = c.withDefaults()
	var s script
	s.set("ready", c.ReadyFile)
	s.set("boot_status", bootStatusPath)
	s.proxy(c.Proxy)
	for i, command := range c.Bootcmd {
		s.call("run_always", fmt.Sprintf("bootcmd_%d", i+1), command)
	}
	return s.text("Runs at each boot, before files are written.", "bootcmd")
}

func (s *script) nvme(c Config) {
	n := c.NVMe
	if n == nil {
		return
	}
	s.set("nvme_layout", string(n.Layout))
	s.set("nvme_fs", n.FileSystem)
	s.set("nvme_label", n.Label)
	s.set("nvme_mount", n.MountPoint)
	s.set("nvme_options", n.MountOptions)
	s.set("nvme_group", volumeGroup)
	s.set("nvme_volume", logicalVolume)
	s.set("nvme_array", arrayName)
	s.set("nvme_expected", expectedNVMe(c.Shape))
	s.include("nvme")
	s.call("run", "nvme", "nvme")
	if n.ContainerStorage {
		s.include("container_storage")
		s.call("run", "container_storage", "container_storage", n.root())
	}
}

// root is the directory of the first file system.
func (n *NVMe) root() string {
	if n.Layout == PerDisk {
		return n.MountPoint + "/disk0"
	}
	return n.MountPoint
}

// expectedNVMe is the number of NVMe devices that the catalog expects, for people.
func expectedNVMe(name string) string {
	if s, ok := shape.Lookup(name); ok && s.NVMeDevices.Usable() {
		return strconv.Itoa(s.NVMeDevices.V)
	}
	return "an unknown number of"
}

func (s *script) rdma(c Config) {
	r := c.RDMA
	if r == nil {
		return
	}
	var hcas []string
	if known, ok := shape.Lookup(c.Shape); ok && known.HCAs.Usable() {
		hcas = known.HCAs.V
	}
	s.set("rdma_hcas", strings.Join(hcas, " "))
	s.set("rdma_expected", strconv.Itoa(len(hcas)))
	s.set("rdma_network", r.Network)
	s.set("rdma_netmask", netmask(r.Network))
	s.set("rdma_authentication", r.Authentication)
	s.set("rdma_mtu", strconv.Itoa(RDMAMTU))
	s.set("rdma_wait_seconds", strconv.Itoa(r.WaitSeconds))
	s.set("rdma_poll", strconv.Itoa(rdmaPollSeconds))
	s.include("rdma")
	s.call("run", "rdma", "rdma_"+string(r.Mode))
}

// netmask in dotted form of a network in CIDR form; empty for anything else.
func netmask(cidr string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil || !p.Addr().Is4() {
		return ""
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), p.Bits()).Masked().Addr().String()
}

func (s *script) engine(c Config) {
	e := c.ContainerEngine
	if e == nil {
		return
	}
	s.include("engine")
	toolkit := "no"
	if e.wantsToolkit(c.Shape) {
		toolkit = "yes"
	}
	s.call("run", "container_engine", "engine", string(e.Name), toolkit)
	for i, image := range e.Images {
		s.call("run", fmt.Sprintf("pull_%d", i+1), "pull", string(e.Name), e.reference(image))
	}
}

func (e *ContainerEngine) wantsToolkit(shapeName string) bool {
	if e.NVIDIAToolkit != nil {
		return *e.NVIDIAToolkit
	}
	s, ok := shape.Lookup(shapeName)
	return ok && s.GPUVendor == shape.NVIDIA
}

// reference is the name of an image as the engine wants it: containerd has no default registry.
func (e *ContainerEngine) reference(image string) string {
	if e.Name != Containerd {
		return image
	}
	registry, rest, found := strings.Cut(image, "/")
	switch {
	case !found:
		image = "docker.io/library/" + image
	case !strings.ContainsAny(registry, ".:") && registry != "localhost":
		image = "docker.io/" + registry + "/" + rest
	}
	if name := image[strings.LastIndex(image, "/"):]; !strings.ContainsAny(name, ":@") {
		image += ":latest"
	}
	return image
}

func (s *script) proxy(p *Proxy) {
	if p == nil {
		return
	}
	for _, v := range p.variables() {
		s.set("export "+v.name, v.value)
	}
}
