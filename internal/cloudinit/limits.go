// SPDX-License-Identifier: MPL-2.0

package cloudinit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// limitNames are those of limits.conf(5) with systemd's names for them.
var limitNames = map[string]string{
	"core": "CORE", "memlock": "MEMLOCK", "nofile": "NOFILE", "nproc": "NPROC", "stack": "STACK",
}

// limitFiles set limits for users who log in, root among them, and for services such as schedulers and
// container engines. limits.conf counts memory in KiB, systemd in bytes.
func limitFiles(limits map[string]string) map[string]File {
	var users, services strings.Builder
	services.WriteString("[Manager]\n")
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		value := limits[name]
		fmt.Fprintf(&users, "* - %s %s\nroot - %s %s\n", name, value, name, value)
		switch {
		case value == "unlimited":
			value = "infinity"
		case name == "core" || name == "memlock" || name == "stack":
			value += "K"
		}
		fmt.Fprintf(&services, "DefaultLimit%s=%s\n", limitNames[name], value)
	}
	return map[string]File{
		"/etc/security/limits.d/90-ocihpc.conf":     {Content: users.String()},
		"/etc/systemd/system.conf.d/90-ocihpc.conf": {Content: services.String()},
	}
}
