// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/netip"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// dhcpOptions are kept and shown; names of the lab's hosts resolve whatever they say.
type dhcpOptions struct {
	core.DhcpOptions
	record
}

func (o *dhcpOptions) compartment() string { return *o.CompartmentId }
func (o *dhcpOptions) gone() bool {
	return o.LifecycleState == core.DhcpOptionsLifecycleStateTerminated
}
func (o *dhcpOptions) shown() any       { return o.DhcpOptions }
func (o *dhcpOptions) resume(s *Server) { dhcpOptionsKind.resume(s, o) }
func (o *dhcpOptions) facets() facets {
	return facets{&o.Id, &o.CompartmentId, &o.VcnId, &o.DisplayName, (*string)(&o.LifecycleState), &o.TimeCreated, &o.FreeformTags, &o.DefinedTags}
}

var dhcpOptionsKind = networkKind[*dhcpOptions]{
	name: "set of DHCP options", prefix: "dhcpoptions", table: func(st *store) *table[*dhcpOptions] { return st.dhcpOptions },
	users: func(s *Server, o *dhcpOptions) []string {
		return slices.Concat(s.defaultOf(*o.VcnId, *o.Id), usersAmong(s, subnets, func(n *subnet) bool { return value(n.DhcpOptionsId) == *o.Id }))
	},
}

// defaultDHCPOptions are what OCI gives a new VCN.
//
// Source: https://docs.oracle.com/en-us/iaas/Content/Network/Tasks/managingDHCP.htm
func defaultDHCPOptions(v *vcn) *dhcpOptions {
	options := []core.DhcpOption{core.DhcpDnsOption{ServerType: core.DhcpDnsOptionServerTypeVcnlocalplusinternet, CustomDnsServers: []string{}}}
	if v.VcnDomainName != nil {
		options = append(options, core.DhcpSearchDomainOption{SearchDomainNames: []string{*v.VcnDomainName}})
	}
	return &dhcpOptions{DhcpOptions: core.DhcpOptions{Options: options, DomainNameType: core.DhcpOptionsDomainNameTypeCustomDomain}}
}

func (s *Server) newDHCPOptions(_ *request, _ *vcn, d core.CreateDhcpDetails) (*dhcpOptions, error) {
	o := &dhcpOptions{DhcpOptions: core.DhcpOptions{
		Options: showEmptyLists(d.Options), DomainNameType: core.DhcpOptionsDomainNameTypeEnum(d.DomainNameType),
	}}
	if o.DomainNameType == "" {
		o.DomainNameType = core.DhcpOptionsDomainNameTypeCustomDomain
	}
	return o, checkDHCPOptions(d.Options)
}

func (s *Server) updateDHCPOptions(_ *request, o *dhcpOptions, d core.UpdateDhcpDetails) error {
	if d.Options != nil {
		if err := checkDHCPOptions(d.Options); err != nil {
			return err
		}
		o.Options = showEmptyLists(d.Options)
	}
	if d.DomainNameType != "" {
		o.DomainNameType = core.DhcpOptionsDomainNameTypeEnum(d.DomainNameType)
	}
	return nil
}

// showEmptyLists makes absent lists of servers empty ones, as OCI shows them.
func showEmptyLists(options []core.DhcpOption) []core.DhcpOption {
	options = slices.Clone(options)
	for n, option := range options {
		if dns, isDNS := option.(core.DhcpDnsOption); isDNS && dns.CustomDnsServers == nil {
			dns.CustomDnsServers = []string{}
			options[n] = dns
		}
	}
	return options
}

// maxDNSServers of a set of options.
const maxDNSServers = 3

func checkDHCPOptions(options []core.DhcpOption) error {
	for _, option := range options {
		switch o := option.(type) {
		case core.DhcpDnsOption:
			custom := o.ServerType == core.DhcpDnsOptionServerTypeCustomdnsserver
			if custom != (len(o.CustomDnsServers) > 0) || len(o.CustomDnsServers) > maxDNSServers {
				return invalid("options.customDnsServers", "CustomDnsServer needs 1 to %d servers, and VcnLocalPlusInternet none", maxDNSServers)
			}
			for _, server := range o.CustomDnsServers {
				if _, err := netip.ParseAddr(server); err != nil {
					return invalid("options.customDnsServers", "%q is no address", server)
				}
			}
		case core.DhcpSearchDomainOption:
			if len(o.SearchDomainNames) != 1 {
				return invalid("options.searchDomainNames", "there must be one search domain")
			}
		}
	}
	return nil
}
