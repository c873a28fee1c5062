// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// stored is what a table can hold: a pointer to a struct that embeds [record].
type stored interface{ header() *record }

// resource is a stored thing that clients may see.
type resource interface {
	stored
	compartment() string
	// gone says that the resource is terminated and merely still readable.
	gone() bool
}

// table keeps what is stored of one kind in the order of its creation.
type table[T stored] struct {
	kind    string // names its part of the database
	store   *store
	byID    map[string]T
	order   []T // replaced, never changed in place: readers may hold it
	indexes []*index[T]
	dirty   map[string]bool // ids to write or delete
}

// newTable makes one kind of thing storable; T embeds [record].
func newTable[T stored](st *store, kind string) *table[T] {
	t := &table[T]{kind: kind, store: st, byID: map[string]T{}, dirty: map[string]bool{}}
	st.tables = append(st.tables, t)
	return t
}

// get gives what is stored under an id, or nil.
func (t *table[T]) get(id string) T { return t.byID[id] }

// add stores something new.
func (t *table[T]) add(id string, v T) {
	t.store.position++
	h := v.header()
	h.id, h.position = id, t.store.position
	t.insert(v)
	t.changed(id)
}

func (t *table[T]) insert(v T) {
	h := v.header()
	h.owner = t
	t.byID[h.id] = v
	t.order = append(t.order, v)
}

func (t *table[T]) remove(id string) {
	v, found := t.byID[id]
	if !found {
		return
	}
	for _, x := range t.indexes {
		x.drop(v)
	}
	delete(t.byID, id)
	t.order = without(t.order, v)
	t.dirty[id] = true
	delete(t.store.expiring, id)
}

func (t *table[T]) changed(id string) {
	t.dirty[id] = true
	for _, x := range t.indexes {
		x.update(t.byID[id])
	}
}

func (t *table[T]) expire(id string, retention time.Duration) {
	h := t.byID[id].header()
	h.expiry = &expiry{t.store.clock.present().plus(retention), t.store.clock.now().Add(t.store.keepAtLeast)}
	t.store.expiring[id] = expiring{h, t.remove}
	t.changed(id)
}

// all gives everything, oldest first.
func (t *table[T]) all() []T { return slices.Clip(t.order) }

// positionOf orders records by their creation.
func positionOf[T stored](v T, position uint64) int {
	return cmp.Compare(v.header().position, position)
}

// without gives a copy of a list in the order of creation that lacks one element.
func without[T stored](list []T, v T) []T {
	at, found := slices.BinarySearchFunc(list, v.header().position, positionOf)
	if !found {
		return list
	}
	return slices.Concat(list[:at], list[at+1:])
}

// live counts what is not gone.
func live[T resource](t *table[T]) int {
	n := 0
	for _, v := range t.order {
		if !v.gone() {
			n++
		}
	}
	return n
}

// index finds what is stored by a property, which may have several values or none.
type index[T stored] struct {
	keys func(T) []string
	rows map[string][]T // oldest first; replaced, never changed in place
	of   map[string][]string
}

// newIndex keeps an index of a table. It follows every change that the table is told of.
func newIndex[T stored](t *table[T], keys func(T) []string) *index[T] {
	x := &index[T]{keys: keys, rows: map[string][]T{}, of: map[string][]string{}}
	t.indexes = append(t.indexes, x)
	return x
}

// with gives what has a property, oldest first.
func (x *index[T]) with(key string) []T { return slices.Clip(x.rows[key]) }

func (x *index[T]) update(v T) {
	keys := x.keys(v)
	if slices.Equal(keys, x.of[v.header().id]) {
		return
	}
	x.drop(v)
	x.of[v.header().id] = keys
	for _, key := range keys {
		x.rows[key] = with(x.rows[key], v)
	}
}

// with gives a list in the order of creation that has one more element.
func with[T stored](list []T, v T) []T {
	at, found := slices.BinarySearchFunc(list, v.header().position, positionOf)
	switch {
	case found:
		return list
	case at == len(list):
		return append(list, v)
	}
	return slices.Concat(list[:at], []T{v}, list[at:])
}

func (x *index[T]) drop(v T) {
	for _, key := range x.of[v.header().id] {
		if x.rows[key] = without(x.rows[key], v); len(x.rows[key]) == 0 {
			delete(x.rows, key)
		}
	}
	delete(x.of, v.header().id)
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

// expiring is a record that is to be forgotten.
type expiring struct {
	*record
	remove func(id string)
}

// anyTable is a table of whatever kind, as the database sees it.
type anyTable interface {
	name() string
	load(id string, text []byte) error
	ready()
	isDirty() bool
	write(b *bbolt.Bucket) error
	clean()
	alive(id string) bool
	resume(s *Server)
}

// store is all state of the region. The server's lock protects it.
type store struct {
	clock       *clock
	keepAtLeast time.Duration // of what is forgotten, in real time
	tables      []anyTable
	position    uint64 // of the newest record
	expiring    map[string]expiring

	db    *bbolt.DB // nil for a region that ends with its process
	about []byte    // as last committed

	networkTables

	configurations  *table[*configuration]
	computeClusters *table[*computeCluster]
	networks        *table[*clusterNetwork]
	pools           *table[*pool]
	instances       *table[*instance]
	images          *table[*image]
	workRequests    *table[*workRequest]
	reservations    *table[*reservation]
	bootVolumes     *table[*bootVolume]
	retryTokens     *table[*retryToken]

	members       *index[*instance]    // of a pool
	inCluster     *index[*instance]    // instances of a compute cluster that are not gone
	inReservation *index[*instance]    // of a capacity reservation, that are not gone
	onShape       *index[*instance]    // instances that hold a host of a shape
	faultDomains  *index[*instance]    // by faultDomainKey, that are not gone
	concerning    *index[*workRequest] // work requests by resource
}

func newStore(c *clock) *store {
	st := &store{clock: c, keepAtLeast: leastKept, expiring: map[string]expiring{}}
	st.networkTables = newNetworkTables(st)
	st.configurations = newTable[*configuration](st, "instanceConfigurations")
	st.computeClusters = newTable[*computeCluster](st, "computeClusters")
	st.networks = newTable[*clusterNetwork](st, "clusterNetworks")
	st.pools = newTable[*pool](st, "instancePools")
	st.instances = newTable[*instance](st, "instances")
	st.images = newTable[*image](st, "images")
	st.workRequests = newTable[*workRequest](st, "workRequests")
	st.bootVolumes = newTable[*bootVolume](st, "bootVolumes")
	st.reservations = newTable[*reservation](st, "capacityReservations")
	st.retryTokens = newTable[*retryToken](st, "retryTokens")

	st.members = newIndex(st.instances, func(i *instance) []string { return nonEmpty(i.PoolID) })
	st.inCluster = newIndex(st.instances, func(i *instance) []string { return unlessGone(i, i.ComputeClusterID) })
	st.inReservation = newIndex(st.instances, func(i *instance) []string { return unlessGone(i, value(i.CapacityReservationId)) })
	st.onShape = newIndex(st.instances, func(i *instance) []string { return unlessGone(i, *i.Shape) })
	st.faultDomains = newIndex(st.instances, func(i *instance) []string {
		return unlessGone(i, faultDomainKey(*i.AvailabilityDomain, *i.FaultDomain))
	})
	st.concerning = newIndex(st.workRequests, (*workRequest).resourceIDs)
	return st
}

func nonEmpty(key string) []string {
	if key == "" {
		return nil
	}
	return []string{key}
}

func unlessGone(r resource, key string) []string {
	if r.gone() {
		return nil
	}
	return nonEmpty(key)
}

// alive says whether something that a request once created is here and not terminated.
func (st *store) alive(id string) bool {
	return slices.ContainsFunc(st.tables, func(t anyTable) bool { return t.alive(id) })
}

func (t *table[T]) alive(id string) bool {
	v, found := t.byID[id]
	if r, isResource := any(v).(resource); found && isResource {
		return !r.gone()
	}
	return found
}

// load takes a record out of the database; ready follows when all are loaded.
func (t *table[T]) load(id string, text []byte) error {
	v := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if err := decodeRecord(text, v); err != nil {
		return err
	}
	h := v.header()
	h.id = id
	t.insert(v)
	t.store.position = max(t.store.position, h.position)
	if h.expiry != nil {
		t.store.expiring[id] = expiring{h, t.remove}
	}
	return nil
}

func (t *table[T]) ready() {
	slices.SortFunc(t.order, func(a, b T) int { return positionOf(a, b.header().position) })
	for _, x := range t.indexes {
		for _, v := range t.order {
			x.update(v)
		}
	}
}

// concerningOrAll gives the work requests on a resource, or all where none is named.
func (st *store) concerningOrAll(resourceID string) []*workRequest {
	if resourceID == "" {
		return st.workRequests.all()
	}
	return st.concerning.with(resourceID)
}

// sweep drops what is due. At once means by OCI's retention alone.
func (st *store) sweep(atOnce bool) {
	present, now := st.clock.present(), st.clock.now() // one time for all: what is due first never outlasts the rest
	for id, e := range st.expiring {
		if present >= e.expiry.Due && (atOnce || !now.Before(e.expiry.Until)) {
			e.remove(id)
		}
	}
}
