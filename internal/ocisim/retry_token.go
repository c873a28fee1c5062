// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"crypto/sha256"
	"net/http"
)

const maxRetryToken = 64

// retryKey scopes a token to a user and an operation.
type retryKey struct{ user, operation, token string }

// retryRecord is the first success under a token.
type retryRecord struct {
	payload [sha256.Size]byte
	answer  wire
	created string
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
	key := retryKey{q.user.ID, operation, token}
	payload := sha256.Sum256([]byte(q.URL.RequestURI() + "\n" + string(q.body)))
	if old, found := s.retries[key]; found {
		if old.payload != payload || old.created != "" && !s.store.alive(old.created) {
			return wire{}, &apiError{http.StatusConflict, "InvalidatedRetryToken",
				"The retry token was used for another request, or its resource has been deleted since."}
		}
		return old.answer, nil
	}
	answer, created, err := run()
	if err == nil {
		s.retries[key] = retryRecord{payload, answer, created}
		s.forget(retryTokenValid, func() { delete(s.retries, key) })
	}
	return answer, err
}
