// SPDX-License-Identifier: MPL-2.0

package labhost

import (
	"slices"
	"testing"
)

func TestGPUsAreDealt(t *testing.T) {
	t.Parallel()
	h := &Hosts{hosts: map[string]*host{}, cfg: Config{
		GPUsPerHost:   2,
		NVIDIADevices: []string{"/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia10", "/dev/nvidia2", "/dev/nvidia3", "/dev/nvidiactl"},
	}}
	deal := func(id string, gpus bool) ([]string, error) {
		host := &host{id: id, hostname: id, gpus: gpus}
		err := h.dealGPUs(host)
		if err == nil {
			h.hosts[id] = host
		}
		return host.nvidia, err
	}
	want := func(id string, devices ...string) {
		t.Helper()
		if got, err := deal(id, true); err != nil || !slices.Equal(got, devices) {
			t.Errorf("%s has %v (%v), not %v", id, got, err, devices)
		}
	}
	if got, err := deal("bastion", false); err != nil || got != nil {
		t.Errorf("a host without GPUs in its shape has %v (%v)", got, err)
	}
	want("a", "/dev/nvidia-uvm", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1")
	want("b", "/dev/nvidia-uvm", "/dev/nvidiactl", "/dev/nvidia10", "/dev/nvidia2")
	if got, err := deal("c", true); err == nil || err.Error() != "boot host c: it is to have 2 of this machine's GPUs, but 1 are free" {
		t.Errorf("a third host has %v (%v)", got, err)
	}
	delete(h.hosts, "a")
	want("c", "/dev/nvidia-uvm", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1")
	h.cfg.GPUsPerHost = 0
	want("d", h.cfg.NVIDIADevices...)
}
