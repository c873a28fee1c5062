// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// internetGateway lets subnets with a route to it and VNICs with a public address be reached from outside.
type internetGateway struct {
	core.InternetGateway
	record
}

func (g *internetGateway) compartment() string { return *g.CompartmentId }
func (g *internetGateway) gone() bool {
	return g.LifecycleState == core.InternetGatewayLifecycleStateTerminated
}
func (g *internetGateway) shown() any       { return g.InternetGateway }
func (g *internetGateway) resume(s *Server) { internetGateways.resume(s, g) }
func (g *internetGateway) facets() facets {
	return facets{&g.Id, &g.CompartmentId, &g.VcnId, &g.DisplayName, (*string)(&g.LifecycleState), &g.TimeCreated, &g.FreeformTags, &g.DefinedTags}
}

// natGateway has a public address of its own.
type natGateway struct {
	core.NatGateway
	record
}

func (g *natGateway) compartment() string { return *g.CompartmentId }
func (g *natGateway) gone() bool          { return g.LifecycleState == core.NatGatewayLifecycleStateTerminated }
func (g *natGateway) shown() any          { return g.NatGateway }
func (g *natGateway) resume(s *Server)    { natGateways.resume(s, g) }
func (g *natGateway) facets() facets {
	return facets{&g.Id, &g.CompartmentId, &g.VcnId, &g.DisplayName, (*string)(&g.LifecycleState), &g.TimeCreated, &g.FreeformTags, &g.DefinedTags}
}

// serviceGateway is the way to Oracle's services.
type serviceGateway struct {
	core.ServiceGateway
	record
}

func (g *serviceGateway) compartment() string { return *g.CompartmentId }
func (g *serviceGateway) gone() bool {
	return g.LifecycleState == core.ServiceGatewayLifecycleStateTerminated
}
func (g *serviceGateway) shown() any       { return g.ServiceGateway }
func (g *serviceGateway) resume(s *Server) { serviceGateways.resume(s, g) }
func (g *serviceGateway) facets() facets {
	return facets{&g.Id, &g.CompartmentId, &g.VcnId, &g.DisplayName, (*string)(&g.LifecycleState), &g.TimeCreated, &g.FreeformTags, &g.DefinedTags}
}

var (
	internetGateways = networkKind[*internetGateway]{
		name: "internet gateway", prefix: "internetgateway",
		table: func(st *store) *table[*internetGateway] { return st.internetGateways },
		users: func(s *Server, g *internetGateway) []string { return s.routesTo(*g.Id) },
	}
	natGateways = networkKind[*natGateway]{
		name: "NAT gateway", prefix: "natgateway",
		table: func(st *store) *table[*natGateway] { return st.natGateways },
		users: func(s *Server, g *natGateway) []string { return s.routesTo(*g.Id) },
		end:   func(s *Server, g *natGateway) { s.unassign(*g.Id) },
	}
	serviceGateways = networkKind[*serviceGateway]{
		name: "service gateway", prefix: "servicegateway",
		table: func(st *store) *table[*serviceGateway] { return st.serviceGateways },
		users: func(s *Server, g *serviceGateway) []string { return s.routesTo(*g.Id) },
	}
)

// checkFirst enforces that a VCN has one gateway of a kind.
//
// Source: https://docs.oracle.com/en-us/iaas/Content/General/Concepts/servicelimits.htm
func checkFirst[T networkResource](s *Server, k networkKind[T], v *vcn) error {
	present := usersAmong(s, k, func(g T) bool { return **g.facets().vcn == *v.Id })
	if len(present) == 0 {
		return nil
	}
	return overLimit("VCN %s has %s already; a VCN can have one %s.", *v.Id, present[0], k.name)
}

// checkNoRouteTable refuses route tables of gateways.
func checkNoRouteTable(id *string) error {
	if absentIfEmpty(id) == nil {
		return nil
	}
	return notSimulated("a gateway's routeTableId")
}

func (s *Server) newInternetGateway(_ *request, v *vcn, d core.CreateInternetGatewayDetails) (*internetGateway, error) {
	if err := checkNoRouteTable(d.RouteTableId); err != nil {
		return nil, err
	}
	return &internetGateway{InternetGateway: core.InternetGateway{IsEnabled: d.IsEnabled}}, checkFirst(s, internetGateways, v)
}

func (s *Server) updateInternetGateway(_ *request, g *internetGateway, d core.UpdateInternetGatewayDetails) error {
	if err := checkNoRouteTable(d.RouteTableId); err != nil {
		return err
	}
	set(&g.IsEnabled, d.IsEnabled)
	return nil
}

func (s *Server) newNATGateway(q *request, v *vcn, d core.CreateNatGatewayDetails) (*natGateway, error) {
	if err := checkNoRouteTable(d.RouteTableId); err != nil {
		return nil, err
	}
	if err := checkFirst(s, natGateways, v); err != nil {
		return nil, err
	}
	g := &natGateway{NatGateway: core.NatGateway{Id: ptr(s.names.ocid(natGateways.prefix)), BlockTraffic: ptr(value(d.BlockTraffic))}}
	public, err := s.publicIPOfGateway(q, d)
	if err != nil {
		return nil, err
	}
	public.assign(core.PublicIpAssignedEntityTypeNatGateway, *g.Id)
	g.PublicIpId, g.NatIp = public.Id, public.IpAddress
	return g, nil
}

// publicIPOfGateway is the reserved one that was asked for, or a new ephemeral one.
func (s *Server) publicIPOfGateway(q *request, d core.CreateNatGatewayDetails) (*publicIP, error) {
	if id := absentIfEmpty(d.PublicIpId); id != nil {
		return s.findUnassigned(q.sees, *id)
	}
	return s.newEphemeralIP(d.CompartmentId, core.PublicIpScopeRegion, nil)
}

func (s *Server) updateNATGateway(_ *request, g *natGateway, d core.UpdateNatGatewayDetails) error {
	if err := checkNoRouteTable(d.RouteTableId); err != nil {
		return err
	}
	set(&g.BlockTraffic, d.BlockTraffic)
	return nil
}

func (s *Server) newServiceGateway(_ *request, v *vcn, d core.CreateServiceGatewayDetails) (*serviceGateway, error) {
	if err := checkNoRouteTable(d.RouteTableId); err != nil {
		return nil, err
	}
	services, err := s.servicesOf(d.Services)
	if err != nil {
		return nil, err
	}
	g := &serviceGateway{ServiceGateway: core.ServiceGateway{BlockTraffic: ptr(false), Services: services}}
	return g, checkFirst(s, serviceGateways, v)
}

func (s *Server) updateServiceGateway(_ *request, g *serviceGateway, d core.UpdateServiceGatewayDetails) error {
	if err := checkNoRouteTable(d.RouteTableId); err != nil {
		return err
	}
	if d.Services != nil {
		services, err := s.servicesOf(d.Services)
		if err != nil {
			return err
		}
		g.Services = services
	}
	set(&g.BlockTraffic, d.BlockTraffic)
	return nil
}

func (s *Server) servicesOf(asked []core.ServiceIdRequestDetails) ([]core.ServiceIdResponseDetails, error) {
	services := make([]core.ServiceIdResponseDetails, len(asked))
	for n, a := range asked {
		service := s.service(func(o core.Service) bool { return *o.Id == *a.ServiceId })
		if service == nil {
			return nil, invalid("services", "there is no service %s", *a.ServiceId)
		}
		services[n] = core.ServiceIdResponseDetails{ServiceId: service.Id, ServiceName: service.Name}
	}
	return services, nil
}

// services are those that a service gateway reaches, by the names that OCI gives them.
func (s *Server) services() []core.Service {
	// A region's key is three letters on OCI; a lab's has none.
	key := strings.ReplaceAll(s.cfg.Region, "-", "")
	list := make([]core.Service, 0, 2)
	for _, service := range []struct{ name, label string }{
		{"All " + strings.ToUpper(key) + " Services In Oracle Services Network", "all-" + key + "-services-in-oracle-services-network"},
		{"OCI " + strings.ToUpper(key) + " Object Storage", "oci-" + key + "-objectstorage"},
	} {
		list = append(list, core.Service{
			Id: ptr(stableID("service", s.cfg.Region+service.label)), Name: &service.name, Description: &service.name, CidrBlock: &service.label,
		})
	}
	return list
}

func (s *Server) service(match func(core.Service) bool) *core.Service {
	for _, service := range s.services() {
		if match(service) {
			return &service
		}
	}
	return nil
}

func isServiceLabel(label string) func(core.Service) bool {
	return func(o core.Service) bool { return *o.CidrBlock == label }
}

func (s *Server) listOracleServices(q *request) (response, error) {
	var rows []row
	for n, service := range s.services() {
		rows = append(rows, row{uint64(n), *service.Name, service}) // #nosec G115 -- two
	}
	return page(q, rows)
}

func (s *Server) getOracleService(q *request) (response, error) {
	service := s.service(func(o core.Service) bool { return *o.Id == q.PathValue("id") })
	if service == nil {
		return response{}, notFound()
	}
	return ok(*service)
}
