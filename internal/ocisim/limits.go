// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/limits"
)

// unlimited is what is free of a service limit for shapes of which one is not in [Scenario.Limits].
const unlimited = 1_000_000

// computeService is the one whose limits are simulated.
const computeService = "compute"

// limitNames are those of the offered shapes, sorted. All of them count by availability domain.
func (s *Server) limitNames() []string {
	var names []string
	for _, o := range s.shapes {
		names = append(names, o.QuotaNames...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// free is what can be launched before a service limit binds, in GPUs, OCPUs, or GB of memory.
func (s *Server) free(name string) int64 {
	var sum int64
	for _, o := range s.shapes {
		if !slices.Contains(o.QuotaNames, name) {
			continue
		}
		most, limited := s.cfg.Limits[*o.Shape.Shape]
		if !limited {
			return unlimited
		}
		sum += int64(max(0, most-len(s.store.onShape.with(*o.Shape.Shape)))) * consumption(name, *shapeConfig(placed{shape: &o}))
	}
	return sum
}

// consumption is what one instance counts against a limit of its shape.
func consumption(limit string, c core.InstanceShapeConfig) int64 {
	switch {
	case strings.HasSuffix(limit, "-core-count"):
		return int64(value(c.Ocpus))
	case strings.HasSuffix(limit, "-memory-count"):
		return int64(value(c.MemoryInGBs))
	}
	return int64(value(c.Gpus))
}

func (s *Server) used(limit, ad string) int64 {
	var sum int64
	for _, o := range s.shapes {
		if !slices.Contains(o.QuotaNames, limit) {
			continue
		}
		for _, i := range s.store.onShape.with(*o.Shape.Shape) {
			if *i.AvailabilityDomain == ad {
				sum += consumption(limit, *i.ShapeConfig)
			}
		}
	}
	return sum
}

// rootCompartment is the mandatory query parameter of the lists of limits.
func (s *Server) rootCompartment(q *request) error {
	compartment, err := q.compartment()
	if err == nil && compartment != s.cfg.TenancyID {
		return invalid("compartmentId", "it must be the OCID of the tenancy")
	}
	return err
}

func (s *Server) listServices(q *request) (response, error) {
	if err := s.rootCompartment(q); err != nil {
		return response{}, err
	}
	return page(q, []row{{item: limits.ServiceSummary{Name: ptr(computeService), Description: ptr("Compute")}}})
}

func (s *Server) listLimitDefinitions(q *request) (response, error) {
	if err := s.rootCompartment(q); err != nil {
		return response{}, err
	}
	var rows []row
	for n, name := range s.limitNames() {
		if q.wants("name", &name) && q.wants("serviceName", ptr(computeService)) {
			rows = append(rows, row{at: uint64(n), item: limits.LimitDefinitionSummary{
				Name: &name, ServiceName: ptr(computeService), ScopeType: limits.LimitDefinitionSummaryScopeTypeAd,
				AreQuotasSupported: ptr(true), IsResourceAvailabilitySupported: ptr(true), IsDeprecated: ptr(false),
				IsEligibleForLimitIncrease: ptr(true), IsDynamic: ptr(false)}})
		}
	}
	return limitPage(q, rows)
}

func (s *Server) listLimitValues(q *request) (response, error) {
	if err := s.rootCompartment(q); err != nil {
		return response{}, err
	}
	if q.query.Get("serviceName") == "" {
		return response{}, missing("serviceName")
	}
	if _, err := q.enum("scopeType", limits.GetLimitValueSummaryScopeTypeEnumStringValues()); err != nil {
		return response{}, err
	}
	var rows []row
	for _, name := range s.limitNames() {
		for _, ad := range s.cfg.AvailabilityDomains {
			v := limits.LimitValueSummary{Name: &name, ScopeType: limits.LimitValueSummaryScopeTypeAd, AvailabilityDomain: &ad, Value: ptr(s.used(name, ad) + s.free(name))}
			if q.wants("name", v.Name) && q.wants("serviceName", ptr(computeService)) && q.wants("availabilityDomain", v.AvailabilityDomain) &&
				q.wants("scopeType", ptr(string(v.ScopeType))) {
				rows = append(rows, row{at: uint64(len(rows)), item: v})
			}
		}
	}
	return limitPage(q, rows)
}

// limitPage gives a part of a list that is by ascending name; its sortBy has the one value name.
func limitPage(q *request, rows []row) (response, error) {
	if _, err := q.enum("sortBy", []string{"name"}); err != nil {
		return response{}, err
	}
	order, err := q.enum("sortOrder", []string{"ASC", "DESC"})
	if err != nil {
		return response{}, err
	}
	before := func(a, b row) int { return cmp.Compare(a.at, b.at) }
	if order == "DESC" {
		return cut(q, rows, func(a, b row) int { return before(b, a) })
	}
	return cut(q, rows, before)
}

func (s *Server) getResourceAvailability(q *request) (response, error) {
	if _, err := q.compartment(); err != nil {
		return response{}, err
	}
	name := q.PathValue("limit")
	if q.PathValue("service") != computeService || !slices.Contains(s.limitNames(), name) {
		return response{}, notFound()
	}
	ad := q.query.Get("availabilityDomain")
	if ad == "" {
		return response{}, missing("availabilityDomain")
	}
	if err := s.checkAvailabilityDomain(&ad); err != nil {
		return response{}, err
	}
	used, free := s.used(name, ad), s.free(name)
	return response{body: limits.ResourceAvailability{Used: &used, Available: &free,
		FractionalUsage: ptr(float32(used)), FractionalAvailability: ptr(float32(free)), EffectiveQuotaValue: ptr(float32(used + free))}}, nil
}
