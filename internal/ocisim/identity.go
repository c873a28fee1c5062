// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"fmt"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/identity"
)

// faultDomains of every availability domain.
var faultDomains = []string{"FAULT-DOMAIN-1", "FAULT-DOMAIN-2", "FAULT-DOMAIN-3"}

func (s *Server) checkAvailabilityDomain(name *string) error {
	if !slices.Contains(s.cfg.AvailabilityDomains, value(name)) {
		return invalid("availabilityDomain", "%q is no availability domain of the tenancy", value(name))
	}
	return nil
}

func (s *Server) listAvailabilityDomains(q *request) (response, error) {
	if _, err := q.compartment(); err != nil {
		return response{}, err
	}
	domains := make([]identity.AvailabilityDomain, len(s.cfg.AvailabilityDomains))
	for i, name := range s.cfg.AvailabilityDomains {
		domains[i] = identity.AvailabilityDomain{Name: &name, CompartmentId: &s.cfg.TenancyID, Id: ptr(stableID("availabilitydomain", name))}
	}
	return response{body: domains}, nil
}

func (s *Server) listFaultDomains(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	ad := q.query.Get("availabilityDomain")
	if ad == "" {
		return response{}, missing("availabilityDomain")
	}
	if err := s.checkAvailabilityDomain(&ad); err != nil {
		return response{}, err
	}
	domains := make([]identity.FaultDomain, len(faultDomains))
	for i, name := range faultDomains {
		domains[i] = identity.FaultDomain{Name: &name, CompartmentId: &compartment, AvailabilityDomain: &ad, Id: ptr(stableID("faultdomain", ad+name))}
	}
	return response{body: domains}, nil
}

// stableID is the OCID of what has no record of its own.
func stableID(kind, name string) string {
	return fmt.Sprintf("ocid1.%s.oc1..%s", kind, etagOf(name)[:60])
}

func (s *Server) listRegions(*request) (response, error) {
	return response{body: []identity.Region{{Name: &s.cfg.Region, Key: ptr("LAB")}}}, nil
}

func (s *Server) getCompartment(q *request) (response, error) {
	id := q.PathValue("id")
	if err := q.authorize(&id); err != nil {
		return response{}, err
	}
	name := "lab"
	if id == s.cfg.TenancyID {
		name = "root"
	}
	c := identity.Compartment{
		Id: &id, CompartmentId: &s.cfg.TenancyID, Name: &name, Description: ptr("Simulated compartment"),
		LifecycleState: identity.CompartmentLifecycleStateActive, TimeCreated: s.made, IsAccessible: ptr(true),
	}
	c.FreeformTags, c.DefinedTags = tagged(nil, nil)
	return ok(c)
}
