// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	_ "embed" // for the parts of the script
	"fmt"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// The parts of the script.
var (
	//go:embed steps/setup.sh
	setupPart string
	//go:embed steps/grow_root.sh
	growRootPart string
	//go:embed steps/firewall.sh
	firewallPart string
	//go:embed steps/nvme.sh
	nvmePart string
)

// LVM's names for what holds the file system.
const (
	volumeGroup   = "nvme"
	logicalVolume = "localdisk"
)

// script gathers the set-up's parts: functions first, then the calls.
type script struct {
	settings, functions, calls strings.Builder
}

func (s *script) set(name, value string) {
	fmt.Fprintf(&s.settings, "%s=%s\n", name, shellescape.Quote(value))
}

func (s *script) call(how, step string, arguments ...string) {
	s.calls.WriteString(shellescape.QuoteCommand(append([]string{how, step}, arguments...)) + "\n")
}

// setupScript is the script for a node; empty when the node needs none.
func setupScript(c Config) string {
	var s script
	if c.GrowRoot {
		s.functions.WriteString("\n" + growRootPart)
		s.call("run", "grow_root", "grow_root")
	}
	if c.Firewall != nil {
		s.functions.WriteString("\n" + firewallPart)
		s.call("run", "firewall", map[bool]string{true: "firewall_on", false: "firewall_off"}[*c.Firewall])
	}
	if c.NVMe != nil {
		s.set("nvme_layout", string(c.NVMe.Layout))
		s.set("nvme_label", c.NVMe.Label)
		s.set("nvme_mount", c.NVMe.MountPoint)
		s.set("nvme_options", c.NVMe.MountOptions)
		s.set("nvme_group", volumeGroup)
		s.set("nvme_volume", logicalVolume)
		s.set("nvme_expected", expectedNVMe(c.Shape))
		s.functions.WriteString("\n" + nvmePart)
		s.call("run", "nvme", "nvme")
	}
	for i, command := range c.Runcmd {
		s.call("run_once", fmt.Sprintf("runcmd_%d", i+1), command)
	}
	if s.calls.Len() == 0 {
		return ""
	}
	return "#!/bin/sh\n" +
		"# Sets this node up. Runs at each boot; what is done already is left as it is.\n" +
		"set -eu\n" + s.settings.String() + setupPart + s.functions.String() + "\n" + s.calls.String()
}

// expectedNVMe is the number of NVMe devices that the catalog expects, for people.
func expectedNVMe(name string) string {
	if s, ok := shape.Lookup(name); ok && s.NVMeDevices.Usable() {
		return strconv.Itoa(s.NVMeDevices.V)
	}
	return "an unknown number of"
}
