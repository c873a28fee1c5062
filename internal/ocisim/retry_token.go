// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"strings"
)

const maxRetryToken = 64

// retryToken is the first success under a token of a user for an operation.
type retryToken struct {
	record
	Payload []byte // digest of the request
	Answer  wire
	Created string // OCID
}

// once runs a handler at most once for a retry token and replays its answer after that.
func (s *Server) once(q *request, operation string, run func() (wire, string, error)) (wire, error) {
	token := q.Header.Get("Opc-Retry-Token")
	if token == "" || q.Method == http.MethodGet {
		answer, _, err := run()
		return answer, err
	}
	if len(token) > maxRetryToken {
		return wire{}, invalid("opc-retry-token", "must have at most %d characters", maxRetryToken)
	}
	key := strings.Join([]string{q.user.ID, operation, token}, "/")
	payload := sha256.Sum256([]byte(q.URL.RequestURI() + "\n" + string(q.body)))
	if old := s.store.retryTokens.get(key); old != nil {
		if !bytes.Equal(old.Payload, payload[:]) || old.Created != "" && !s.store.alive(old.Created) {
			return wire{}, &apiError{http.StatusConflict, "InvalidatedRetryToken",
				"The retry token was used for another request, or its resource has been deleted since."}
		}
		return old.Answer, nil
	}
	answer, created, err := run()
	if err == nil {
		r := &retryToken{Payload: payload[:], Answer: answer, Created: created}
		s.store.retryTokens.add(key, r)
		r.forget(retryTokenValid)
	}
	return answer, err
}
