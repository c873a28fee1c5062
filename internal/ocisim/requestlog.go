// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"
	"time"
)

// RequestRecord is what the region notes of a request. It has no headers and no bodies, and so no secret.
type RequestRecord struct {
	Time time.Time `json:"time"`
	// Operation is OCI's name; empty for what the region does not know.
	Operation string `json:"operation"`
	Method    string `json:"method"`
	// Host is what the client asked; Path has the query.
	Host string `json:"host"`
	Path string `json:"path"`
	// Status is 0 where the client got no answer.
	Status    int    `json:"status"`
	Code      string `json:"code,omitempty"` // of an error
	RequestID string `json:"request_id"`
	UserAgent string `json:"user_agent"`
	// Fault is what the scenario did to the request.
	Fault string `json:"fault,omitempty"`
	// Milliseconds from the request's header to the answer.
	Milliseconds float64 `json:"ms"`
}

func newRecord(operation string, r *http.Request) RequestRecord {
	return RequestRecord{Time: time.Now().UTC(), Operation: operation, Method: r.Method, Host: r.Host,
		Path: r.URL.RequestURI(), RequestID: requestID(r), UserAgent: r.UserAgent()}
}

// note hands a finished record out.
func (s *Server) note(rec RequestRecord) {
	rec.Milliseconds = float64(time.Since(rec.Time).Microseconds()) / 1000
	s.log.Debug("request", "operation", rec.Operation, "method", rec.Method, "uri", rec.Path, "status", rec.Status, "fault", rec.Fault)
	if s.cfg.OnRequest != nil {
		s.cfg.OnRequest(rec)
	}
}
