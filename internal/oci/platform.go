// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"
)

// platform is the part of a platform configuration that is used here. It is the same in all of the types
// that the SDK has for it, of which each shape takes one.
type platform struct {
	Type               core.ShapePlatformConfigOptionsTypeEnum `json:"type"`
	NUMANodesPerSocket string                                  `json:"numaNodesPerSocket,omitempty"`
	SMT                *bool                                   `json:"isSymmetricMultiThreadingEnabled,omitempty"`
}

// The SDK wants these of every type of platform configuration.

func (platform) GetIsSecureBootEnabled() *bool            { return nil }
func (platform) GetIsTrustedPlatformModuleEnabled() *bool { return nil }
func (platform) GetIsMeasuredBootEnabled() *bool          { return nil }
func (platform) GetIsMemoryEncryptionEnabled() *bool      { return nil }

// platformConfig gives the platform configuration of a launch, of the type that its shape takes; nil when
// nothing is to be set. Settings that the shape does not offer are refused.
func (c *Clients) platformConfig(ctx context.Context, spec Spec) (core.InstanceConfigurationLaunchInstancePlatformConfig, error) {
	want, name := spec.Launch.Platform, spec.Launch.Shape
	if want == (Platform{}) {
		return nil, nil
	}
	offered, err := c.shape(ctx, spec)
	if err != nil {
		return nil, err
	}
	options := value(value(offered).PlatformConfigOptions)
	if options.Type == "" {
		return nil, fmt.Errorf("the shape %s has no platform settings in %s", name, spec.Placement.AvailabilityDomain)
	}
	if numa := want.NUMANodesPerSocket; numa != "" {
		var allowed []string
		for _, v := range value(options.NumaNodesPerSocketPlatformOptions).AllowedValues {
			allowed = append(allowed, string(v))
		}
		if !slices.Contains(allowed, numa) {
			return nil, fmt.Errorf("the shape %s does not offer %s NUMA nodes per socket: it offers %s", name, numa, oneOf(allowed))
		}
	}
	if smt := want.SimultaneousMultithreading; smt != nil {
		if allowed := value(options.SymmetricMultiThreadingOptions).AllowedValues; !slices.Contains(allowed, *smt) {
			return nil, fmt.Errorf("the shape %s does not let simultaneous multithreading be switched %s", name, map[bool]string{true: "on", false: "off"}[*smt])
		}
	}
	return platform{Type: options.Type, NUMANodesPerSocket: want.NUMANodesPerSocket, SMT: want.SimultaneousMultithreading}, nil
}

func oneOf(values []string) string {
	if len(values) == 0 {
		return "no choice"
	}
	return strings.Join(values, ", ")
}

// platformOf reads back what was set, of whatever type.
func platformOf(config core.InstanceConfigurationLaunchInstancePlatformConfig) Platform {
	var p platform
	if text, err := json.Marshal(config); err != nil || json.Unmarshal(text, &p) != nil {
		return Platform{} // of a form that is not known yet
	}
	return Platform{NUMANodesPerSocket: p.NUMANodesPerSocket, SimultaneousMultithreading: p.SMT}
}

// shape gives what OCI says of the shape of a launch; nil when it is not offered there.
func (c *Clients) shape(ctx context.Context, spec Spec) (*core.Shape, error) {
	for offered, err := range pages(func(page *string) ([]core.Shape, *string, error) {
		response, err := read(ctx, c, c.Compute.ListShapes, core.ListShapesRequest{
			CompartmentId: &spec.CompartmentID, AvailabilityDomain: &spec.Placement.AvailabilityDomain,
			Shape: &spec.Launch.Shape, Limit: common.Int(pageSize), Page: page,
		})
		return response.Items, response.OpcNextPage, err
	}) {
		if err != nil {
			return nil, fmt.Errorf("list the shapes of %s: %w", spec.Placement.AvailabilityDomain, err)
		}
		if value(offered.Shape) == spec.Launch.Shape {
			return &offered, nil
		}
	}
	return nil, nil
}
