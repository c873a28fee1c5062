// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// runName is what people call a run.
func runName(m job.Measurement) string {
	name := strings.Join(m.Nodes, ", ") + " together"
	switch m.Scope {
	case job.ScopeAll:
		name = "all nodes together"
	case job.ScopeNode:
		name = strings.Join(m.Nodes, ", ") + " alone"
	case job.ScopeRail:
		if m.Rail != nil {
			name = fmt.Sprintf("GPU %d of every node", *m.Rail)
		}
	case job.ScopeGroup:
	}
	if m.Purpose != "" {
		name += " (" + m.Purpose + ")"
	}
	if m.Repeat > 1 {
		name += fmt.Sprintf(", run %d", m.Repeat)
	}
	return name
}

// networkOf says what NCCL's own log told.
func networkOf(l *job.NCCLLog) string {
	var parts []string
	add := func(format string, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add("NCCL %s", l.Version)
	add("network %s", l.Network)
	add("plugin %s", l.Plugin)
	add("devices %s", strings.Join(l.Devices, " "))
	var channels []string
	for _, way := range slices.Sorted(maps.Keys(l.Channels)) {
		channels = append(channels, fmt.Sprintf("%s × %d", way, l.Channels[way]))
	}
	add("connections by %s", strings.Join(channels, ", "))
	if l.GPUDirectRDMA != nil {
		add("GPUDirect RDMA %s", map[bool]string{true: "on", false: "off"}[*l.GPUDirectRDMA])
	}
	if len(l.GIDIndexes) > 0 {
		add("GID index %s", strings.Trim(fmt.Sprint(l.GIDIndexes), "[]"))
	}
	for _, w := range l.Warnings {
		add("warning of %s", w.Host+": "+w.Message)
	}
	return strings.Join(parts, "; ")
}
