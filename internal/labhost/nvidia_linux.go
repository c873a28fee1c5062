// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"fmt"
	"regexp"
	"slices"
)

// gpuDevice is that of one GPU; the machine's others, such as /dev/nvidiactl, serve all of them.
var gpuDevice = regexp.MustCompile(`^/dev/nvidia[0-9]+$`)

// dealGPUs gives a host that is about to start its devices of the machine's real GPUs: all of them, or so many as
// each host is to have, which no other running host has. The caller holds h.mu.
func (h *Hosts) dealGPUs(host *host) error {
	each := h.cfg.GPUsPerHost
	if each == 0 || len(h.cfg.NVIDIADevices) == 0 {
		host.nvidia = h.cfg.NVIDIADevices
		return nil
	}
	if !host.gpus {
		return nil
	}
	taken := map[string]bool{}
	for _, other := range h.hosts {
		for _, device := range other.nvidia {
			taken[device] = true
		}
	}
	var free, shared []string
	for _, device := range h.cfg.NVIDIADevices {
		switch {
		case !gpuDevice.MatchString(device):
			shared = append(shared, device)
		case !taken[device]:
			free = append(free, device)
		}
	}
	if len(free) < each {
		return fmt.Errorf("boot host %s: it is to have %d of this machine's GPUs, but %d are free", host.hostname, each, len(free))
	}
	host.nvidia = slices.Concat(shared, free[:each])
	return nil
}
