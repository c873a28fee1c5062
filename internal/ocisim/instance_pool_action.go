// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"

	"github.com/oracle/oci-go-sdk/v65/core"
)

// actOnPool gives the handler that carries an action out on all instances of a pool.
func actOnPool(action string) func(*Server, *request) (response, error) {
	t := transitions[action]
	return func(s *Server, q *request) (response, error) {
		p, err := find(q.sees, s.store.pools, q.PathValue("id"))
		if err != nil {
			return response{}, err
		}
		if err := q.match(s.poolView(p)); err != nil {
			return response{}, err
		}
		if p.LifecycleState != core.InstancePoolLifecycleStateEnum(t.from) {
			return response{}, incorrectState(*p.Id, string(p.LifecycleState))
		}
		p.Then = core.InstancePoolLifecycleStateEnum(t.to)
		s.setState(p, core.InstancePoolLifecycleStateEnum(t.through))
		for _, i := range s.staying(p) {
			if i.LifecycleState == t.from {
				s.startAction(i, t, "")
			}
		}
		s.startPool(p)
		return ok(s.poolView(p))
	}
}

// movePool puts a pool into another compartment. Instances that run stay in theirs.
func (s *Server) movePool(q *request) (response, error) {
	p, err := find(q.sees, s.store.pools, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	if err := q.match(s.poolView(p)); err != nil {
		return response{}, err
	}
	d, err := decode[core.ChangeInstancePoolCompartmentDetails](q)
	if err != nil {
		return response{}, err
	}
	if err := q.authorize(d.CompartmentId); err != nil {
		return response{}, err
	}
	switch {
	case p.NetworkID != "":
		return response{}, conflict("The instance pool %s belongs to the cluster network %s: move that.", *p.Id, p.NetworkID)
	case p.gone() || p.LifecycleState == core.InstancePoolLifecycleStateTerminating:
		return response{}, incorrectState(*p.Id, string(p.LifecycleState))
	}
	p.CompartmentId = d.CompartmentId
	p.changed()
	return response{status: http.StatusNoContent, etag: etagOf(s.poolView(p))}, nil
}
