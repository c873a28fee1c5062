// SPDX-License-Identifier: MPL-2.0

package phase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/handover"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/launch"
)

// How many nodes get the runner from the head node, and how many nodes one node gives something to at a time, where the
// job does not say.
const (
	defaultUploads   = 8
	defaultTransfers = 2
)

// lostCause is how often nodes fail to get something from each other, without a single success, until all turn to its origin:
// a firewall is between them.
const lostCause = 4

// spread hands one thing on: few nodes get it from its origin, and all others from nodes that have it. So the origin's
// share does not grow with the number of nodes.
type spread struct {
	ctx     context.Context // of the givers
	command []string        // of the runner, which gives it
	request []byte          // what it hears first
	each    int             // receivers that a node has at a time
	places  chan *giver     // who wants it takes one; nil is a place at the origin
	origin  chan struct{}   // one for each node that gets it from the origin at the moment; nil is no limit

	lock    sync.Mutex
	holders map[*nodeWork]bool
	given   int
	failed  int
	running sync.WaitGroup
}

// newSpread spreads something among so many nodes, which that many get from its origin.
func newSpread(ctx context.Context, nodes, origins, each int, origin chan struct{}, command []string, request []byte) *spread {
	s := &spread{ctx: ctx, command: command, request: request, each: each, origin: origin, holders: map[*nodeWork]bool{}}
	s.places = make(chan *giver, origins+nodes*each)
	for range origins {
		s.places <- nil
	}
	return s
}

// holds says that a node can give it from now on, and what exactly it has.
func (s *spread) holds(n *nodeWork, identity string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.holders[n] {
		return
	}
	s.holders[n] = true
	g := &giver{node: n, identity: identity, spread: s}
	for range s.each {
		s.places <- g
	}
}

// hopeless says that nodes cannot get it from each other.
func (s *spread) hopeless() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.given == 0 && s.failed >= lostCause
}

func (s *spread) count(given, failed int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.given += given
	s.failed += failed
}

// wait waits for the end of all givers, which comes with that of the context.
func (s *spread) wait() { s.running.Wait() }

// receiver is a node that may want it.
type receiver struct {
	spread   *spread
	has      bool   // a place, which is at
	at       *giver // nil is the origin
	uses     bool   // the origin
	failures []error
}

// next says where to get it: an offer of another node, or nil for the origin. failed is why the offer before was of no use.
func (r *receiver) next(ctx context.Context, failed error) (*handover.Offer, error) {
	s := r.spread
	if failed == nil {
		r.giveBack(true) // of a node that was lost, and asks anew
		r.has = false
		select {
		case r.at = <-s.places:
			r.has = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if r.at != nil && !s.hopeless() {
			offer, err := r.at.offer(ctx)
			if err == nil {
				return offer, nil
			}
			failed = err
		}
	}
	if failed != nil {
		s.count(0, 1)
		r.failures = append(r.failures, fmt.Errorf("%s could not give it: %w", r.at.node.Name, failed))
	}
	r.at = nil // the place at one that cannot give is now one at the origin
	if s.origin != nil {
		select {
		case s.origin <- struct{}{}:
			r.uses = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, nil
}

// from says where it came from, for people; empty where that is a matter of course.
func (r *receiver) from() string {
	switch {
	case r.has && r.at != nil:
		return r.at.node.Name
	case len(r.failures) > 0:
		return "the head node, because " + errors.Join(r.failures...).Error()
	}
	return ""
}

// end gives the place back, where it is one that others can use. With err nil, the node has it.
func (r *receiver) end(n *nodeWork, identity string, err error) {
	given := r.has && r.at != nil
	r.giveBack(err != nil || given) // the origin's place is used up by a success
	if err != nil {
		return
	}
	if given {
		r.spread.count(1, 0)
	}
	r.spread.holds(n, identity)
}

// giveBack lets others have what the receiver holds: its place, unless that is used up, and its use of the origin.
func (r *receiver) giveBack(place bool) {
	if r.uses {
		<-r.spread.origin
		r.uses = false
	}
	if r.has && place {
		r.spread.places <- r.at
	}
}

// fromHead is for a node that gets the runner alone.
func fromHead(context.Context, error) (*handover.Offer, error) { return nil, nil }

// giver is a node that has it, and gives it once it is asked to.
type giver struct {
	node     *nodeWork
	identity string
	spread   *spread

	start   sync.Once
	started chan struct{} // closed when what follows is known
	to      *io.PipeWriter
	told    handover.Announcement
	err     error
}

// offer lets one more receiver in.
func (g *giver) offer(ctx context.Context) (*handover.Offer, error) {
	g.start.Do(g.run)
	select {
	case <-g.started:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if g.err != nil {
		return nil, g.err
	}
	o := &handover.Offer{
		Address: net.JoinHostPort(g.node.Address, strconv.Itoa(g.told.Port)), Token: handover.NewToken(), Certificate: g.told.Certificate,
	}
	if _, err := io.WriteString(g.to, o.Token+"\n"); err != nil {
		return nil, fmt.Errorf("let a receiver in: %w", err)
	}
	return o, nil
}

// run starts the giver on its node, in a session of its own.
func (g *giver) run() {
	g.started = make(chan struct{})
	lifeline, hold := io.Pipe()
	g.to = hold
	announced := sync.OnceFunc(func() { close(g.started) })
	line := &firstLine{told: func(text string) {
		if err := json.Unmarshal([]byte(text), &g.told); err != nil {
			g.err = fmt.Errorf("its answer %.200q: %w", text, err)
		}
		announced()
	}}
	g.spread.running.Go(func() {
		var said bytes.Buffer
		err := launch.Converse(g.spread.ctx, g.node.at.Host, g.node.at.Runner, g.spread.command, lifeline, hold, line, &said)
		if line.told != nil { // it ended before it could give anything
			g.err = fmt.Errorf("%w: %s", errors.Join(err, errors.New("it ended")), strings.TrimSpace(said.String()))
		}
		announced()
	})
	g.spread.running.Go(func() {
		if _, err := hold.Write(g.spread.request); err == nil {
			beat(g.spread.ctx, hold)
		}
	})
}
