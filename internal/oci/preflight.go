// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"fmt"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/limits"
)

// FindingKind is what a finding is about.
type FindingKind string

// Kinds of findings.
const (
	// NoCapacity: OCI has not enough free hosts of the shape.
	NoCapacity FindingKind = "capacity"
	// LimitTooLow: a service limit or quota leaves no room.
	LimitTooLow FindingKind = "limit"
	// NotOffered: the shape is not there.
	NotOffered FindingKind = "shape"
	// Unchecked: OCI did not answer the question, so nothing is known.
	Unchecked FindingKind = "unchecked"
)

// Finding is something that may keep nodes from being launched, as a sentence for people.
type Finding struct {
	Kind FindingKind
	Text string
}

// Preflight asks OCI whether so many more nodes of a cluster could be launched now. The answers promise
// nothing: capacity goes to whoever comes first, and says nothing about neighbourhood in an RDMA network.
// What cannot be asked is a finding, never an error. The context bounds the whole.
func (c *Clients) Preflight(ctx context.Context, spec Spec, more int) []Finding {
	if more <= 0 {
		return nil
	}
	shape, err := c.shape(ctx, spec)
	switch {
	case err != nil:
		return []Finding{unchecked("The shape %s could not be looked up", err, spec.Launch.Shape)}
	case shape == nil:
		return []Finding{{NotOffered, fmt.Sprintf("The shape %s is not offered in %s.", spec.Launch.Shape, spec.Placement.AvailabilityDomain)}}
	}
	if spec.Launch.CapacityReservationID != "" {
		return nil // It holds hosts that the report does not count, and the limits count as used.
	}
	findings := c.capacity(ctx, spec, more)
	for _, limit := range shape.QuotaNames {
		findings = append(findings, c.limit(ctx, spec, limit, perNode(limit, *shape)*int64(more), more)...)
	}
	return findings
}

// perNode is what a node counts against a limit of its shape. Limits are named after what they count:
// OCPUs, GB of memory, or GPUs. Source: docs.oracle.com, Compute Quotas.
func perNode(limit string, s core.Shape) int64 {
	switch {
	case strings.HasSuffix(limit, "-core-count"):
		return int64(value(s.Ocpus))
	case strings.HasSuffix(limit, "-memory-count"):
		return int64(value(s.MemoryInGBs))
	case strings.HasPrefix(limit, "gpu"):
		return int64(value(s.Gpus))
	}
	return 1
}

func unchecked(what string, err error, of ...any) Finding {
	problem := Explain(err)
	why := problem.What
	if problem.Status != 0 {
		why = fmt.Sprintf("OCI answered %d %s", problem.Status, problem.Code)
	}
	return Finding{Unchecked, fmt.Sprintf(what, of...) + ": " + why + "."}
}

// capacity asks for a report of free hosts, which OCI gives for the tenancy's root compartment only.
func (c *Clients) capacity(ctx context.Context, spec Spec, more int) []Finding {
	name, domain := spec.Launch.Shape, spec.Placement.AvailabilityDomain
	response, err := read(ctx, c, c.Compute.CreateComputeCapacityReport, core.CreateComputeCapacityReportRequest{
		CreateComputeCapacityReportDetails: core.CreateComputeCapacityReportDetails{
			CompartmentId: &c.TenancyOCID, AvailabilityDomain: &domain,
			ShapeAvailabilities: []core.CreateCapacityReportShapeAvailabilityDetails{{InstanceShape: &name}},
		},
	})
	if err != nil {
		return []Finding{unchecked("Free hosts of %s in %s could not be asked for", err, name, domain)}
	}
	for _, a := range response.ShapeAvailabilities {
		switch {
		case value(a.InstanceShape) != name || a.FaultDomain != nil:
		case a.AvailabilityStatus == core.CapacityReportShapeAvailabilityAvailabilityStatusOutOfHostCapacity:
			return []Finding{{NoCapacity, fmt.Sprintf("%s has no free hosts of %s at the moment; %d more are needed.", domain, name, more)}}
		case a.AvailabilityStatus == core.CapacityReportShapeAvailabilityAvailabilityStatusHardwareNotSupported:
			return []Finding{{NotOffered, fmt.Sprintf("%s has no hosts of %s.", domain, name)}}
		case a.AvailableCount != nil && *a.AvailableCount < int64(more):
			return []Finding{{NoCapacity, fmt.Sprintf("%s has %d free hosts of %s at the moment; %d more are needed.", domain, *a.AvailableCount, name, more)}}
		}
	}
	return nil
}

// limit asks whether a service limit or quota has room for what so many more nodes count against it.
func (c *Clients) limit(ctx context.Context, spec Spec, limit string, need int64, more int) []Finding {
	service, domain := "compute", spec.Placement.AvailabilityDomain
	response, err := read(ctx, c, c.Limits.GetResourceAvailability, limits.GetResourceAvailabilityRequest{
		ServiceName: &service, LimitName: &limit, CompartmentId: &spec.CompartmentID, AvailabilityDomain: &domain,
	})
	if err != nil {
		return []Finding{unchecked("The limit %s could not be read", err, limit)}
	}
	if response.Available == nil || *response.Available >= need {
		return nil
	}
	return []Finding{{LimitTooLow, fmt.Sprintf("The limit %s leaves %d in %s; %d more nodes of %s need %d.",
		limit, *response.Available, domain, more, spec.Launch.Shape, need)}}
}
