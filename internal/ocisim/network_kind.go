// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
)

// networkTime is how long a resource of a VCN is PROVISIONING or TERMINATING.
const networkTime = 5 * time.Second

// Lifecycle states that all resources of VCNs have.
const (
	stateProvisioning = "PROVISIONING"
	stateAvailable    = "AVAILABLE"
	stateTerminating  = "TERMINATING"
	stateTerminated   = "TERMINATED"
)

// facets are the fields that all resources of VCNs have.
type facets struct {
	id, compartment, vcn, name **string
	state                      *string
	created                    **common.SDKTime
	freeform                   *map[string]string
	defined                    *map[string]map[string]any
}

// networkResource is a VCN or something in one.
type networkResource interface {
	resource
	resumable
	facets() facets
	shown() any // as OCI shows it
}

// networkKind has the operations that are alike for all kinds of them.
type networkKind[T networkResource] struct {
	name   string // in messages
	prefix string // of OCIDs, and of generated display names
	table  func(*store) *table[T]
	// users of a resource, by kind and OCID, keep it from being deleted.
	users func(*Server, T) []string
	// end takes away what ends with a resource; it may be nil.
	end func(*Server, T)
}

func (k networkKind[T]) find(s *Server, q *request) (T, error) {
	return find(q.sees, k.table(s.store), q.PathValue("id"))
}

// findUsable finds a resource that a request refers to. It must be there and not be going.
func (k networkKind[T]) findUsable(s *Server, sees viewer, field, id string) (T, error) {
	r, err := find(sees, k.table(s.store), id)
	if err != nil {
		return r, invalid(field, "there is no %s %s, or you may not use it", k.name, id)
	}
	if state := *r.facets().state; state != stateAvailable && state != stateProvisioning {
		return r, incorrectState(id, state)
	}
	return r, nil
}

func (k networkKind[T]) get(s *Server, q *request) (response, error) {
	r, err := k.find(s, q)
	if err != nil {
		return response{}, err
	}
	return ok(r.shown())
}

func (k networkKind[T]) list(s *Server, q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	return k.listWhere(s, q, func(r T) bool { return r.compartment() == compartment })
}

// listWhere filters by what all lists filter by, and a condition.
func (k networkKind[T]) listWhere(s *Server, q *request, holds func(T) bool) (response, error) {
	var rows []row
	for _, r := range k.table(s.store).all() {
		f := r.facets()
		if holds(r) && (f.vcn == nil || q.wants("vcnId", *f.vcn)) && q.wants("displayName", *f.name) && q.wants("lifecycleState", f.state) {
			rows = append(rows, row{r.header().position, **f.name, r.shown()})
		}
	}
	return page(q, rows)
}

// createFields are common to all requests that create.
type createFields struct {
	CompartmentID *string                   `json:"compartmentId"`
	VcnID         *string                   `json:"vcnId"`
	DisplayName   *string                   `json:"displayName"`
	FreeformTags  map[string]string         `json:"freeformTags"`
	DefinedTags   map[string]map[string]any `json:"definedTags"`
}

// creating handles the creation of a resource in a VCN; build gives what is not common.
func creating[T networkResource, D any](k networkKind[T], build func(s *Server, q *request, v *vcn, d D) (T, error)) func(*Server, *request) (response, error) {
	return func(s *Server, q *request) (response, error) {
		d, err := decode[D](q)
		if err != nil {
			return response{}, err
		}
		fields, err := decode[createFields](q)
		if err != nil {
			return response{}, err
		}
		if err := q.authorize(fields.CompartmentID); err != nil {
			return response{}, err
		}
		v, err := vcns.findUsable(s, q.sees, "vcnId", value(fields.VcnID))
		if err != nil {
			return response{}, err
		}
		r, err := build(s, q, v, d)
		if err != nil {
			return response{}, err
		}
		k.add(s, r, v.Id, fields)
		k.provision(s, r)
		resp, err := ok(r.shown())
		resp.created = **r.facets().id
		return resp, err
	}
}

// add stores a new resource, AVAILABLE, with its common fields.
func (k networkKind[T]) add(s *Server, r T, vcnID *string, fields createFields) {
	f := r.facets()
	if *f.id == nil {
		*f.id = ptr(s.names.ocid(k.prefix))
	}
	*f.compartment, *f.created, *f.state = fields.CompartmentID, s.timestamp(), stateAvailable
	if f.vcn != nil {
		*f.vcn = vcnID
	}
	*f.name = fields.DisplayName
	if *f.name == nil {
		*f.name = ptr(k.prefix + s.defaultSuffix())
	}
	*f.freeform, *f.defined = s.tagged(fields.FreeformTags, fields.DefinedTags)
	k.table(s.store).add(**f.id, r)
}

// provision makes a resource AVAILABLE after a while.
func (k networkKind[T]) provision(s *Server, r T) {
	*r.facets().state = stateProvisioning
	r.header().changed()
	s.later(networkTime, func() {
		if *r.facets().state == stateProvisioning {
			*r.facets().state = stateAvailable
			r.header().changed()
		}
	})
}

// later changes state after one of OCI's intervals.
func (s *Server) later(d time.Duration, change func()) {
	s.background.Go(func() {
		if s.clock.sleep(s.ctx, d) == nil {
			s.update(s.ctx, change)
		}
	})
}

// updateFields are common to all requests that update.
type updateFields struct {
	DisplayName  *string                   `json:"displayName"`
	FreeformTags map[string]string         `json:"freeformTags"`
	DefinedTags  map[string]map[string]any `json:"definedTags"`
}

// updating handles the update of a resource; change does what is not common, and nothing when it fails.
func updating[T networkResource, D any](k networkKind[T], change func(s *Server, q *request, r T, d D) error) func(*Server, *request) (response, error) {
	return func(s *Server, q *request) (response, error) {
		r, err := k.findToChange(s, q)
		if err != nil {
			return response{}, err
		}
		d, err := decode[D](q)
		if err != nil {
			return response{}, err
		}
		fields, err := decode[updateFields](q)
		if err != nil {
			return response{}, err
		}
		if err := change(s, q, r, d); err != nil {
			return response{}, err
		}
		f := r.facets()
		set(f.name, fields.DisplayName)
		setTags(f.freeform, f.defined, fields.FreeformTags, fields.DefinedTags)
		r.header().changed()
		return ok(r.shown())
	}
}

// findToChange finds a resource that is not on its way and that the request's if-match matches.
func (k networkKind[T]) findToChange(s *Server, q *request) (T, error) {
	r, err := k.find(s, q)
	if err != nil {
		return r, err
	}
	state := *r.facets().state
	if state == stateTerminated {
		return r, notFound()
	}
	if state == stateTerminating {
		return r, incorrectState(**r.facets().id, state)
	}
	return r, q.match(r.shown())
}

// move handles changeCompartment.
func (k networkKind[T]) move(s *Server, q *request) (response, error) {
	r, err := k.findToChange(s, q)
	if err != nil {
		return response{}, err
	}
	d, err := decode[createFields](q)
	if err != nil {
		return response{}, err
	}
	if d.CompartmentID == nil {
		return response{}, missing("compartmentId")
	}
	if err := q.authorize(d.CompartmentID); err != nil {
		return response{}, err
	}
	*r.facets().compartment = d.CompartmentID
	r.header().changed()
	return response{etag: etagOf(r.shown())}, nil
}

// delete handles the deletion of what nothing uses.
func (k networkKind[T]) delete(s *Server, q *request) (response, error) {
	r, err := k.findToChange(s, q)
	if err != nil {
		return response{}, err
	}
	id := **r.facets().id
	if users := k.users(s, r); len(users) > 0 {
		return response{}, inUse(k.name, id, users)
	}
	k.terminate(s, r)
	return response{status: http.StatusNoContent}, nil
}

// terminate ends a resource after a while.
func (k networkKind[T]) terminate(s *Server, r T) {
	*r.facets().state = stateTerminating
	r.header().changed()
	s.later(networkTime, func() { k.finish(s, r) })
}

func (k networkKind[T]) finish(s *Server, r T) {
	*r.facets().state = stateTerminated
	if k.end != nil {
		k.end(s, r)
	}
	r.header().changed()
	r.header().forget(terminatedVisible)
	s.protect()
}

// resume lets a resource go on that was on its way when the region was last served.
func (k networkKind[T]) resume(s *Server, r T) {
	switch *r.facets().state {
	case stateProvisioning:
		k.provision(s, r)
	case stateTerminating:
		k.terminate(s, r)
	}
}

// inUse is OCI's refusal to delete what something else refers to.
func inUse(kind, id string, users []string) error {
	const most = 5
	others := ""
	if len(users) > most {
		users, others = users[:most], " and others"
	}
	return conflict("The %s %s is in use by %s%s. You must remove the reference to proceed with this operation.",
		kind, id, strings.Join(users, ", "), others)
}

// usersAmong names what is not terminated and uses a resource.
func usersAmong[T networkResource](s *Server, k networkKind[T], uses func(T) bool) []string {
	var users []string
	for _, r := range k.table(s.store).all() {
		if !r.gone() && uses(r) {
			users = append(users, k.name+" "+**r.facets().id)
		}
	}
	return users
}

// duplicate gives a value that a list has twice.
func duplicate(list []string) (string, bool) {
	for n, v := range list {
		if slices.Contains(list[:n], v) {
			return v, true
		}
	}
	return "", false
}

// absentIfEmpty takes an empty string for an absent one: Terraform sends both for what is not set.
func absentIfEmpty(v *string) *string {
	if value(v) == "" {
		return nil
	}
	return v
}
