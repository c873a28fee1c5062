// SPDX-License-Identifier: MPL-2.0

package ocisim

import "github.com/oracle/oci-go-sdk/v65/core"

// createCapacityReport tells at once how many instances of shapes can be had now. Nothing is stored. A
// shape without a limit in [Config.Capacity] has no count.
func (s *Server) createCapacityReport(q *request) (response, error) {
	d, err := decode[core.CreateComputeCapacityReportDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	if *d.CompartmentId != s.cfg.TenancyID {
		return response{}, invalid("compartmentId", "it must be the OCID of the tenancy")
	}
	if err := s.checkAvailabilityDomain(d.AvailabilityDomain); err != nil {
		return response{}, err
	}
	report := core.ComputeCapacityReport{CompartmentId: d.CompartmentId, AvailabilityDomain: d.AvailabilityDomain, TimeCreated: s.timestamp()}
	for _, asked := range d.ShapeAvailabilities {
		report.ShapeAvailabilities = append(report.ShapeAvailabilities, s.availability(asked))
	}
	return response{body: report}, nil
}

func (s *Server) availability(asked core.CreateCapacityReportShapeAvailabilityDetails) core.CapacityReportShapeAvailability {
	a := core.CapacityReportShapeAvailability{
		InstanceShape: asked.InstanceShape, FaultDomain: asked.FaultDomain, InstanceShapeConfig: asked.InstanceShapeConfig,
		AvailabilityStatus: core.CapacityReportShapeAvailabilityAvailabilityStatusAvailable,
	}
	if s.shape(*asked.InstanceShape) == nil {
		a.AvailabilityStatus, a.AvailableCount = core.CapacityReportShapeAvailabilityAvailabilityStatusHardwareNotSupported, ptr[int64](0)
		return a
	}
	if free, limited := s.freeHosts(*asked.InstanceShape); limited {
		a.AvailableCount = ptr(int64(max(0, free)))
		if free <= 0 {
			a.AvailabilityStatus = core.CapacityReportShapeAvailabilityAvailabilityStatusOutOfHostCapacity
		}
	}
	return a
}
