// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// LaunchTag is the freeform tag on nodes, and in the launch details of configurations, whose value is the
// digest of the launch: a node with another digest than its cluster's was launched otherwise.
const LaunchTag = "ocihpc-launch"

// MaxFreeformTags is how many freeform tags a user may set: OCI takes 10 on a resource, and nodes have two
// of ours. MaxDefinedTags, MaxTagKey and MaxTagValue (characters) are OCI's own. Source: docs.oracle.com,
// Tagging Overview, Limits on Tags.
const (
	MaxFreeformTags = 8
	MaxDefinedTags  = 64
	MaxTagKey       = 100
	MaxTagValue     = 256
)

// LaunchDigest tells launches apart, tags aside: 12 hexadecimal digits of SHA-256. What is not set leaves
// no trace in it, so that settings can be added without making all that exists look different.
func (s Spec) LaunchDigest() string {
	l := s.Launch
	canonical, err := json.Marshal(struct { // in this order, with sorted keys
		Shape       string            `json:"shape,omitempty"`
		Image       string            `json:"image,omitempty"`
		Metadata    map[string]string `json:"metadata,omitempty"`
		NSGs        []string          `json:"nsgs,omitempty"`
		BootGBs     int64             `json:"boot_gbs,omitempty"`
		BootVPUs    int64             `json:"boot_vpus,omitempty"`
		Reservation string            `json:"reservation,omitempty"`
		Plugins     map[string]bool   `json:"plugins,omitempty"`
		NUMA        string            `json:"numa,omitempty"`
		SMT         *bool             `json:"smt,omitempty"`
	}{
		l.Shape, l.ImageID, l.AllMetadata(), slices.Sorted(slices.Values(l.NSGIDs)), l.BootVolumeSizeInGBs, l.BootVolumeVPUsPerGB,
		l.CapacityReservationID, s.beyondDefaults(l.Plugins), l.Platform.NUMANodesPerSocket, l.Platform.SimultaneousMultithreading,
	})
	if err != nil {
		panic(fmt.Sprintf("encode a launch: %v", err)) // Strings and numbers always encode.
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:6])
}

// launchTags are the tags of the nodes.
func (s Spec) launchTags() map[string]string {
	tags := s.tagged()
	tags[LaunchTag] = s.LaunchDigest()
	return tags
}
