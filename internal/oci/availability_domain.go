// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"

	"github.com/oracle/oci-go-sdk/v65/identity"
)

// AvailabilityDomains gives the names of the region's availability domains as this tenancy knows them.
func (c *Clients) AvailabilityDomains(ctx context.Context) ([]string, error) {
	response, err := read(ctx, c, c.Identity.ListAvailabilityDomains, identity.ListAvailabilityDomainsRequest{CompartmentId: &c.TenancyOCID})
	if err != nil {
		return nil, fmt.Errorf("list the availability domains: %w", err)
	}
	var names []string
	for _, domain := range response.Items {
		names = append(names, value(domain.Name))
	}
	return names, nil
}
