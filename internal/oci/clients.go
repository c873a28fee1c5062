// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"fmt"
	"sync"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/identity"
	"github.com/oracle/oci-go-sdk/v65/limits"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// Clients are the SDK's clients of one region. The SDK's own retries and circuit breakers are off: calls
// go through read and change, which retry by one policy.
type Clients struct {
	ComputeManagement core.ComputeManagementClient
	Compute           core.ComputeClient
	VirtualNetwork    core.VirtualNetworkClient
	WorkRequest       workrequests.WorkRequestClient
	Identity          identity.IdentityClient
	Limits            limits.LimitsClient

	// Region and TenancyOCID that the credentials belong to.
	Region      string
	TenancyOCID string

	// Retry is the policy of every call.
	Retry Retry
}

// building guards the SDK's table of regions, which it fills without a lock when it meets a new one.
var building sync.Mutex

// NewClients makes the clients. It does not call the API, but it may ask the metadata service of the
// instance that it runs on, for its principal.
func NewClients(c Config) (*Clients, error) {
	if c.Endpoint != "" {
		if err := checkEndpoint(c.Endpoint); err != nil {
			return nil, err
		}
	}
	building.Lock()
	defer building.Unlock()
	credentials, err := c.credentials()
	if err != nil {
		return nil, err
	}
	clients := &Clients{Retry: DefaultRetry}
	if clients.Region, err = credentials.Region(); err != nil {
		return nil, fmt.Errorf("read the region: %w", err)
	}
	if clients.TenancyOCID, err = credentials.TenancyOCID(); err != nil {
		return nil, fmt.Errorf("read the tenancy: %w", err)
	}
	if clients.ComputeManagement, err = core.NewComputeManagementClientWithConfigurationProvider(credentials); err != nil {
		return nil, fmt.Errorf("make the compute management client: %w", err)
	}
	if clients.Compute, err = core.NewComputeClientWithConfigurationProvider(credentials); err != nil {
		return nil, fmt.Errorf("make the compute client: %w", err)
	}
	if clients.VirtualNetwork, err = core.NewVirtualNetworkClientWithConfigurationProvider(credentials); err != nil {
		return nil, fmt.Errorf("make the virtual network client: %w", err)
	}
	if clients.WorkRequest, err = workrequests.NewWorkRequestClientWithConfigurationProvider(credentials); err != nil {
		return nil, fmt.Errorf("make the work request client: %w", err)
	}
	if clients.Identity, err = identity.NewIdentityClientWithConfigurationProvider(credentials); err != nil {
		return nil, fmt.Errorf("make the identity client: %w", err)
	}
	if clients.Limits, err = limits.NewLimitsClientWithConfigurationProvider(credentials); err != nil {
		return nil, fmt.Errorf("make the limits client: %w", err)
	}
	for _, base := range clients.bases() {
		c.adjust(base)
	}
	return clients, nil
}

func (c *Clients) bases() []*common.BaseClient {
	return []*common.BaseClient{
		&c.ComputeManagement.BaseClient,
		&c.Compute.BaseClient,
		&c.VirtualNetwork.BaseClient,
		&c.WorkRequest.BaseClient,
		&c.Identity.BaseClient,
		&c.Limits.BaseClient,
	}
}

func (c Config) adjust(base *common.BaseClient) {
	base.UserAgent = "terraform-provider-ocihpc/" + c.Version
	base.Configuration.CircuitBreaker = nil // It would open under a poller that a busy service throttles.
	once := common.NoRetryPolicy()
	base.Configuration.RetryPolicy = &once
	base.HTTPClient = interruptible{base.HTTPClient}
	if c.Endpoint != "" {
		base.Host = c.Endpoint
	}
}
