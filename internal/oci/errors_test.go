// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
)

// answer is an error as the SDK gives it.
type answer struct {
	status              int
	code, text, request string
}

func (a answer) Error() string              { return "the SDK's own ten lines" }
func (a answer) GetHTTPStatusCode() int     { return a.status }
func (a answer) GetMessage() string         { return a.text }
func (a answer) GetCode() string            { return a.code }
func (a answer) GetOpcRequestID() string    { return a.request }
func (a answer) wrapped() error             { return fmt.Errorf("create the cluster network: %w", a) }
func refused(status int, code string) error { return answer{status: status, code: code} }

func TestKindOf(t *testing.T) {
	t.Parallel()
	capacity := &FailureError{WorkRequests: []WorkRequest{{Status: "FAILED", Logs: []string{"Insufficient capacity for cluster network"}}}}
	for name, test := range map[string]struct {
		err       error
		kind      Kind
		retryable bool
	}{
		"gone":                       {refused(404, "NotAuthorizedOrNotFound"), NotFound, false},
		"not found inside":           {fmt.Errorf("read: %w", refused(404, "NotFound")), NotFound, false},
		"capacity as a 500":          {answer{status: 500, code: "InternalError", text: "Out of host capacity."}, Capacity, false},
		"another 500":                {answer{status: 500, code: "InternalError", text: "Internal error"}, Unavailable, true},
		"unavailable":                {refused(503, "ServiceUnavailable"), Unavailable, true},
		"HTML from a proxy":          {refused(502, "BadErrorResponse"), Unavailable, true},
		"HTML that says 404":         {refused(404, "BadErrorResponse"), Unreachable, false},
		"not implemented":            {refused(501, "MethodNotImplemented"), Unavailable, false},
		"limit":                      {refused(400, "LimitExceeded"), Limit, false},
		"quota":                      {refused(400, "QuotaExceeded"), Limit, false},
		"invalid":                    {refused(400, "InvalidParameter"), Invalid, false},
		"wrong key":                  {refused(401, "NotAuthenticated"), Unauthenticated, false},
		"forbidden":                  {refused(403, "NotAllowed"), Forbidden, false},
		"busy":                       {refused(409, "IncorrectState"), Conflict, true},
		"locked":                     {refused(409, "LockConflict"), Conflict, true},
		"in use":                     {refused(409, "Conflict"), Conflict, false},
		"token used before":          {refused(409, "InvalidatedRetryToken"), Conflict, false},
		"changed meanwhile":          {refused(412, "NoEtagMatch"), Conflict, false},
		"throttled":                  {refused(429, "TooManyRequests"), Throttled, true},
		"connection refused":         {&url.Error{Op: "Get", URL: "http://127.0.0.1:1", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, Unreachable, true},
		"no such host":               {&url.Error{Op: "Get", URL: "https://x", Err: &net.DNSError{IsNotFound: true}}, Unreachable, false},
		"one request out of time":    {&url.Error{Op: "Get", URL: "https://x", Err: context.DeadlineExceeded}, Unreachable, true},
		"answer cut off":             {fmt.Errorf("decode: %w", io.ErrUnexpectedEOF), Unreachable, true},
		"operation out of time":      {fmt.Errorf("wait: %w", context.DeadlineExceeded), TimedOut, true},
		"interrupted":                {fmt.Errorf("%w; the last answer was: %w", context.Canceled, refused(500, "InternalError")), Interrupted, true},
		"capacity in a work request": {fmt.Errorf("wait: %w", capacity), Capacity, false},
		"failure without a reason":   {&FailureError{What: "it ended"}, Other, false},
		"something else":             {errors.New("else"), Other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := KindOf(test.err); got != test.kind {
				t.Errorf("kind is %d, want %d", got, test.kind)
			}
			if got := retryable(test.err); got != test.retryable {
				t.Errorf("retryable is %v, want %v", got, test.retryable)
			}
		})
	}
}

func TestExplainSaysAllThatAPersonNeeds(t *testing.T) {
	t.Parallel()
	err := answer{status: 500, code: "InternalError", text: "Out of host capacity.", request: "abc/def/123"}.wrapped()
	text := Explain(err).String()
	for _, want := range []string{"create the cluster network: OCI refused the request", "500 InternalError: Out of host capacity.", "abc/def/123", "capacity reservation"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "ten lines") {
		t.Errorf("the SDK's text is still in:\n%s", text)
	}
}

func TestFailureGivesTheWorkRequestsOwnText(t *testing.T) {
	t.Parallel()
	err := &FailureError{What: "The cluster network ended.", WorkRequests: []WorkRequest{{
		ID: "ocid1.wr", Operation: "LaunchInstancesInPool", Status: "FAILED", PercentComplete: 50,
		Errors: []WorkRequestError{{Code: "InternalError", Message: "Out of host capacity. (opc-request-id: r1)"}},
		Logs:   []string{"Launching 2 instances"},
	}}}
	text := Explain(fmt.Errorf("wait: %w", err)).String()
	for _, want := range []string{"LaunchInstancesInPool is FAILED (ocid1.wr, 50 %)", "Out of host capacity. (opc-request-id: r1)", "Launching 2 instances", "not enough free hosts"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestPageOfAProxyIsShort(t *testing.T) {
	t.Parallel()
	page := "<html><head><style>p { color: red }</style><title>403 Forbidden</title></head>\n<body><p>Ask " + strings.Repeat("the administrator ", 100) + "</body></html>"
	text := Explain(answer{status: 403, code: "BadErrorResponse", text: "Failed to parse json from response body due to: x. With response body " + page + "."}.wrapped()).String()
	if !strings.Contains(text, "OCI answered 403 BadErrorResponse: not OCI's JSON") || !strings.Contains(text, "403 Forbidden Ask the administrator") ||
		strings.Contains(text, "color") || len(text) > 700 || !strings.Contains(text, "proxy settings") {
		t.Errorf("%d bytes:\n%s", len(text), text)
	}
}
