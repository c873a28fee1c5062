// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/provider"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/oci"
)

// NewHasty gives a provider that waits for OCI, and bears with it, for moments instead of minutes.
func NewHasty() func() provider.Provider {
	return func() provider.Provider {
		return &ocihpcProvider{version: "test", adjust: func(clusters *oci.Clusters) {
			clusters.Waiter.First, clusters.Waiter.Max = 5*time.Millisecond, 20*time.Millisecond
			clusters.Grace = 2 * time.Second
			clusters.Retry.First, clusters.Retry.Max = time.Millisecond, 2*time.Millisecond
		}}
	}
}

// DefaultTimeout is the time for a cluster of a size when the user sets none.
var DefaultTimeout = defaultTimeout
