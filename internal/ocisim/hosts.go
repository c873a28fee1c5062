// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"context"
	"net/netip"
)

// Hosts boots and removes the machines behind simulated instances. A nil Hosts in [Config] means
// instances without machines, for scale tests.
type Hosts interface {
	// Boot starts a host, with the disk that it left where it has been stopped, and returns when it is up
	// (its sshd may still be starting, as on OCI). The instance becomes RUNNING after it, and its work
	// request fails with the error.
	Boot(ctx context.Context, h Host) error
	// Stop ends the host of an instance and keeps its disk for the next Boot. A host that does not run is
	// no error.
	Stop(ctx context.Context, instanceID string) error
	// RemoveDisk stops the host of an instance and takes its disk away; what is on its local NVMe devices
	// stays for the next Boot. An unknown instance is no error.
	RemoveDisk(ctx context.Context, instanceID string) error
	// Remove takes the host of an instance away, with all that it keeps; an unknown instance is no error.
	Remove(ctx context.Context, instanceID string) error
}

// Host is what a machine needs to know of its instance.
type Host struct {
	InstanceID         string
	DisplayName        string
	Hostname           string // label, such as inst-ab3de-gpu
	Shape              string
	Region             string
	AvailabilityDomain string
	FaultDomain        string
	CompartmentID      string
	TenancyID          string
	ImageID            string
	VnicID             string
	MAC                string
	PrivateIP          netip.Addr
	Subnet             netip.Prefix
	Gateway            netip.Addr
	// Metadata as launched: ssh_authorized_keys, user_data (base64), and the user's own keys.
	Metadata map[string]string
	// Effect is what the scenario wants to be wrong with the host; never [NodeBootFails].
	Effect NodeEffect
}
