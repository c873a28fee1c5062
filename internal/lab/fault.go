// SPDX-License-Identifier: MPL-2.0

package lab

// Fault is what goes wrong with a host that runs, on top of faults that it has already. Its GPUs' faults stay on its disk, a
// rate until the host or the lab ends.
type Fault struct {
	// BitsPerSecond bounds what is sent to the host; 0 does not. With To, it bounds what goes between the host and that one.
	BitsPerSecond uint64 `json:"bits_per_second,omitempty"`
	To            string `json:"to,omitempty"`
	// WrongGPU is the index of a GPU that corrupts its results; nil for none.
	WrongGPU *int `json:"wrong_gpu,omitempty"`
	// Hang has the host's ranks stand still as soon as they have to talk to another host.
	Hang bool `json:"hang,omitempty"`
	// ThrottleMilliseconds is by how much every fifth iteration takes longer on the host; 0 does nothing.
	ThrottleMilliseconds int `json:"throttle_milliseconds,omitempty"`
	// NoStart keeps every program from using the host's GPUs.
	NoStart bool `json:"no_start,omitempty"`
}
