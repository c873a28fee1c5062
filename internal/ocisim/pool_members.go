// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"errors"
	"strconv"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/core"
	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// placeMember finds the parts of a launch by the pool's configuration in one of its placements.
func (s *Server) placeMember(sees viewer, p *pool, at core.InstancePoolPlacementConfiguration) (placed, error) {
	c, err := find(sees, s.store.configurations, *p.InstanceConfigurationId)
	if err != nil {
		return placed{}, err
	}
	d, err := convert[core.LaunchInstanceDetails](c.launchDetails())
	if err != nil {
		return placed{}, err
	}
	if d.CreateVnicDetails == nil {
		d.CreateVnicDetails = &core.CreateVnicDetails{}
	}
	d.CompartmentId, d.AvailabilityDomain, d.InstanceConfigurationId = p.CompartmentId, at.AvailabilityDomain, c.Id
	d.DisplayName, d.HostnameLabel, d.CreateVnicDetails.HostnameLabel = nil, nil, nil
	set(&d.ComputeClusterId, at.ComputeClusterId)
	set(&d.CreateVnicDetails.SubnetId, at.PrimarySubnetId)
	if at.PrimaryVnicSubnets != nil {
		d.CreateVnicDetails.SubnetId = at.PrimaryVnicSubnets.SubnetId
	}
	if len(at.FaultDomains) > 0 {
		d.FaultDomain = ptr(s.emptiestFaultDomain(value(d.AvailabilityDomain), at.FaultDomains))
	}
	return s.place(sees, d)
}

// launchMember launches one instance of a pool.
func (s *Server) launchMember(p *pool) (*instance, error) {
	launch, err := s.placeMember(everyone, p, p.PlacementConfigurations[p.Launches%len(p.PlacementConfigurations)])
	if err != nil {
		return nil, err
	}
	if err := s.admit(p.compartment(), p.Shape); err != nil {
		return nil, err
	}
	if p.Reserved == 0 && !s.hasHosts(launch, 1) {
		return nil, outOfHostCapacity()
	}
	p.Launches++
	launch.DisplayName = ptr(s.names.member(*p.DisplayName))
	if f := value(p.InstanceDisplayNameFormatter); f != "" {
		launch.DisplayName = ptr(numbered(f, p.Launches))
	}
	if f := value(p.InstanceHostnameFormatter); f != "" {
		launch.vnic.HostnameLabel = ptr(hostnameOf(numbered(f, p.Launches)))
	}
	i, err := s.launch(launch)
	if err != nil {
		return nil, err
	}
	i.PoolID, i.Membership = *p.Id, core.InstancePoolInstanceLifecycleStateActive
	i.changed()
	p.Reserved = max(0, p.Reserved-1)
	p.changed()
	return i, nil
}

func numbered(formatter string, n int) string {
	return strings.ReplaceAll(formatter, "${launchCount}", strconv.Itoa(n))
}

// launchBatch launches the next members that are lacking, as many as there are hosts.
func (s *Server) launchBatch(p *pool, w *workRequest) {
	for range min(*p.Size-len(s.staying(p)), launchBatch) {
		i, err := s.launchMember(p)
		if err != nil {
			p.Short = true
			p.changed()
			s.launchFault(w, err)
			break
		}
		w.touch(entityInstance, *i.Id, workrequests.WorkRequestResourceActionTypeCreated)
		s.boot(i, p.At)
	}
	w.changed()
}

// memberRests tells the pool of an instance, if it has one, when the instance came to rest.
func (s *Server) memberRests(i *instance) {
	if p := s.poolOf(i); p != nil && p.At < i.Due {
		p.At = i.Due
		p.changed()
	}
}

// memberFailed takes note of a member that did not boot.
func (s *Server) memberFailed(p *pool, message string) {
	if w := s.store.workRequests.get(p.Launching); w != nil {
		s.fault(w, "InternalError", message)
		p.Short = true
		p.changed()
	}
}

func (s *Server) launchFault(w *workRequest, err error) {
	code, message := codeOutOfCapacity, err.Error()
	if e := (*apiError)(nil); errors.As(err, &e) {
		message = e.Message
		if e.Code != "InternalError" {
			code = e.Code
		}
	}
	s.fault(w, code, message)
}

// victims are the members too many: always the oldest in the fullest fault domain, as Oracle's
// documentation tells it. Of equally full ones, that with the oldest member comes first.
func (s *Server) victims(p *pool) []*instance {
	staying := s.staying(p)
	byDomain := map[string][]*instance{}
	for _, i := range staying {
		byDomain[*i.FaultDomain] = append(byDomain[*i.FaultDomain], i)
	}
	var victims []*instance
	for range len(staying) - *p.Size {
		var fullest string
		for name, members := range byDomain {
			n, most := len(members), len(byDomain[fullest])
			if n > most || n == most && n > 0 && members[0].position < byDomain[fullest][0].position {
				fullest = name
			}
		}
		victims = append(victims, byDomain[fullest][0])
		byDomain[fullest] = byDomain[fullest][1:]
	}
	return victims
}

// replaceMember lets a pool launch a replacement for a member that somebody terminates.
func (s *Server) replaceMember(p *pool) {
	s.setState(p, core.InstancePoolLifecycleStateScaling)
	s.startPool(p)
}
