// SPDX-License-Identifier: MPL-2.0

// Package ocisim simulates the control plane of an OCI region over HTTP: compute management, compute,
// virtual network, identity and work requests, as far as clusters of GPU nodes need them. Requests are
// verified, states change asynchronously, and what is not simulated is refused with 501.
package ocisim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/oracle/oci-go-sdk/v65/common"
	"golang.org/x/sync/errgroup"
)

// Server is a simulated region. It is an [http.Handler] for every service of it.
type Server struct {
	cfg        Config
	keys       keyring
	mux        *http.ServeMux
	clock      *clock
	log        *slog.Logger
	shapes     []offeredShape
	ctx        context.Context // the life of the background jobs
	stop       context.CancelFunc
	background sync.WaitGroup

	mu     sync.Mutex // protects all below
	closed bool
	made   *common.SDKTime
	names  *namer
	store  *store
	stats  Stats
	stale  staleReads
	// Jobs that boot the hosts of a region that goes on.
	restoring []<-chan struct{}
	seats     chan struct{} // for so many at a time
	// What the faults of the scenario have met, in its order.
	nodeTurns, faultTurns []turns
}

// Stats counts what a server has seen and holds.
type Stats struct {
	Requests int
	Refused  int // answered 401
	// Operations counts the requests, and Faults those that the scenario interfered with, by operation.
	Operations, Faults map[string]int
	// Unknown counts what was answered 501, by operation, with {id} for OCIDs.
	Unknown map[string]int
	// Resources that exist, without terminated ones.
	InstanceConfigurations int
	ClusterNetworks        int
	ComputeClusters        int
	InstancePools          int
	Instances              int
}

// New makes a region, or goes on with the one in [Config.Store]. Close it after use.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	keys, err := newKeyring(&c)
	if err != nil {
		return nil, err
	}
	shapes, err := offer(c.Shapes)
	if err != nil {
		return nil, err
	}
	if err := c.Scenario.check(shapes); err != nil {
		return nil, fmt.Errorf("ocisim: Config.Scenario: %w", err)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.TimeScale == 0 {
		c.TimeScale = 1
	}
	s := &Server{
		cfg: c, keys: keys, log: c.Logger, shapes: shapes, names: newNamer(c.Seed, c.Region),
		stats: Stats{Operations: map[string]int{}, Faults: map[string]int{}, Unknown: map[string]int{}}, stale: newStaleReads(),
	}
	s.seats = make(chan struct{}, launchBatch)
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.mux = s.newMux()
	if err := s.open(); err != nil {
		s.stop()
		return nil, fmt.Errorf("ocisim: %w", err)
	}
	s.background.Go(s.sweep)
	return s, nil
}

// ServeHTTP answers one API request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != path.Clean(r.URL.Path) {
		s.serve(w, r, unknown) // The mux would redirect, and break the signature by that.
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Close ends the background work and all hosts; with a store, their disks stay. Requests after it get 503.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.stop()
	s.mu.Unlock()
	s.background.Wait()
	return errors.Join(s.endHosts(), s.store.close())
}

// endHosts stops the hosts of a region that may go on, and removes those of another.
func (s *Server) endHosts() error {
	if s.cfg.Hosts == nil {
		return nil
	}
	end := s.cfg.Hosts.Remove
	if s.cfg.Store != "" {
		end = s.cfg.Hosts.Stop
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(launchBatch)
	errs := make([]error, len(s.store.instances.all()))
	for n, i := range s.store.instances.all() {
		if i.gone() {
			continue
		}
		group.Go(func() error {
			if err := end(ctx, *i.Id); err != nil {
				errs[n] = fmt.Errorf("end host of %s: %w", *i.DisplayName, err)
			}
			return nil
		})
	}
	_ = group.Wait() // every error is kept, not only the first
	return errors.Join(errs...)
}

// Stats gives the present figures.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Operations, st.Faults, st.Unknown = maps.Clone(st.Operations), maps.Clone(st.Faults), maps.Clone(st.Unknown)
	st.InstanceConfigurations = live(s.store.configurations)
	st.ClusterNetworks = live(s.store.networks)
	st.ComputeClusters = live(s.store.computeClusters)
	st.InstancePools = live(s.store.pools)
	st.Instances = live(s.store.instances)
	return st
}

// InstanceState is what a server holds of an instance.
type InstanceState struct {
	ID        string
	Hostname  string
	PrivateIP netip.Addr
	Shape     string
	State     string // its lifecycle state
}

// Instances gives the instances that are not terminated, oldest first.
func (s *Server) Instances() []InstanceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var states []InstanceState
	for _, i := range s.store.instances.all() {
		if !i.gone() {
			v := s.vnicOf(i)
			states = append(states, InstanceState{*i.Id, *v.HostnameLabel, v.address(), *i.Shape, string(i.LifecycleState)})
		}
	}
	return states
}

// SetCapacity changes the number of hosts of a shape. Instances that run keep theirs.
func (s *Server) SetCapacity(shape string, hosts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Capacity == nil {
		s.cfg.Capacity = map[string]int{}
	}
	s.cfg.Capacity[shape] = hosts
	_ = s.commit() // It is logged, and tried again with the next change.
}

// wire is an encoded answer.
type wire struct {
	Status int
	Header map[string]string
	Body   []byte
}

const maxBody = 1 << 20

func (s *Server) serve(w http.ResponseWriter, r *http.Request, rt route) {
	rec := newRecord(rt.operation, r)
	answer, err := s.answer(w, r, rt, &rec)
	if errors.Is(err, errNoAnswer) {
		s.note(rec)
		reset(w)
		return
	}
	if err != nil {
		answer, rec.Code = s.encodeError(err)
	}
	rec.Status = answer.Status
	s.note(rec) // Before the answer: a client that has one finds it in the log.
	w.Header().Set("Opc-Request-Id", rec.RequestID)
	w.Header().Set("Content-Type", "application/json")
	for name, v := range answer.Header {
		w.Header().Set(name, v)
	}
	w.WriteHeader(answer.Status)
	if _, err := w.Write(answer.Body); err != nil {
		s.log.Debug("answer was not taken", "error", err)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, rt route, rec *RequestRecord) (wire, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return wire{}, &apiError{http.StatusRequestEntityTooLarge, "PayloadTooLarge", "The request body cannot be read: " + err.Error()}
	}
	user, err := s.keys.verify(r, body, s.clock.now())
	q := &request{Request: r, body: body, query: r.URL.Query(), user: user, sees: func(id string) bool { return s.sees(user, id) }}
	fault, err := s.accept(q, rt, err)
	if err != nil {
		return wire{}, err
	}
	rec.Fault = fault.name()
	return fault.befall(r.Context(), s.ctx, func() (wire, error) { return s.carryOut(q, rt) }) //nolint:contextcheck // the request has its own
}

// accept counts a request and gives the fault that it meets; refused is what is wrong with its signature.
func (s *Server) accept(q *request, rt route, refused error) (*Fault, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Requests++
	if refused != nil {
		s.stats.Refused++
		return nil, refused
	}
	if rt.operation != "" {
		s.stats.Operations[rt.operation]++
	}
	return s.dueFault(rt.operation, q), nil
}

// carryOut runs the handler of a request.
func (s *Server) carryOut(q *request, rt route) (wire, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return wire{}, &apiError{http.StatusServiceUnavailable, "ServiceUnavailable", "The region is shutting down."}
	}
	if answer, found, err := s.stale.answer(q); found {
		return answer, err
	}
	q.emptyPages = s.cfg.EmptyPages
	before := s.before(q, rt)
	answer, err := s.once(q, rt.operation, func() (wire, string, error) {
		var err error
		if q.body, err = s.spellTags(q.body); err != nil {
			return wire{}, "", err
		}
		resp, err := rt.handle(s, q)
		if err != nil {
			return wire{}, "", err
		}
		s.changed(q, rt, resp.created, before)
		if q.Method != http.MethodGet {
			s.protect()
		}
		answer, err := encode(resp)
		return answer, resp.created, err
	})
	if e := (*apiError)(nil); errors.As(err, &e) && e.Status == http.StatusNotImplemented {
		s.countUnknown(rt, q.Request, e)
	}
	if q.Method != http.MethodGet { // Reads change nothing.
		err = errors.Join(err, s.commit())
	}
	if err != nil {
		return wire{}, err
	}
	return s.stale.filter(q, answer)
}

func (s *Server) sees(u User, compartment string) bool {
	if compartment == s.cfg.TenancyID || len(u.Compartments) == 0 && compartment == s.cfg.CompartmentID {
		return true
	}
	return slices.Contains(u.Compartments, compartment)
}

func encode(r response) (wire, error) {
	answer := wire{Status: r.status, Header: map[string]string{}}
	if r.status == 0 {
		answer.Status = http.StatusOK
	}
	for name, v := range map[string]string{"Etag": r.etag, "Opc-Work-Request-Id": r.workRequest, "Opc-Next-Page": r.nextPage, "Location": r.location} {
		if v != "" {
			answer.Header[name] = v
		}
	}
	if r.body == nil {
		return answer, nil
	}
	var err error
	if answer.Body, err = json.Marshal(r.body); err != nil {
		return wire{}, fmt.Errorf("encode answer: %w", err)
	}
	return answer, nil
}

func (s *Server) encodeError(err error) (answer wire, code string) {
	e := (*apiError)(nil)
	if !errors.As(err, &e) {
		s.log.Error("request failed", "error", err)
		e = &apiError{http.StatusInternalServerError, "InternalServerError", err.Error()}
	}
	body, err := json.Marshal(e)
	if err != nil {
		s.log.Error("error was not encoded", "error", err)
	}
	return wire{Status: e.Status, Body: body}, e.Code
}

var ocidInPath = regexp.MustCompile(`ocid1\.[^/]+`)

const maxUnknown = 1000 // distinct operations, so that a scanner cannot fill the memory

func (s *Server) countUnknown(rt route, r *http.Request, e *apiError) {
	name := rt.operation
	if name == "" {
		name = r.Method + " " + ocidInPath.ReplaceAllString(r.URL.Path, "{id}")
	}
	s.log.Warn("not simulated", "operation", name, "method", r.Method, "uri", r.URL.RequestURI(), "message", e.Message)
	if _, known := s.stats.Unknown[name]; known || len(s.stats.Unknown) < maxUnknown {
		s.stats.Unknown[name]++
	}
}

// requestID has the client's part and two of the server's, as OCI's have.
func requestID(r *http.Request) string {
	client := r.Header.Get("Opc-Request-Id")
	if client == "" || len(client) > 255 || strconv.Quote(client) != `"`+client+`"` {
		client = randomHex()
	}
	return client + "/" + randomHex() + "/" + randomHex()
}

func randomHex() string { return strings.ToUpper(strings.ReplaceAll(uuid.NewString(), "-", "")) }
