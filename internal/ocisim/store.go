// SPDX-License-Identifier: MPL-2.0

package ocisim

import "slices"

// resource is what every stored thing can say.
type resource interface {
	compartment() string
	// gone says that the resource is terminated and merely still readable.
	gone() bool
}

// table keeps resources of one kind in the order of their creation.
type table[T resource] struct {
	byID  map[string]T
	order []string
}

func newTable[T resource]() *table[T] { return &table[T]{byID: map[string]T{}} }

func (t *table[T]) add(id string, v T) {
	t.byID[id] = v
	t.order = append(t.order, id)
}

func (t *table[T]) remove(id string) {
	delete(t.byID, id)
	t.order = slices.DeleteFunc(t.order, func(x string) bool { return x == id })
}

func (t *table[T]) all() []T {
	list := make([]T, len(t.order))
	for i, id := range t.order {
		list[i] = t.byID[id]
	}
	return list
}

func (t *table[T]) live() int {
	n := 0
	for _, v := range t.byID {
		if !v.gone() {
			n++
		}
	}
	return n
}

// alive says that a resource is here and not terminated.
func (t *table[T]) alive(id string) bool {
	v, found := t.byID[id]
	return found && !v.gone()
}

// viewer says whether somebody may see what is in a compartment.
type viewer func(compartment string) bool

// everyone is the viewer of background jobs.
func everyone(string) bool { return true }

// find gives a resource that the caller may see.
func find[T resource](sees viewer, t *table[T], id string) (T, error) {
	v, found := t.byID[id]
	if !found || !sees(v.compartment()) {
		var none T
		return none, notFound()
	}
	return v, nil
}

// store is all state of the region. The server's lock protects it.
type store struct {
	configurations  *table[*configuration]
	computeClusters *table[*computeCluster]
	networks        *table[*clusterNetwork]
	pools           *table[*pool]
	instances       *table[*instance]
	vnics           *table[*vnic]
	subnets         *table[*subnet]
	vcns            *table[*vcn]
	images          *table[*image]
	workRequests    *table[*workRequest]
}

func newStore() store {
	return store{
		configurations:  newTable[*configuration](),
		computeClusters: newTable[*computeCluster](),
		networks:        newTable[*clusterNetwork](),
		pools:           newTable[*pool](),
		instances:       newTable[*instance](),
		vnics:           newTable[*vnic](),
		subnets:         newTable[*subnet](),
		vcns:            newTable[*vcn](),
		images:          newTable[*image](),
		workRequests:    newTable[*workRequest](),
	}
}

// alive says whether something that a request once created still exists.
func (st *store) alive(id string) bool {
	return st.configurations.alive(id) || st.networks.alive(id) || st.pools.alive(id) || st.instances.alive(id) ||
		st.computeClusters.alive(id)
}
