// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// Fault is what happens to some of the requests. Its conditions all have to hold; without any it
// happens to every request.
type Fault struct {
	// Operation is an OCI operation such as LaunchInstance, or a pattern such as Get* or *Instance*.
	Operation string `yaml:"operation"`
	// Matching is text that the request has in its path, query or body: an OCID, a name.
	Matching string `yaml:"matching"`
	// Skip is how many of these requests pass before the first fault.
	Skip int `yaml:"skip"`
	// Every makes it happen to each n-th request only; 0 and 1 mean each.
	Every int `yaml:"every"`
	// Probability makes it happen to a part of the requests, by chance; 0 means to all. Seed makes the
	// chance repeatable.
	Probability float64 `yaml:"probability"`
	Seed        uint64  `yaml:"seed"`
	// Times is how often it happens; 0 means for ever.
	Times int `yaml:"times"`

	// Delay comes before the answer, whatever that is, in real time.
	Delay time.Duration `yaml:"delay"`
	// Effect is what the client gets instead of the answer; empty for a fault that is only a delay, or Error.
	Effect Effect `yaml:"effect"`
	// Error is an answer that no Effect has.
	Error *FaultError `yaml:"error"`
}

// FaultError is an error as OCI answers it.
type FaultError struct {
	Status  int    `yaml:"status"`
	Code    string `yaml:"code"`
	Message string `yaml:"message"`
}

// Effect is what becomes of a request.
type Effect string

// Effects.
const (
	EffectThrottle       Effect = "throttle"        // 429 TooManyRequests
	EffectOutOfCapacity  Effect = "out-of-capacity" // 500 InternalError "Out of host capacity."
	EffectInternalError  Effect = "internal-error"  // 500 InternalServerError
	EffectUnavailable    Effect = "unavailable"     // 503 ServiceUnavailable
	EffectLimitExceeded  Effect = "limit-exceeded"  // 400 LimitExceeded
	EffectQuotaExceeded  Effect = "quota-exceeded"  // 400 QuotaExceeded
	EffectNotFound       Effect = "not-found"       // 404 NotAuthorizedOrNotFound, of a missing policy too
	EffectIncorrectState Effect = "incorrect-state" // 409 IncorrectState
	EffectEtagMismatch   Effect = "etag-mismatch"   // 412 NoEtagMatch
	EffectNotAuthentic   Effect = "unauthenticated" // 401 NotAuthenticated
	EffectHTML           Effect = "html"            // 502 with a page of a proxy instead of JSON
	EffectHang           Effect = "hang"            // no answer until the client goes
	EffectResetBefore    Effect = "reset-before"    // the connection is reset, nothing was done
	EffectResetAfter     Effect = "reset-after"     // the request was carried out, and its answer is lost
)

// answers are the effects that are errors of OCI's.
var answers = map[Effect]apiError{
	EffectThrottle:       {http.StatusTooManyRequests, "TooManyRequests", "Too many requests for the user"},
	EffectOutOfCapacity:  {http.StatusInternalServerError, "InternalError", "Out of host capacity."},
	EffectInternalError:  {http.StatusInternalServerError, "InternalServerError", "Internal server error occurred."},
	EffectUnavailable:    {http.StatusServiceUnavailable, "ServiceUnavailable", "The service is currently unavailable."},
	EffectLimitExceeded:  {http.StatusBadRequest, "LimitExceeded", "The service limit for the resource was exceeded."},
	EffectQuotaExceeded:  {http.StatusBadRequest, "QuotaExceeded", "The compartment quota for the resource was exceeded."},
	EffectNotFound:       {http.StatusNotFound, "NotAuthorizedOrNotFound", "Authorization failed or requested resource not found."},
	EffectIncorrectState: {http.StatusConflict, "IncorrectState", "The resource is in a state in which the operation is not allowed."},
	EffectEtagMismatch:   {http.StatusPreconditionFailed, "NoEtagMatch", "The If-Match header does not match the resource's current etag."},
	EffectNotAuthentic: {http.StatusUnauthorized, "NotAuthenticated",
		"The required information to complete authentication was not provided or was incorrect."},
}

// others are the effects without an error of OCI's.
var others = []Effect{EffectHTML, EffectHang, EffectResetBefore, EffectResetAfter}

func (f *Fault) check() error {
	_, answered := answers[f.Effect]
	switch {
	case f.Effect != "" && f.Error != nil:
		return errors.New("effect and error exclude each other")
	case f.Effect == "" && f.Error == nil && f.Delay == 0:
		return errors.New("nothing happens: effect, error or delay is needed")
	case f.Effect != "" && !answered && !slices.Contains(others, f.Effect):
		return fmt.Errorf("effect: %q is unknown; choose %s", f.Effect, effectNames())
	case f.Delay < 0:
		return errors.New("delay must not be negative")
	case f.Every < 0:
		return errors.New("every must not be negative")
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("probability: %g is not between 0 and 1", f.Probability)
	}
	if e := f.Error; e != nil && (e.Status < 400 || e.Status > 599 || e.Code == "") {
		return errors.New("error: a status from 400 to 599 and a code are needed")
	}
	return errors.Join(checkTurns(f.Skip, f.Times), f.checkOperation())
}

// checkOperation finds mistyped names.
func (f *Fault) checkOperation() error {
	if err := checkPattern("operation", f.Operation); err != nil {
		return err
	}
	var names []string
	for _, rt := range routes {
		if matches(f.Operation, rt.operation) {
			return nil
		}
		names = append(names, rt.operation)
	}
	if near, ok := shape.Nearest(f.Operation, names); ok {
		return fmt.Errorf("operation: no operation of the region is %q; is %q meant?", f.Operation, near)
	}
	return fmt.Errorf("operation: no operation of the region is %q", f.Operation)
}

// Effects gives the names of all effects on requests and on nodes, sorted.
func Effects() []string {
	names := slices.Concat(toStrings(others), toStrings(nodeEffects), toStrings(slices.Collect(maps.Keys(answers))))
	slices.Sort(names)
	return names
}

func effectNames() string {
	return strings.Join(slices.DeleteFunc(Effects(), func(name string) bool { return slices.Contains(nodeEffects, NodeEffect(name)) }), ", ")
}

func toStrings[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}

// turns counts what a fault has met and done.
type turns struct {
	met, done int
	random    *rand.Rand
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) } //nolint:gosec // chance, no secret

// due says whether it is a fault's turn, and counts it.
func (t *turns) due(skip, every, times int, probability float64) bool {
	t.met++
	n := t.met - skip - 1
	if n < 0 || times > 0 && t.done >= times || n%max(every, 1) != 0 || probability > 0 && t.random.Float64() >= probability {
		return false
	}
	t.done++
	return true
}

// dueFault is the fault that happens to a request, or nil. The lock must be held.
func (s *Server) dueFault(operation string, q *request) *Fault {
	for i := range s.cfg.Faults {
		f := &s.cfg.Faults[i]
		if !matches(f.Operation, operation) || !strings.Contains(q.URL.RequestURI(), f.Matching) && !strings.Contains(string(q.body), f.Matching) {
			continue
		}
		if s.faultTurns[i].due(f.Skip, f.Every, f.Times, f.Probability) {
			s.stats.Faults[cmp.Or(operation, "unknown")]++
			return f
		}
	}
	return nil
}

// errNoAnswer ends a request without an answer.
var errNoAnswer = errors.New("the connection is reset")

// name tells a fault in the request log.
func (f *Fault) name() string {
	switch {
	case f == nil:
		return ""
	case f.Effect != "":
		return string(f.Effect)
	case f.Error != nil:
		return "error"
	}
	return "delay"
}

// befall carries a request out as its fault lets it. The lock must not be held.
func (f *Fault) befall(ctx context.Context, region context.Context, carryOut func() (wire, error)) (wire, error) {
	if f == nil {
		return carryOut()
	}
	if f.Delay > 0 && (pause(ctx, f.Delay) != nil || region.Err() != nil) {
		return wire{}, errNoAnswer
	}
	if f.Error != nil {
		return wire{}, &apiError{f.Error.Status, f.Error.Code, f.Error.Message}
	}
	if e, found := answers[f.Effect]; found {
		return wire{}, &e
	}
	switch f.Effect {
	case EffectHTML:
		return wire{http.StatusBadGateway, map[string]string{"Content-Type": "text/html"},
			[]byte("<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n")}, nil
	case EffectHang:
		select {
		case <-ctx.Done():
		case <-region.Done():
		}
		return wire{}, errNoAnswer
	case EffectResetBefore:
		return wire{}, errNoAnswer
	case EffectResetAfter:
		if _, err := carryOut(); err != nil {
			return wire{}, fmt.Errorf("%w after %w", errNoAnswer, err)
		}
		return wire{}, errNoAnswer
	default:
		return carryOut()
	}
}

// reset cuts a connection so that the client gets "connection reset by peer" where the protocol allows.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the server's own way to reset a stream, which it does not log.
	}
	if lingering, ok := underlying(conn).(interface{ SetLinger(sec int) error }); ok {
		_ = lingering.SetLinger(0) // Closing sends RST, not FIN.
	}
	_ = underlying(conn).Close()
}

// underlying is the connection below TLS.
func underlying(conn net.Conn) net.Conn {
	if encrypted, ok := conn.(*tls.Conn); ok {
		return encrypted.NetConn()
	}
	return conn
}
